/*
 * The collector of stacks: samples of an event (profile), or what leads to probes (stackcount). The
 * command says what the source is; session, names, outputs and the verdict are alike.
 */
#ifndef STOOK_RUN_STACKS_H
#define STOOK_RUN_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

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

/* What a command adds. */
struct stack_command {
	/* As the collector's prepare(), before everything else of it. NULL: nothing to do. */
	int (*prepare)(void *context, struct error *error);
	/* The source, when CPUs and tasks are known. 0 or a negative errno. */
	int (*choose)(void *context, struct stack_source *ret, struct error *error);
	void (*tell)(void *context); /* after the verdict, unless quiet; NULL: nothing */
};

struct stacks {
	struct collector collector;
	const struct stack_options *options;
	const struct stack_command *command;
	void *context;
	struct stack_source source;
	struct outputs outputs;
	bool is_unread; /* the reader of stdout has left: nothing more is to be written */
	struct out_file stats;
	struct session *session;
	struct session_names names;
	uint32_t *online_cpus;
	size_t nr_online_cpus;
	struct rusage children_before; /* of whoever became us by exec */
};

/* For run_collector(). The options must outlive it; context is the command's. */
void stacks_init(struct stacks *stacks, const struct stack_options *options,
		 const struct stack_command *command, void *context);

/* After the run, or without one. */
void stacks_clear(struct stacks *stacks);

#endif
