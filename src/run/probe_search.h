/*
 * What a command with patterns probes: the list, the kernel's means, whom it concerns, what it may
 * cost, and what is said of all that.
 */
#ifndef STOOK_RUN_PROBE_SEARCH_H
#define STOOK_RUN_PROBE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probing.h"
#include "probe/expression/probe_list.h"
#include "run/config.h"

/*
 * How children of the processes that were named are followed. A process that is to be the only one
 * that pays can be followed no further: the kernel's filter knows one process and not its children.
 */
enum probe_follow {
	FOLLOW_IF_ALONE, /* unless others run the same files, and would pay */
	FOLLOW_ALWAYS,
	FOLLOW_NEVER,
};

/*
 * Processes that probes concern besides those that were asked for. A probe in a file is hit by every
 * process that runs the file, one in the kernel by all: they are filtered out, but pay for it.
 */
struct probe_reach {
	int32_t link_pid;	 /* user code is probed in this process alone; 0: in all */
	const char *shared_file; /* that others run too, though processes were named; else NULL */
	bool spares_others;	 /* those are left alone, and so are children */
};

void probe_reach_find(struct probe_reach *ret, const struct probe_list *list,
		      const struct probe_features *features, const struct wanted_tasks *tasks,
		      enum probe_follow follow);

struct probe_search {
	const struct probe_options *options;
	struct probe_list list;
	struct probe_features features;
	enum probe_follow follow;
	bool is_quiet;
	bool thins; /* the command's: a budget thins out hits before it cuts probes */
};

/*
 * Finds the probes, after having asked whether we may probe at all. 0; 1: the list was asked for and
 * shown, and that was all; or a negative errno. To be cleared in each case.
 */
int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct run_config *tasks, struct error *error);

/*
 * Returns the only process whose user code is probed (0: all), and the share that the probes may cost
 * (0: any). Prints what the user should know of both, unless quiet. -EINVAL for a budget that
 * was asked for where nothing may be cut.
 */
int probe_search_decide(const struct probe_search *search, const struct wanted_tasks *tasks,
			bool may_cut, int32_t *ret_link_pid, double *ret_share,
			struct error *error);

/* Also of {0}. */
void probe_search_clear(struct probe_search *search);

/* On stderr, after the run: what the kernel refused, what the budget cut, what was missed. */
void probe_notes_after(const struct probe_list *list, const struct probing *probing,
		       uint64_t missed, bool is_verbose);

/* "name", "r:name" when it returns, "name (hash.c)" if it is one of several; to be freed. */
char *probe_label(const struct probe *probe);

/*
 * The first probe of the list that is one with this one to the user: a static probe can be at several
 * places. Itself, if there is none before it.
 */
uint32_t probe_first_of_name(const struct probe_list *list, uint32_t number);

#endif
