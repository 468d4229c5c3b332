/* The command line of `stook tally`, parsed and checked. */
#ifndef STOOK_CMD_TALLY_OPTIONS_H
#define STOOK_CMD_TALLY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/task_options.h"
#include "cmd/row_outputs.h"
#include "format/text/tally_rows.h"
#include "probe/expression/tally_query.h"

#define TALLY_ROWS_DEFAULT  8192
#define TALLY_CALLS_DEFAULT 32768

struct tally_options {
	struct probe_options probes;
	struct task_options tasks;
	const char *by, *value, *where, *linear; /* NULL: not given */
	bool log2;
	enum tally_order order;
	size_t top; /* 0: all */
	size_t max_rows, max_calls;
	bool timestamp;
	struct row_output_options output;
};

/*
 * 0: go on; 1: help was printed, all is done; -EINVAL: a mistake of the user's, in *error. To be
 * cleared in each case.
 */
int tally_options_parse(int argc, char **argv, struct tally_options *ret, struct error *error);
void tally_options_clear(struct tally_options *options);

/* What is to be compiled, without what only the probes can tell. */
struct tally_query_options tally_options_query(const struct tally_options *options);

#endif
