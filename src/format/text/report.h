/*
 * The text report: the top functions (or threads, modules, …) and the heaviest paths, by default as
 * a tree with callers above callees; the shares of categories where there are some.
 *
 * It is UTF-8, for a terminal, unless plain characters are asked for; no line is wider than asked
 * for, but for those of REPORT_FOLDED. Where the tree does not fork it grows downwards only, so its
 * width follows the forks, not the depth of stacks.
 */
#ifndef STOOK_FORMAT_TEXT_REPORT_H
#define STOOK_FORMAT_TEXT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "format/text/report_style.h"
#include "profile/profile.h"
#include "view/categories.h"

struct report_options {
	unsigned labels; /* enum label bits: how samples are headed in the tree */
	bool lines;	 /* source lines behind names in the tree, where they are known */
	unsigned width;	 /* columns; 0: 80, at least 60 */
	bool ascii;	 /* for terminals without UTF-8: names alone may have other characters */
	bool color;	 /* heavy percentages are red and green */
	bool no_user;	 /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
	const struct categories *categories; /* NULL: none */
	struct report_style style;
};

/* Writes and flushes. 0, -ENOMEM, or the stream's errno. */
int report_write(const struct profile *profile, const struct report_options *options, FILE *out);

#endif
