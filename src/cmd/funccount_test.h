/* Inside functions of `stook funccount`, for its test: the command line. */
#ifndef STOOK_CMD_FUNCCOUNT_TEST_H
#define STOOK_CMD_FUNCCOUNT_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/task_options.h"
#include "cmd/outputs.h"
#include "format/text/call_rows.h"

#define FUNCCOUNT_ROWS_DEFAULT 32768

struct funccount_options {
	struct probe_options probes;
	struct task_options tasks;
	enum call_order order;
	size_t top; /* 0: all */
	bool rate, timestamp;
	const char *by;	 /* NULL: by function only */
	size_t max_rows; /* with by */
	struct row_output_options output;
};

/*
 * 0: go on; 1: help was printed, all is done; -EINVAL: a mistake of the user's, in *error. To be
 * cleared in each case, by task_options_clear().
 */
int funccount_options_parse(int argc, char **argv, struct funccount_options *ret,
			    struct error *error);

#endif
