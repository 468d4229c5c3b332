/*
 * Under a budget, which probes are attached next, and how many at a time. Pure.
 *
 * A group can only be detached as a whole, which takes a grace period and leaves its other members
 * uncounted until they are attached again. So groups start small, grow while they turn out calm, and
 * shrink where it is hot. Those known to be calm go in large groups, and before new ones.
 */
#ifndef STOOK_PROBE_ATTACH_ATTACH_SCHEDULE_H
#define STOOK_PROBE_ATTACH_ATTACH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_schedule {
	uint32_t *calm; /* waiting to be attached again; room for all probes */
	size_t nr_calm;
	uint32_t nr_probes, next_new; /* new ones go in the order of their numbers */
	size_t group_size, group_max;
};

/* 0 or -ENOMEM. */
int attach_schedule_init(struct attach_schedule *schedule, uint32_t nr_probes);
void attach_schedule_clear(struct attach_schedule *schedule);

/* How the group that was attached last turned out. */
void attach_schedule_was_calm(struct attach_schedule *schedule);
void attach_schedule_was_hot(struct attach_schedule *schedule);

/* A probe that was detached because of others in its group. */
void attach_schedule_return(struct attach_schedule *schedule, uint32_t number);

/* Whether there are any that have not been tried, or any at all. */
bool attach_schedule_has_new(const struct attach_schedule *schedule);
bool attach_schedule_has_more(const struct attach_schedule *schedule);

/* Hands out the next group's numbers, group_max at most; 0: all have been handed out. */
size_t attach_schedule_take(struct attach_schedule *schedule, uint32_t *numbers);

#endif
