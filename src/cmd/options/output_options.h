/* The options about results, of every command that writes profiles. */
#ifndef STOOK_CMD_OPTIONS_OUTPUT_OPTIONS_H
#define STOOK_CMD_OPTIONS_OUTPUT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/option_table.h"
#include "format/format.h"

#define OUTPUTS_MAX 16

struct output_options {
	const struct format *stdout_format; /* NULL: not asked for */
	const char *default_format;	    /* of stdout, then; NULL: the report */
	bool delimited, annotate;
	const char *paths[OUTPUTS_MAX];
	size_t nr_paths;
};

/* The rows, for option_table_parse(). */
struct option_group output_options_group(struct output_options *options);

/* The columns of a report, of the commands that have --width. 0 or -EINVAL. */
int output_options_take_width(const char *value, unsigned *ret, struct error *error);

#endif
