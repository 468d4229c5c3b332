/* Numbers and lists of numbers out of text, strictly: no blanks, no rubbish behind, no overflow. */
#ifndef STOOK_BASE_NUMBER_H
#define STOOK_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
