/* From patterns on the command line to what is probed; see probe_search.h. */
#include "cmd/probe_search.h"

#include <errno.h>

#include "cmd/probe_notes.h"
#include "cmd/probe_reach.h"
#include "kernel/preflight.h"
#include "probe/attach/probe_features.h"
#include "probe/find/find.h"

#define DEFAULT_BUDGET 0.03 /* a server and its client, each on a CPU of its own, lose twice that */

static int find(struct probe_search *search, const struct task_options *tasks, struct error *error)
{
	const struct probe_options *options = search->options;
	const struct target_options target = {
		.patterns = options->patterns,
		.nr_patterns = options->nr_patterns,
		.is_regex = options->is_regex,
		.pids = tasks->pids,
		.nr_pids = tasks->nr_pids,
		.debug_folders = options->debug_folders,
		.nr_debug_folders = options->nr_debug_folders,
		.force_returns = options->force_returns,
		.max_probes = options->max_probes ? options->max_probes : PROBES_MAX,
	};
	int err = target_find(&target, &search->list, error);

	if (err == -E2BIG && !error->hint[0])
		error_hint(error, "a narrower pattern, or --max-probes");
	return err;
}

/* A kernel that has no means for any of them says so before the run. */
static int check_any_hook(const struct probe_search *search, struct error *error)
{
	const char *why = NULL;
	size_t i;

	for (i = 0; i < search->list.nr_probes; i++)
		if (probe_hook_choose(&search->list.probes[i], &search->features, &why) >= 0)
			return 0;
	return error_set(error, -EOPNOTSUPP, "cannot probe '%s': %s", search->list.probes[0].name,
			 why);
}

/* The children of a program that is started for the run are what it is about. */
static enum probe_follow choose_follow(const struct task_options *tasks)
{
	if (tasks->no_follow)
		return FOLLOW_NEVER;
	return tasks->follow || tasks->command ? FOLLOW_ALWAYS : FOLLOW_IF_ALONE;
}

int probe_search_find(struct probe_search *search, const struct probe_options *options,
		      const struct task_options *tasks, struct error *error)
{
	int err = 0;

	search->options = options;
	search->is_quiet = tasks->quiet;
	search->follow = choose_follow(tasks);
	probe_list_init(&search->list);
	if (!options->list)
		err = privileges_check(error);
	if (!err)
		err = find(search, tasks, error);
	if (err)
		return err;
	if (options->list) {
		err = probe_notes_list(&search->list, error);
		return err ? err : 1;
	}
	probe_features_find(&search->features, options->without);
	return check_any_hook(search, error);
}

/* Who names what he wants, wants it counted; patterns for the whole system may be too much for it. */
static double choose_budget(const struct probe_options *options, const struct wanted_tasks *tasks,
			    bool may_cut)
{
	bool names_tasks = tasks->nr_pids || tasks->nr_tids || tasks->cgroup_fd >= 0;

	if (options->budget != BUDGET_UNSET)
		return options->budget;
	return names_tasks || !may_cut ? 0 : DEFAULT_BUDGET;
}

int probe_search_decide(const struct probe_search *search, const struct wanted_tasks *tasks,
			bool may_cut, int32_t *ret_link_pid, double *ret_share, struct error *error)
{
	struct probe_reach reach;

	if (search->options->budget > 0 && !may_cut)
		return error_set(
			error, -EINVAL,
			"--budget with calls that are paired with their returns: without one "
			"half the other would pair wrongly");
	probe_reach_find(&reach, &search->list, &search->features, tasks, search->follow);
	*ret_link_pid = reach.link_pid;
	*ret_share = choose_budget(search->options, tasks, may_cut);
	if (!search->is_quiet)
		probe_notes_before(&search->list, &reach, *ret_share,
				   search->options->budget == BUDGET_UNSET);
	return 0;
}

void probe_search_clear(struct probe_search *search)
{
	probe_list_clear(&search->list);
}
