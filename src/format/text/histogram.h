/*
 * A histogram in a terminal, as bcc's tools draw it:
 *
 *	     usecs               : count     distribution
 *	         4 -> 7          : 12       |****                                    |
 *	         8 -> 15         : 120      |****************************************|
 */
#ifndef STOOK_FORMAT_TEXT_HISTOGRAM_H
#define STOOK_FORMAT_TEXT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The values of a bucket, the last included. */
struct histogram_range {
	int64_t from, to;
	bool is_open; /* one of its ends is the least or the most that there is */
};

/* Buckets in front of the first that has something, and behind the last, are left out. */
void histogram_write(const char *title, const struct histogram_range *ranges,
		     const uint64_t *counts, size_t nr, FILE *out);

#endif
