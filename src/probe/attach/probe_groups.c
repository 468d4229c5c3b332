/* A table of groups, in which places are used again; see probe_groups.h. */
#include "probe/attach/probe_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probe/attach/detaching.h"

int probe_groups_init(struct probe_groups *groups, struct probe_links *links, size_t nr_probes)
{
	*groups = (struct probe_groups){.links = links};
	groups->group_of = calloc(nr_probes ? nr_probes : 1, sizeof(*groups->group_of));
	return groups->group_of ? 0 : -ENOMEM;
}

void probe_groups_clear(struct probe_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr_groups; i++) {
		detaching_finish(groups->groups[i].detaching);
		free(groups->groups[i].members);
	}
	free(groups->groups);
	free(groups->group_of);
	*groups = (struct probe_groups){0};
}

/* A free place, or -ENOMEM. */
static int64_t find_place(struct probe_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr_groups; i++)
		if (groups->groups[i].state == GROUP_FREE)
			return (int64_t)i;
	if (array_reserve(&groups->groups, &groups->cap_groups, i + 1, sizeof(*groups->groups)) < 0)
		return -ENOMEM;
	groups->groups[i] = (struct probe_group){.state = GROUP_FREE};
	groups->nr_groups++;
	return (int64_t)i;
}

int64_t probe_groups_attach(struct probe_groups *groups, const uint32_t *numbers, size_t nr,
			    struct error *error)
{
	cleanup_free uint32_t *members = malloc((nr ? nr : 1) * sizeof(*members));
	int64_t index = find_place(groups), id;
	size_t i;

	if (!members || index < 0)
		return error_set(error, -ENOMEM, "out of memory");
	id = probe_links_attach(groups->links, numbers, nr, error);
	if (id < 0)
		return id;
	memcpy(members, numbers, nr * sizeof(*members));
	for (i = 0; i < nr; i++)
		groups->group_of[numbers[i]] = (uint32_t)index;
	groups->groups[index] = (struct probe_group){.id = (uint32_t)id,
						     .state = GROUP_ATTACHED,
						     .members = take_pointer(&members),
						     .nr = nr};
	return index;
}

static void leave(struct probe_groups *groups, struct probe_group *group)
{
	if (group->state != GROUP_ATTACHED)
		return;
	group->state = GROUP_LEAVING;
	groups->nr_leaving++;
	group->detaching = detaching_start(groups->links, group->id);
}

void probe_groups_leave(struct probe_groups *groups, uint32_t number)
{
	leave(groups, &groups->groups[groups->group_of[number]]);
}

static void finish(struct probe_groups *groups, struct probe_group *group)
{
	detaching_finish(group->detaching);
	group->detaching = NULL;
	group->state = GROUP_FREE;
	groups->nr_leaving--;
}

uint32_t *probe_groups_take_gone(struct probe_groups *groups, size_t *ret_nr)
{
	size_t i;

	for (i = 0; groups->nr_leaving && i < groups->nr_groups; i++) {
		struct probe_group *group = &groups->groups[i];

		if (group->state != GROUP_LEAVING || !detaching_is_over(group->detaching))
			continue;
		finish(groups, group);
		*ret_nr = group->nr;
		return take_pointer(&group->members);
	}
	return NULL;
}

/* Waits until no more than so many are leaving; any will do, since they take about as long. */
static void wait_until_left(struct probe_groups *groups, size_t most_leaving)
{
	size_t i;

	for (i = 0; groups->nr_leaving > most_leaving && i < groups->nr_groups; i++)
		if (groups->groups[i].state == GROUP_LEAVING)
			finish(groups, &groups->groups[i]);
}

void probe_groups_detach_all(struct probe_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr_groups; i++) {
		if (groups->groups[i].state != GROUP_ATTACHED)
			continue;
		wait_until_left(groups, DETACHING_MAX - 1);
		leave(groups, &groups->groups[i]);
	}
	wait_until_left(groups, 0);
}
