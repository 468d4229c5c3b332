/* See probe_reach.h. */
#include "cmd/probe_reach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/mappings.h"

#define SEARCH_NS (50 * NS_PER_MS) /* a start must not feel it */

/* The number of a file that others run too; or a negative errno, -ENOENT if there is none. */
static int64_t find_shared_file(const struct probe_list *list, const struct wanted_tasks *tasks)
{
	cleanup_free uint64_t *inodes = calloc(list->nr_files + 1, sizeof(*inodes));
	size_t i;

	if (!inodes)
		return -ENOMEM;
	for (i = 0; i < list->nr_files; i++)
		inodes[i] = list->files[i].inode;
	return file_users_find(inodes, list->nr_files, tasks->pids, tasks->nr_pids, SEARCH_NS);
}

/* A link's own filter knows one process, and nothing of its children. */
static bool is_one_process(const struct wanted_tasks *tasks)
{
	return tasks->nr_pids == 1 && !tasks->nr_tids;
}

void probe_reach_find(struct probe_reach *ret, const struct probe_list *list,
		      const struct probe_features *features, const struct wanted_tasks *tasks,
		      enum probe_follow follow)
{
	bool can_filter = features->has[PROBE_FEATURE_UPROBE_PID] && is_one_process(tasks);
	int64_t shared;

	*ret = (struct probe_reach){0};
	if (!list->nr_files || (!tasks->nr_pids && !tasks->nr_tids))
		return;
	if (can_filter && follow == FOLLOW_NEVER) {
		ret->link_pid = (int32_t)tasks->pids[0];
		return;
	}
	shared = find_shared_file(list, tasks);
	if (shared == -ENOENT)
		return;
	/* Others do, or may for all that could be found out. */
	ret->shared_file = list->files[shared < 0 ? 0 : shared].path;
	ret->spares_others = can_filter && follow == FOLLOW_IF_ALONE;
	if (ret->spares_others)
		ret->link_pid = (int32_t)tasks->pids[0];
}
