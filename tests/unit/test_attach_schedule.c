/* probe/attach/attach_schedule: who is attached next, and how many at a time. */
#include "probe/attach/attach_schedule.h"

#include <errno.h>

#include "unit/test.h"

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

/* 100,000 probes must not need a descriptor for each 64. */
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
