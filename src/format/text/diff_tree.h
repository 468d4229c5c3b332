/*
 * The call paths of a difference, for a terminal:
 *
 *	  BEFORE    AFTER           CHANGE     REL  CALL PATH
 *	  80.10%   84.02%   +3.92 ±   0.55     +5%  … › processCommand › call
 *	  10.02%   13.97%   +3.95 ±   0.45    +39%  ├ setCommand › crc64
 *	   0.00%    1.02%   +1.02 ±   0.10     NEW  └ freeObject
 *
 * A line is a way down through callers that have nothing to tell by themselves; its numbers are
 * those of its last function.
 */
#ifndef STOOK_FORMAT_TEXT_DIFF_TREE_H
#define STOOK_FORMAT_TEXT_DIFF_TREE_H

#include "format/text/diff_cells.h"
#include "view/diff/comparison.h"

/* 0 or -ENOMEM. */
int diff_tree_write(const struct diff_terminal *terminal, const struct comparison *comparison);

#endif
