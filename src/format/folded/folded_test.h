/* Internals of the reader of folded stacks, for its test. */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_TEST_H
#define STOOK_FORMAT_FOLDED_FOLDED_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Parses the number at the end of `STACK COUNT`, or of a difference's `STACK BEFORE COUNT`. *nr
 * becomes the length without the number and one byte of whitespace before it. *ret_lossy becomes
 * true if the scaled number had to be rounded. Returns false, and changes nothing, if there is no
 * number or it is out of range.
 */
bool folded_take_number(const char *text, size_t *nr, struct value_scale scale, uint64_t *ret,
			bool *ret_lossy);

/* Counts of lines by form. */
struct folded_shape {
	size_t nr_lines;
	size_t nr_good;		  /* lines ending in a number */
	size_t nr_double;	  /* lines ending in two numbers */
	unsigned decimals;	  /* maximum number of decimals of the last number */
	unsigned decimals_before; /* likewise of the number before it */
};

/* Examines the lines in nr bytes; the last line may be incomplete. Empty lines are not counted. */
struct folded_shape folded_shape(const char *text, size_t nr);

#endif
