/*
 * The cells that lines of a difference begin with, on a terminal:
 *
 *	  BEFORE    AFTER           CHANGE  SIGMA     REL
 *	  12.34%   15.01%   +2.67 ±   0.48   5.55    +22%
 *
 * Shares are in percent, changes in points of it; rates in what is counted, a second. SIGMA is what
 * decides whether it is a change: it asks how likely chance is if there is none, and the error how far
 * off the number may be, so that of few samples they are no multiples of each other. Where the
 * terminal is narrow, errors and relative changes give their room to names.
 */
#ifndef STOOK_FORMAT_TEXT_DIFF_CELLS_H
#define STOOK_FORMAT_TEXT_DIFF_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "view/diff/difference.h"

struct diff_terminal {
	FILE *out;
	unsigned width;
	bool ascii, color;
};

/* The width of all of them, with the gap behind. */
size_t diff_cells_columns(const struct diff_terminal *terminal);

bool diff_cells_have_errors(const struct diff_terminal *terminal);
void diff_cells_write_head(const struct diff_terminal *terminal);

/* Colours last until diff_cells_end(). */
void diff_cells_write(const struct diff_terminal *terminal, const struct difference_scale *scale,
		      const struct difference *difference);
/* Of several functions together, of which nothing was asked: without sigma. */
void diff_cells_write_sum(const struct diff_terminal *terminal,
			  const struct difference_scale *scale,
			  const struct difference *difference);
void diff_cells_end(const struct diff_terminal *terminal);

/* "NEW", "GONE", "more", "less", "". */
const char *diff_cells_kind(enum change kind);

/* A share in percent or a rate, and its unit. */
double diff_cells_number(const struct difference_scale *scale, double number);

#endif
