/* Texts: their beginnings and ends, and the numbers in them. */
#ifndef STOOK_BASE_TEXT_H
#define STOOK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool text_starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* The same of a text's end, which is at nr: it need not be a NUL. */
static inline bool text_ends_with(const char *text, size_t nr, const char *end)
{
	size_t nr_end = strlen(end);

	return nr >= nr_end && !memcmp(text + nr - nr_end, end, nr_end);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* All parse strictly: no blanks, nothing behind the number, no overflow. */

/* Decimal, or hexadecimal behind 0x. 0, -EINVAL, or -ERANGE above max. */
int number_parse(const char *text, uint64_t max, uint64_t *ret);

/* Seconds with an optional fraction ("2", "0.5") into nanoseconds. 0, -EINVAL or -ERANGE. */
int number_parse_seconds(const char *text, uint64_t *ret_ns);

/*
 * "3,7,10": comma-separated; with ranges also "0-2,5". Sorted, without repetitions, at most max_nr.
 * The caller frees *ret. 0, -EINVAL, -ERANGE, -ENOMEM.
 */
int number_parse_list(const char *text, bool ranges, uint32_t max, size_t max_nr, uint32_t **ret,
		      size_t *ret_nr);

#endif
