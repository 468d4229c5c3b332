/* What a text begins and ends with. */
#ifndef STOOK_BASE_TEXT_H
#define STOOK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
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

#endif
