/*
 * The collector of commands that attach probes for themselves (funccount, tally): the list of probes,
 * which are attached and kept within their budget while the run waits. What is counted, by the programs
 * of collect/counter.h or collect/tallier.h, and how it is shown, is the command's.
 *
 * Counts go on until the probes are let go, which may take its time: the command shows them before and
 * spares the user that wait.
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

/* What a command adds. Each returns 0 or a negative errno. */
struct probe_command {
	/* The list of probes is known: finds what depends on it, opens outputs. */
	int (*prepare)(void *context, struct error *error);
	/* Loads programs for the list, the features and run->tasks. */
	int (*load)(void *context, const struct probe_programs **ret_programs,
		    const struct hits **ret_hits, struct error *error);
	/* All probes are attached that can be at once; the first interval begins. */
	void (*begin)(void *context);
	/* As the collector's interval(). */
	int (*show)(void *context, bool is_last, struct error *error);
	/* What became of the hits, on stderr, before what is said of the probes. Not if quiet. */
	void (*tell)(void *context);
};

struct probes {
	struct collector collector;
	const struct probe_options *options;
	const struct probe_command *command;
	void *context;
	bool may_cut;	  /* a probe can be let go in the middle of the run; the command's */
	uint64_t work_ns; /* what a hit costs beyond counting: see probing.h; the command's */
	struct probe_search search;
	double budget_share; /* likewise: probe_search_decide() */
	struct probing *probing;
	uint64_t step_ns; /* when probing_step() is due; UINT64_MAX: never */
	uint64_t missed;  /* hits, as the kernel counts them; UINT64_MAX: it does not */
};

/* For run_collector(). The options must outlive it; context is the command's. */
void probes_init(struct probes *probes, const struct probe_options *options,
		 const struct probe_command *command, void *context);

/* How many could be attached, or still may be. */
size_t probes_nr(const struct probes *probes);

/* Detaches what still is. Programs and counters are the command's to free then … */
void probes_detach(struct probes *probes);

/* … and then this; also without a run. */
void probes_clear(struct probes *probes);

#endif
