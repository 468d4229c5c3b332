/*
 * The collector of stacks: samples of an event (profile), or the stacks at probes (stackcount). The
 * command provides the source; session, names, outputs and the verdict are the same.
 */
#ifndef STOOK_RUN_STACKS_H
#define STOOK_RUN_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"
#include "collect/session.h"
#include "kernel/cpus.h"
#include "run/config.h"
#include "run/intervals.h"
#include "run/names.h"
#include "run/outputs.h"
#include "run/run.h"

/* The source of stacks. */
struct stack_source {
	const struct sampled_event *events; /* samples of these events … */
	size_t nr_events;
	bool by_period;		       /* counts are the sums of the events' periods, not samples */
	const struct event *numerator; /* counted beside the only event; NULL: no ratio */
	uint32_t *cpus;		       /* owned by the command; NULL: all online CPUs */
	size_t nr_cpus;
	bool include_idle;
	const struct session_probes *probes; /* … or hits of these probes */
	const struct sampler_waits *waits;   /* … or the time of threads off their CPU */

	char what[1024];	/* for the verdict: "cpu-clock at 99 Hz" */
	const char *unit;	/* unit of the counts: "samples", "hits" */
	const char *event_name; /* for profiles that other programs read … */
	const char *period_unit;
	uint64_t period;	      /* … 0: varies */
	bool is_sum;		      /* counts are a sum of the event, in its unit */
	bool is_governed;	      /* see struct session_options */
	struct table_pace table_pace; /* likewise */
};

/* A command's part. */
struct stack_command {
	/* Called before the collector's own prepare(). NULL: nothing to do. */
	int (*prepare)(void *context, struct error *error);
	/* Fills the source when CPUs and tasks are known. Returns 0 or a negative errno. */
	int (*choose)(void *context, struct stack_source *ret, struct error *error);
	void (*attached)(void *context); /* all probes are; NULL: nothing to do */
	void (*tell)(void *context); /* prints notes after the verdict, unless quiet; NULL: none */
	/*
	 * Instead of outputs and a verdict: takes each named interval, see struct interval_sink. The run then is one
	 * without end: at its own priority, with naming behind it, and it may pause.
	 */
	int (*take)(void *context, struct profile *profile, const struct session_part *part,
		    struct interval_span span, struct error *error);
	/* With take: takes each interval before it is named, likewise. NULL: not needed. */
	void (*keep)(void *context, struct profile *profile, const struct session_part *part,
		     struct interval_span span, bool is_naming);
};

struct stacks {
	struct collector collector;
	const struct stack_options *options;
	const struct stack_command *command;
	void *context;
	struct stack_source source;
	struct outputs outputs;
	struct out_file stats;
	struct session *session;
	uint32_t next_file, next_runtime; /* of the next session, see struct session_options */
	struct session_names names;
	struct intervals *intervals; /* with --interval */
	bool begins_paused; /* the run begins without a session, and stacks_resume() with the first one */
	bool is_gathering; /* with keep: intervals are not named yet, but with the next ones */
	uint64_t nr_intervals;
	uint64_t latest_ns; /* how late the latest interval was taken away from the session */
	struct cpus online; /* when the session began */
	struct rusage children_before; /* of the process before it executed stook */
};

/* Prepares stacks for run_collector(). The options must outlive it; context is the command's. */
void stacks_init(struct stacks *stacks, const struct stack_options *options,
		 const struct stack_command *command, void *context);

/*
 * Stop sampling and hand over what was collected; end the session, so that nothing is attached to the kernel; and begin
 * another one, from a source that is chosen anew. Between the last two, `session` is NULL: the collector's wait() must
 * not be called. They return 0 or a negative errno; after a failure to stop, the session is to be ended, too.
 */
int stacks_stop(struct stacks *stacks, struct error *error);
void stacks_end(struct stacks *stacks);
int stacks_resume(struct stacks *stacks, struct error *error);

/* Also valid if nothing was run. */
void stacks_clear(struct stacks *stacks);

#endif
