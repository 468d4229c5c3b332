/*
 * probe/attach/probe_groups: groups are opened, detached and free their slots. Their probes have no
 * hook, so the kernel is not involved; the detaching threads are real. Also the schedule: which
 * probes are attached next, and how many at a time.
 */
#include "probe/attach/probe_groups.h"

#include <errno.h>
#include <stdlib.h>

#include "unit/test.h"

/* --- groups -------------------------------------------------------------------------------- */

#define NR_PROBES (DETACHING_MAX + 20)

static struct probe probes[NR_PROBES];
static const struct probe_list list = {.probes = probes, .nr_probes = NR_PROBES};
static const struct probe_features no_features;
static const struct probe_programs no_programs = {.places_fd = -1};

static void refuse(void *context, uint32_t number, const char *why)
{
	(void)context;
	CHECK(number < NR_PROBES && why);
}

static const struct probe_links_options options = {
	.list = &list,
	.features = &no_features,
	.programs = &no_programs,
	.pid = 1,
	.refuse = refuse,
};

/* Opens a group for each probe; for the first ones, index and number are the same. */
static void open_groups(struct probe_groups *groups)
{
	struct error error;
	uint32_t i;

	CHECK_EQ(probe_groups_init(groups, probe_links_new(&options, &error), NR_PROBES), 0);
	for (i = 0; i < NR_PROBES; i++)
		CHECK_EQ(probe_groups_attach(groups, &i, 1, &error), i);
}

static void close_groups(struct probe_groups *groups)
{
	struct probe_links *links = groups->links;

	probe_groups_clear(groups);
	probe_links_free(links);
}

static void check_all_gone(const struct probe_groups *groups)
{
	size_t i;

	CHECK_EQ(groups->nr_leaving, 0);
	for (i = 0; i < groups->nr_groups; i++) {
		CHECK_EQ(groups->groups[i].state, GROUP_FREE);
		CHECK(!groups->groups[i].detaching);
	}
}

TEST(more_groups_than_may_leave_at_a_time_are_detached)
{
	struct probe_groups groups;

	open_groups(&groups);
	probe_groups_detach_all(&groups);
	check_all_gone(&groups);
	close_groups(&groups);
}

/* The first probes are attached, and the later ones occupy all slots for detaching. */
TEST(all_are_detached_while_too_many_are_leaving)
{
	struct probe_groups groups;
	uint32_t i;

	open_groups(&groups);
	for (i = 10; i < NR_PROBES; i++)
		probe_groups_leave(&groups, i);
	CHECK_EQ(groups.nr_leaving, NR_PROBES - 10);
	probe_groups_detach_all(&groups);
	check_all_gone(&groups);
	close_groups(&groups);
}

TEST(places_of_groups_that_have_left_are_used_again)
{
	struct probe_groups groups;
	struct error error;
	uint32_t *members = NULL;
	uint32_t number = 3;
	size_t nr;

	open_groups(&groups);
	CHECK(!probe_groups_reap(&groups, &nr));
	probe_groups_leave(&groups, number);
	probe_groups_leave(&groups, number);
	CHECK_EQ(groups.nr_leaving, 1);
	while (!members)
		members = probe_groups_reap(&groups, &nr);
	CHECK_EQ(nr, 1);
	CHECK_EQ(members[0], number);
	free(members);
	CHECK_EQ(probe_groups_attach(&groups, &number, 1, &error), 3);
	CHECK_EQ(groups.nr_groups, NR_PROBES);
	probe_groups_detach_all(&groups);
	close_groups(&groups);
}

/* --- schedule ------------------------------------------------------------------------------ */

#define ROOM 1024

static struct attach_schedule open_schedule(uint32_t nr)
{
	struct attach_schedule schedule;

	CHECK_EQ(attach_schedule_init(&schedule, nr), 0);
	CHECK(schedule.group_max <= ROOM);
	return schedule;
}

TEST(every_probe_once_and_in_order)
{
	struct attach_schedule schedule = open_schedule(1000);
	uint32_t numbers[ROOM], next = 0;
	size_t nr, i;

	while ((nr = attach_schedule_take(&schedule, numbers))) {
		CHECK(nr <= schedule.group_max);
		for (i = 0; i < nr; i++)
			CHECK_EQ(numbers[i], next++);
		CHECK_EQ(attach_schedule_has_new(&schedule), next < 1000);
		attach_schedule_was_calm(&schedule);
	}
	CHECK_EQ(next, 1000);
	CHECK(!attach_schedule_has_more(&schedule));
	attach_schedule_clear(&schedule);
}

TEST(groups_grow_when_calm_and_shrink_when_hot)
{
	struct attach_schedule schedule = open_schedule(100000);
	uint32_t numbers[ROOM];
	size_t first = attach_schedule_take(&schedule, numbers), nr = first, i;

	for (i = 0; i < 20; i++) {
		attach_schedule_was_calm(&schedule);
		CHECK(attach_schedule_take(&schedule, numbers) >= nr);
		nr = schedule.group_size;
	}
	CHECK_EQ(nr, schedule.group_max);
	attach_schedule_was_hot(&schedule);
	CHECK(attach_schedule_take(&schedule, numbers) < nr / 2);
	for (i = 0; i < 20; i++)
		attach_schedule_was_hot(&schedule);
	nr = attach_schedule_take(&schedule, numbers);
	CHECK(nr > 0 && nr < first);
	attach_schedule_clear(&schedule);
}

TEST(those_known_to_be_calm_come_first_in_large_groups)
{
	struct attach_schedule schedule = open_schedule(1000);
	uint32_t numbers[ROOM];
	size_t nr = attach_schedule_take(&schedule, numbers), i;

	attach_schedule_was_hot(&schedule);
	for (i = 1; i < nr; i++)
		attach_schedule_return(&schedule, numbers[i]);
	CHECK_EQ(attach_schedule_take(&schedule, numbers), nr - 1);
	CHECK_EQ(numbers[0], 1);
	CHECK(attach_schedule_take(&schedule, numbers) < nr);
	CHECK_EQ(numbers[0], nr);
	attach_schedule_clear(&schedule);
}

/* 100,000 probes must not need a descriptor per 64 probes. */
TEST(the_number_of_groups_is_limited)
{
	struct attach_schedule schedule = open_schedule(100000);
	uint32_t numbers[ROOM];
	size_t nr_groups = 0;

	while (attach_schedule_take(&schedule, numbers)) {
		attach_schedule_was_calm(&schedule);
		nr_groups++;
	}
	CHECK(nr_groups < 300);
	attach_schedule_clear(&schedule);
}

TEST(a_schedule_of_nothing)
{
	struct attach_schedule schedule = open_schedule(0);
	uint32_t numbers[ROOM];

	CHECK(!attach_schedule_has_more(&schedule));
	CHECK_EQ(attach_schedule_take(&schedule, numbers), 0);
	attach_schedule_clear(&schedule);
	test_fail_allocation(1);
	CHECK_EQ(attach_schedule_init(&schedule, 1), -ENOMEM);
	test_fail_allocation(0);
	attach_schedule_clear(&schedule);
}
