/*
 * The collector of the commands that attach their own probes (funccount, tally): the list of
 * probes, which are attached and kept within their budget while the run waits. The command decides
 * what is counted, by the programs of collect/counter.h or collect/tallier.h, and how it is shown.
 *
 * Counting goes on until the probes are detached, which may take seconds: the command shows the
 * counts before that, so that the user need not wait.
 */
#ifndef STOOK_RUN_PROBES_H
#define STOOK_RUN_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probing.h"
#include "run/config.h"
#include "run/probe_search.h"
#include "run/run.h"

/* A command's part. Each function returns 0 or a negative errno. */
struct probe_command {
	/* Called when the list of probes is known: finds what depends on it, opens outputs. */
	int (*prepare)(void *context, struct error *error);
	/* Loads programs for the list, the features and run->tasks. */
	int (*load)(void *context, const struct probe_programs **ret_programs,
		    const struct hits **ret_hits, struct error *error);
	/* Called when all probes that can be attached at once are; the first interval begins. */
	void (*begin)(void *context);
	/* Like the collector's interval(). */
	int (*show)(void *context, bool is_last, struct error *error);
	/* Reports on stderr what happened to the hits, before the notes on probes. Not if quiet. */
	void (*tell)(void *context);
};

struct probes {
	struct collector collector;
	const struct probe_options *options;
	const struct probe_command *command;
	void *context;
	bool may_cut;	  /* probes may be detached during the run; set by the command */
	uint64_t work_ns; /* cost of a hit beyond counting: see probing.h; set by the command */
	struct probe_search search;
	double budget_share; /* from probe_search_decide() */
	struct probing *probing;
	uint64_t step_ns; /* when probing_step() is due; UINT64_MAX: never */
	uint64_t missed;  /* hits the kernel missed; UINT64_MAX: not reported by this kernel */
};

/* Prepares probes for run_collector(). The options must outlive it; context is the command's. */
void probes_init(struct probes *probes, const struct probe_options *options,
		 const struct probe_command *command, void *context);

/* Returns the number of probes that are attached or may still be. */
size_t probes_nr(const struct probes *probes);

/* Detaches all probes. Afterwards the command may free its programs and counters … */
void probes_detach(struct probes *probes);

/* … and call this. Also valid if nothing was run. */
void probes_clear(struct probes *probes);

#endif
