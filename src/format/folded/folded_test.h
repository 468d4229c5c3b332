/* Inside functions of the reader of folded stacks, for its test. */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_TEST_H
#define STOOK_FORMAT_FOLDED_FOLDED_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Takes the number off the end of `STACK COUNT`, or `STACK BEFORE COUNT` of a difference, and one
 * byte of the whitespace before it: *nr is what is left. *ret_lossy becomes true if the scaled number
 * had to be rounded. False if there is none, or it is out of bounds, and then nothing is changed.
 */
bool folded_take_number(const char *text, size_t *nr, struct value_scale scale, uint64_t *ret,
			bool *ret_lossy);

/* Counts of lines by their form. */
struct folded_shape {
	size_t nr_lines;
	size_t nr_good;		  /* that end in a number */
	size_t nr_double;	  /* that end in two */
	unsigned decimals;	  /* the most that the last number of one has */
	unsigned decimals_before; /* likewise the number before it */
};

/* Looks at the lines in so many bytes; the last one need not end. Empty ones don't count. */
struct folded_shape folded_shape(const char *text, size_t nr);

#endif
