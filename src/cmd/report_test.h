/* Inside functions of `stook report`, for its test: the command line. */
#ifndef STOOK_CMD_REPORT_TEST_H
#define STOOK_CMD_REPORT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/inputs.h"
#include "cmd/options/output_options.h"
#include "view/report.h"

struct report_command_options {
	struct input_request request;
	struct output_options output;
	struct report_style style;
	bool lines;	/* of source, behind names */
	uint64_t width; /* 0: the terminal's */
};

/* 0; 1: help was printed, all is done; or a negative errno with what is wrong. */
int report_options_parse(struct report_command_options *options, int argc, char **argv,
			 struct error *error);
void report_options_clear(struct report_command_options *options);

/* The labels that samples must have to answer what is asked. */
unsigned report_options_labels(const struct report_command_options *options);

#endif
