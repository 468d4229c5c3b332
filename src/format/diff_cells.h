/*
 * The cells that lines of a difference begin with, on a terminal:
 *
 *	 BEFORE    AFTER          CHANGE     REL
 *	 12.34%   15.01%   +2.67 ±  0.48    +22%
 *
 * Shares are in percent, changes in points of it; rates in what is counted, a second.
 */
#ifndef STOOK_FORMAT_DIFF_CELLS_H
#define STOOK_FORMAT_DIFF_CELLS_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/difference.h"

#define DIFF_CELLS_COLUMNS 44 /* of all of them, with a gap behind */

struct diff_terminal {
	FILE *out;
	unsigned width;
	bool ascii, color;
};

void diff_cells_write_head(const struct diff_terminal *terminal);

/* Colours last until diff_cells_end(). */
void diff_cells_write(const struct diff_terminal *terminal, const struct difference_scale *scale,
		      const struct difference *difference);
void diff_cells_end(const struct diff_terminal *terminal);

/* "NEW", "GONE", "more", "less", "". */
const char *diff_cells_kind(enum change kind);

/* A share in percent or a rate, and its unit. */
double diff_cells_number(const struct difference_scale *scale, double number);

#endif
