/* What a run reports of itself, and what kept frames from being named. */
#ifndef STOOK_RUN_VERDICT_H
#define STOOK_RUN_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/names.h"
#include "run/stacks.h"
#include "collect/session.h"
#include "proc/runtime_table.h"
#include "profile/quality.h"
#include "sym/symbolizer.h"

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

/* For people: a short block. */
void run_summary_print(const struct run_summary *run, const struct profile *profile, FILE *out);

/* The numbers for programs: `name value` a line. */
void run_stats_write(const struct run_summary *run, FILE *out);

/*
 * Names that the budget or a signal has cut short, a line each, with `first` before the first one and
 * `others` before the others. Returns how many lines that were.
 */
size_t naming_notes_print_cuts(const struct symbolizer *symbolizer, const char *first,
			       const char *others, FILE *out);

/* Everything else that kept frames from being named, on stderr: the last trouble of each kind. */
void naming_notes_tell(const struct symbolizer *symbolizer);

#endif
