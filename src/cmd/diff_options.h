/* The command line of `stook diff`. */
#ifndef STOOK_CMD_DIFF_OPTIONS_H
#define STOOK_CMD_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/inputs.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/output_options.h"
#include "view/diff/comparison.h"

/* Files of a side: what a profile has room for, a value each. */
#define DIFF_FILES_MAX 30

struct diff_side {
	const char *paths[DIFF_FILES_MAX];
	size_t nr;
	double seconds; /* of all of them; 0: what they say themselves */
};

struct diff_options {
	struct output_options output;
	struct input_options input;
	struct filter_options filter;
	struct comparison_style style;
	struct diff_side before, after; /* after has none: before is one file that has both */
	unsigned width;			/* 0: the terminal's */
	bool is_quiet;
};

/* 0; 1: help was printed, all is done; -EINVAL with what is wrong. */
int diff_options_parse(struct diff_options *options, int argc, char **argv, struct error *error);
void diff_options_clear(struct diff_options *options);

#endif
