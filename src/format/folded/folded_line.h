/*
 * One line of folded stacks, cut into stack and numbers: `STACK COUNT`, or `STACK BEFORE COUNT` of a
 * difference. Any whitespace may stand before a number, and one byte of it is no part of the stack.
 * Pure text; what the words of a stack mean is folded_read's business.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_LINE_H
#define STOOK_FORMAT_FOLDED_FOLDED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/text/folded_scale.h"

/*
 * Takes the number off the end of a text, and one byte of whitespace before it: *nr is what is left.
 * *ret_lossy becomes true if the scaled number had to be rounded. False if there is none, or it is
 * out of bounds, and then nothing is changed.
 */
bool folded_take_number(const char *text, size_t *nr, struct folded_scale scale, uint64_t *ret,
			bool *ret_lossy);

/* What whole lines have in common. */
struct folded_shape {
	size_t nr_lines;
	size_t nr_good;		  /* that end in a number */
	size_t nr_double;	  /* that end in two */
	unsigned decimals;	  /* the most that the last number of one has */
	unsigned decimals_before; /* likewise the number before it */
};

/* Of the lines in so many bytes; the last one need not end. Empty ones don't count. */
struct folded_shape folded_shape(const char *text, size_t nr);

#endif
