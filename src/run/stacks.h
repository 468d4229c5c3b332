/*
 * A run that collects stacks: samples of an event (profile), or what leads to probes (stackcount).
 * The command says what the source is, everything else is alike:
 *
 *	stack_run_prepare()	CPUs, targets, outputs, the program behind `--`
 *	… the command decides on the source
 *	stack_run_open()	session and names
 *	stack_run_go()		until the end; results and the verdict are written
 *	stack_run_status()
 *	stack_run_clear()
 */
#ifndef STOOK_RUN_STACKS_H
#define STOOK_RUN_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/session.h"
#include "run/config.h"
#include "run/names.h"
#include "run/outputs.h"
#include "run/run.h"

/* The source of stacks. */
struct stack_source {
	const struct event *event; /* samples of this … */
	struct sampling_rate rate;
	uint32_t *cpus; /* the command's; NULL: all that are online */
	size_t nr_cpus;
	bool include_idle;
	const struct session_probes *probes; /* … or, with event NULL, hits of these */

	char what[160];		/* for the verdict: "cpu-clock at 99 Hz" */
	const char *unit;	/* "samples", "hits": what is counted */
	const char *event_name; /* for profiles as others read them … */
	const char *period_unit;
	uint64_t period; /* … 0: it varies */
	bool is_sum;	 /* of the event, whatever it was at each hit; the period is 1 */
};

struct stack_run {
	struct run run;
	const struct stack_options *options;
	struct stack_source source;
	struct outputs outputs;
	struct out_file stats;
	struct session *session;
	struct session_names names;
	uint32_t *online_cpus;
	size_t nr_online_cpus;
	uint64_t exec_ns; /* when this program began, CLOCK_MONOTONIC */
};

/* A run that was not prepared can be cleared too. */
#define STACK_RUN_INIT          \
	{                       \
		.run = RUN_INIT \
	}

/* 0, or a negative errno and it is half made, to be cleared. */
int stack_run_prepare(struct stack_run *run, const struct stack_options *options,
		      const struct run_config *tasks, struct error *error);
int stack_run_open(struct stack_run *run, const struct stack_source *source, struct error *error);

/* Errors are complained of. */
int stack_run_go(struct stack_run *run);

int stack_run_status(struct stack_run *run, int err);
void stack_run_clear(struct stack_run *run);

#endif
