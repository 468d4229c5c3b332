/* The options of `stook report`, some of which `stook query` has, too; and its command line, for the test. */
#ifndef STOOK_CMD_REPORT_OPTIONS_H
#define STOOK_CMD_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/inputs.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"
#include "view/report.h"

struct report_command_options {
	struct input_request request;
	struct output_options output;
	struct report_style style;
	bool lines;	/* show source lines after names */
	uint64_t width; /* 0: width of the terminal */
};

/* The rows that say how a profile is shown: tables, paths, categories, width. */
struct option_group report_options_group(struct report_command_options *options);

/* After parsing: rows by category need a table of categories. */
void report_options_choose_categories(struct report_command_options *options);

/* Returns 0; 1 if help was printed and nothing is left to do; or a negative errno with *error. */
int report_options_parse(struct report_command_options *options, int argc, char **argv,
			 struct error *error);
void report_options_clear(struct report_command_options *options);

/* Returns the labels that samples must have for the requested rows. */
unsigned report_options_labels(const struct report_command_options *options);

#endif
