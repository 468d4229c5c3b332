/* What a run says of itself: a short block on stderr. run_stats.h has its numbers for programs. */
#ifndef STOOK_CMD_RUN_RUN_SUMMARY_H
#define STOOK_CMD_RUN_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/options/stack_options.h"
#include "cmd/run/session_names.h"
#include "cmd/run/stack_run.h"
#include "collect/session.h"
#include "proc/runtime_table.h"
#include "profile/quality.h"

struct run_summary {
	struct session_summary session;
	struct quality quality;
	const struct runtime_table *runtimes;
	const struct session_names *names;
	const struct stack_source *source;
	uint64_t exec_ns; /* when this program began, CLOCK_MONOTONIC */
	uint64_t now_ns;
	size_t nr_cpus;
	bool is_unwritten; /* results are still to be written, which costs, too */
};

void run_summary_print(const struct run_summary *run, const struct stack_options *options,
		       const struct profile *profile, FILE *out);

#endif
