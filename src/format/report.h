/*
 * The text report: the top functions, and the heaviest paths as a tree with callers above callees.
 *
 * It is UTF-8, for a terminal, unless plain characters are asked for; no line is wider than asked
 * for. Where the tree does not fork it grows downwards only, so its width follows the forks, not
 * the depth of stacks.
 */
#ifndef STOOK_FORMAT_REPORT_H
#define STOOK_FORMAT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

struct report_options {
	unsigned labels;       /* enum label bits: how samples are headed in the tree */
	unsigned width;	       /* columns; 0: 80, at least 60 */
	unsigned nr_functions; /* rows of the table; 0: 20 */
	double threshold;      /* percent of the total below which a branch is left out; 0: 0.5 */
	bool ascii;   /* for terminals without UTF-8: names alone may have other characters */
	bool no_user; /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
};

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int report_write(const struct profile *profile, const struct report_options *options, FILE *out);

#endif
