/* The order of attaching under a budget; see attach_schedule.h. */
#include "probe/attach/attach_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_FIRST 16
#define GROUP_MIN   8
#define GROUP_MAX   64

/* Each group holds a descriptor, of which a process has 1,024 if nobody raised that. */
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

/* The last ones back are the first to go: they have missed least yet. */
static size_t take_calm(struct attach_schedule *schedule, uint32_t *numbers)
{
	size_t nr = schedule->nr_calm;

	if (nr > schedule->group_max)
		nr = schedule->group_max;
	schedule->nr_calm -= nr;
	memcpy(numbers, schedule->calm + schedule->nr_calm, nr * sizeof(*numbers));
	return nr;
}

size_t attach_schedule_take(struct attach_schedule *schedule, uint32_t *numbers)
{
	size_t nr = 0;

	if (schedule->nr_calm)
		return take_calm(schedule, numbers);
	while (nr < schedule->group_size && attach_schedule_has_new(schedule))
		numbers[nr++] = schedule->next_new++;
	return nr;
}
