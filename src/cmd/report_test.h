/* Inside functions of `stook report`, for its test: the command line. */
#ifndef STOOK_CMD_REPORT_TEST_H
#define STOOK_CMD_REPORT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/inputs.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/output_options.h"
#include "view/report.h"

struct report_command_options {
	struct input_paths paths;
	struct input_options input;
	struct filter_options filter;
	struct output_options output;
	struct report_style style;
	unsigned labels;	/* enum label bits that were asked for with --by; 0: by format */
	bool lines;		/* of source, behind names */
	uint64_t width;		/* 0: the terminal's */
	const char *categories; /* path of a table, or "kernel"; NULL: none */
	bool is_quiet;
};

/* 0; 1: help was printed, all is done; or a negative errno with what is wrong. */
int report_options_parse(struct report_command_options *options, int argc, char **argv,
			 struct error *error);
void report_options_clear(struct report_command_options *options);

/* Checks that samples of these labels can answer what is asked. 0 or -EINVAL. */
int report_options_check(const struct report_command_options *options, unsigned labels,
			 struct error *error);

#endif
