/*
 * Texts of pprof files are UTF-8: other readers refuse a file where one is not. Names and paths may
 * be anything, so what is no UTF-8 becomes U+FFFD, a byte each, when files are written and read.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_TEXT_H
#define STOOK_FORMAT_PPROF_PPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it has no byte that could be wrong. */
bool pprof_text_is_plain(const char *bytes, size_t nr);

/* A copy that is UTF-8, to be freed; NULL when out of memory. */
char *pprof_text_repaired(const char *bytes, size_t nr);

#endif
