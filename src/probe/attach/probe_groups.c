/*
 * A table of groups with reused slots, and one thread for each group that is being detached.
 *
 * The hits of a group end immediately, but the kernel returns only after a grace period: 50 to 90
 * ms for a link. Concurrent detaches share grace periods: 34 links took 1.6 s sequentially and 0.12
 * s in parallel. So probe_links_detach() is called from several threads, for different groups,
 * while the first thread attaches further groups.
 */
#include "probe/attach/probe_groups.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* --- schedule --------------------------------------------------------------------------------- */

#define GROUP_FIRST 16
#define GROUP_MIN   8
#define GROUP_MAX   64

/* Each group holds a descriptor; the default limit of a process is 1,024. */
#define GROUPS_MAX 256

int attach_schedule_init(struct attach_schedule *schedule, uint32_t nr_probes)
{
	*schedule = (struct attach_schedule){.nr_probes = nr_probes, .group_size = GROUP_FIRST};
	schedule->group_max = (nr_probes + GROUPS_MAX - 1) / GROUPS_MAX;
	if (schedule->group_max < GROUP_MAX)
		schedule->group_max = GROUP_MAX;
	schedule->calm = calloc(nr_probes ? nr_probes : 1, sizeof(*schedule->calm));
	return schedule->calm ? 0 : -ENOMEM;
}

void attach_schedule_clear(struct attach_schedule *schedule)
{
	free(schedule->calm);
	*schedule = (struct attach_schedule){0};
}

void attach_schedule_was_calm(struct attach_schedule *schedule)
{
	schedule->group_size *= 2;
	if (schedule->group_size > schedule->group_max)
		schedule->group_size = schedule->group_max;
}

void attach_schedule_was_hot(struct attach_schedule *schedule)
{
	schedule->group_size /= 4;
	if (schedule->group_size < GROUP_MIN)
		schedule->group_size = GROUP_MIN;
}

void attach_schedule_return(struct attach_schedule *schedule, uint32_t number)
{
	schedule->calm[schedule->nr_calm++] = number;
}

bool attach_schedule_has_new(const struct attach_schedule *schedule)
{
	return schedule->next_new < schedule->nr_probes;
}

bool attach_schedule_has_more(const struct attach_schedule *schedule)
{
	return schedule->nr_calm || attach_schedule_has_new(schedule);
}

size_t attach_schedule_take(struct attach_schedule *schedule, uint32_t *numbers)
{
	size_t nr =
		schedule->nr_calm < schedule->group_max ? schedule->nr_calm : schedule->group_max;

	/* Last in, first out: these have missed the fewest hits so far. */
	if (nr) {
		schedule->nr_calm -= nr;
		memcpy(numbers, schedule->calm + schedule->nr_calm, nr * sizeof(*numbers));
		return nr;
	}
	while (nr < schedule->group_size && attach_schedule_has_new(schedule))
		numbers[nr++] = schedule->next_new++;
	return nr;
}

/* --- detaching in the background -------------------------------------------------------------- */

/* The thread only makes a system call. */
#define STACK_BYTES (128 * 1024)

struct detaching {
	struct probe_links *links;
	uint32_t group;
	bool is_over; /* read and written atomically */
	pthread_t thread;
};

static void *detach(void *argument)
{
	struct detaching *detaching = argument;

	probe_links_detach(detaching->links, detaching->group);
	__atomic_store_n(&detaching->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Starts the thread with all signals blocked: they are handled by the first thread. */
static int start_thread(struct detaching *detaching)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int err;

	err = pthread_attr_init(&attributes);
	if (err)
		return err;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&detaching->thread, &attributes, detach, detaching);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return err;
}

/*
 * Begins to detach a group in a new thread. Never fails; if no thread can be created, detaches the
 * group right here and returns NULL.
 */
static struct detaching *detaching_start(struct probe_links *links, uint32_t group)
{
	struct detaching *detaching = calloc(1, sizeof(*detaching));

	if (detaching) {
		detaching->links = links;
		detaching->group = group;
		if (!start_thread(detaching))
			return detaching;
	}
	free(detaching);
	probe_links_detach(links, group);
	return NULL;
}

static bool detaching_is_over(const struct detaching *detaching)
{
	return !detaching || __atomic_load_n(&detaching->is_over, __ATOMIC_ACQUIRE);
}

/* Waits for completion and frees. Accepts NULL. */
static void detaching_finish(struct detaching *detaching)
{
	if (!detaching)
		return;
	(void)pthread_join(detaching->thread, NULL);
	free(detaching);
}

/* --- groups ----------------------------------------------------------------------------------- */

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

/* Returns the index of a free slot, or -ENOMEM. */
static int64_t find_place(struct probe_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr_groups; i++)
		if (groups->groups[i].state == GROUP_FREE)
			return (int64_t)i;
	if (ARRAY_ADD(groups->groups, groups->nr_groups, groups->cap_groups,
		      (struct probe_group){.state = GROUP_FREE}) < 0)
		return -ENOMEM;
	return (int64_t)i;
}

int64_t probe_groups_attach(struct probe_groups *groups, const uint32_t *numbers, size_t nr,
			    struct error *error)
{
	cleanup_free uint32_t *members = malloc((nr ? nr : 1) * sizeof(*members));
	int64_t index = find_place(groups), id;
	size_t i;

	if (!members || index < 0)
		return error_no_memory(error, "");
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

uint32_t *probe_groups_reap(struct probe_groups *groups, size_t *ret_nr)
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

/*
 * Waits until at most most_leaving groups are being detached; the order does not matter, since all
 * take about as long.
 */
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
