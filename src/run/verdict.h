/*
 * The verdict on a run that collects stacks: rows of a topic and a sentence for people, figures for
 * programs. It is made once, and shown as text on stderr, as comments of profiles, and as the JSON
 * of --stats.
 */
#ifndef STOOK_RUN_VERDICT_H
#define STOOK_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collect/session.h"
#include "proc/runtime_table.h"
#include "profile/quality.h"
#include "run/names.h"
#include "run/stacks.h"
#include "view/table.h"

/* Figures of the run so far. */
struct run_figures {
	struct session_summary session;
	struct quality quality;
	struct rusage usage;   /* our own process */
	struct rusage helpers; /* child processes that read for us; not the program after `--` */
	const struct runtime_table *runtimes;
	const struct session_names *names;
	const struct stack_source *source;
	uint64_t entered_ns; /* when the run began, CLOCK_MONOTONIC */
	uint64_t now_ns;
	size_t nr_cpus;
	uint64_t nr_intervals, nr_intervals_joined, latest_interval_ns; /* with --interval */
	bool is_unwritten; /* results are not written yet; the cost excludes writing */
};

/* "samples", "stacks", "names", "cost"; sentences are safe for a terminal. */
struct verdict_row {
	const char *topic;
	char *sentence;
};

struct verdict {
	const struct run_figures *figures;
	char *head; /* "stook: cpu-clock at 99 Hz on 2 CPUs for 10.0 s" */
	struct verdict_row *rows;
	size_t nr, cap;
	bool failed; /* out of memory */
};

/*
 * The figures must outlive the verdict. Returns 0 or -ENOMEM; the caller clears it in both cases.
 */
int verdict_make(struct verdict *verdict, const struct run_figures *figures,
		 const struct profile *profile);
void verdict_clear(struct verdict *verdict);

/* Adds the head and each row as a comment. Returns 0 or a negative errno. */
int verdict_add_comments(const struct verdict *verdict, struct profile *profile);

/* Adds the verdict to a sheet; the verdict must outlive the rendering. */
void verdict_add_to_sheet(const struct verdict *verdict, struct sheet *sheet);

#endif
