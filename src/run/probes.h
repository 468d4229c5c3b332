/*
 * A run of a command that attaches probes for itself: a run (run.h) with a list of probes, which are
 * attached and kept within their budget while it waits. What is counted, and how it is shown, is the
 * command's.
 *
 *	probe_run_prepare()	targets, the list of probes (shown for --list), signals, child
 *	probe_run_decide()
 *	… the command loads its programs for the list, the features, and whose hits are wanted
 *	probe_run_attach()
 *	probe_run_go()		calls back at the end of each interval, to read and show the counts
 *	probe_run_detach()
 *	probe_run_tell()
 *	run_status()
 *	probe_run_free_probes()
 *	… the command frees its programs
 *	probe_run_clear()
 *
 * Counts go on until probe_run_detach(), which may take its time: whoever shows them before spares
 * the user that wait.
 */
#ifndef STOOK_RUN_PROBES_H
#define STOOK_RUN_PROBES_H

#include <stdint.h>

#include "base/error.h"
#include "run/probe_search.h"
#include "run/run.h"
#include "probe/attach/probing.h"

struct probe_run {
	struct run run;
	struct probe_search search;
	struct probing *probing;
	int32_t link_pid;    /* see probe_search_decide() */
	uint64_t work_ns;    /* what a hit costs beyond counting: see probing.h; the command's */
	double budget_share; /* likewise: probe_search_decide() */
	uint64_t step_ns;    /* when probing_step() is due; UINT64_MAX: never */
	uint64_t missed;     /* hits, as the kernel counts them; UINT64_MAX: it does not */
	int (*show)(void *context, bool is_last, struct error *error);
	void *show_context;
};

/* 0; 1: the list was shown, and that was all; or a negative errno. To be cleared in each case. */
int probe_run_prepare(struct probe_run *run, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error);

/*
 * Decides which processes it concerns and what it may cost, before programs are loaded. may_cut: a
 * probe can be let go in the middle of the run. 0 or -EINVAL.
 */
int probe_run_decide(struct probe_run *run, bool may_cut, struct error *error);

/* 0 or a negative errno. */
int probe_run_attach(struct probe_run *run, const struct probe_programs *programs,
		     const struct hits *hits, struct error *error);

/*
 * Until the end of the run. The child begins when all is attached. show() is called at the end of each
 * interval and of the run, also of one that failed, and writes the rows. Errors are complained of. 0 or
 * a negative errno.
 */
int probe_run_go(struct probe_run *run,
		 int (*show)(void *context, bool is_last, struct error *error), void *context);

/* Nothing hits any more. */
void probe_run_detach(struct probe_run *run);

/* Reports failures to attach, cuts by the budget, and missed hits on stderr, unless quiet. */
void probe_run_tell(const struct probe_run *run);

/* Detaches what still is. Programs and counters are the command's to free then. */
void probe_run_free_probes(struct probe_run *run);

void probe_run_clear(struct probe_run *run);

#endif
