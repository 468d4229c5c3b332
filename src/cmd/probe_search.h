/*
 * What a command with patterns probes: the list, the kernel's means, whom it concerns, and what it
 * may cost.
 */
#ifndef STOOK_CMD_PROBE_SEARCH_H
#define STOOK_CMD_PROBE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/task_options.h"
#include "cmd/probe_reach.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/probe_list.h"

struct probe_search {
	const struct probe_options *options;
	struct probe_list list;
	struct probe_features features;
	enum probe_follow follow;
	bool is_quiet;
};

/*
 * Finds the probes, after having asked whether we may probe at all. 0; 1: the list was asked for and
 * shown, and that was all; or a negative errno. To be cleared in each case.
 */
int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct task_options *tasks, struct error *error);

/*
 * Of which process alone user code is probed (0: of all), and the share that the probes may cost (0:
 * any). What the user should know of both is said, unless he wants it quiet. -EINVAL for a budget that
 * was asked for where nothing may be cut.
 */
int probe_search_decide(const struct probe_search *search, const struct wanted_tasks *tasks,
			bool may_cut, int32_t *ret_link_pid, double *ret_share,
			struct error *error);

/* Also of {0}. */
void probe_search_clear(struct probe_search *search);

#endif
