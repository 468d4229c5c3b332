/*
 * The groups in which probes are attached under a budget: which probes are next, how many at a
 * time, and how a group is detached in the background.
 *
 * A group can only be detached as a whole, which takes a grace period and leaves its other members
 * uncounted until they are attached again. So groups start small, grow while they turn out calm,
 * and shrink where it is hot. Probes known to be calm go in large groups, and before new ones.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_GROUPS_H
#define STOOK_PROBE_ATTACH_PROBE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probe_links.h"

/* --- schedule: pure --------------------------------------------------------------------------- */

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

/* True if probes are left that have not been tried; if any are left at all. */
bool attach_schedule_has_new(const struct attach_schedule *schedule);
bool attach_schedule_has_more(const struct attach_schedule *schedule);

/* Hands out the next group's numbers, group_max at most; 0: all have been handed out. */
size_t attach_schedule_take(struct attach_schedule *schedule, uint32_t *numbers);

/* --- groups ----------------------------------------------------------------------------------- */

/* Groups that leave at the same time; more bring nothing. */
#define DETACHING_MAX 64

struct detaching;

struct probe_group {
	uint32_t id; /* of probe_links */
	enum { GROUP_FREE, GROUP_ATTACHED, GROUP_LEAVING } state;
	uint32_t *members; /* also those that were refused */
	size_t nr;
	struct detaching *detaching;
};

struct probe_groups {
	struct probe_links *links;
	struct probe_group *groups;
	size_t nr_groups, cap_groups;
	size_t nr_leaving;
	uint32_t *group_of; /* by a probe's number: its group */
};

/* links must outlive it. 0 or -ENOMEM; to be cleared in each case. */
int probe_groups_init(struct probe_groups *groups, struct probe_links *links, size_t nr_probes);

/* Waits for what is leaving; what is attached is left to links. */
void probe_groups_clear(struct probe_groups *groups);

/*
 * Attaches these as one group. Returns its index, which may have been another's before; or -errno.
 */
int64_t probe_groups_attach(struct probe_groups *groups, const uint32_t *numbers, size_t nr,
			    struct error *error);

/* Begins to detach the group of a probe, if it has not left already. */
void probe_groups_leave(struct probe_groups *groups, uint32_t number);

/*
 * Removes one group that has left, whose counts are final. Returns its members, which the caller
 * frees; NULL: none now.
 */
uint32_t *probe_groups_take_gone(struct probe_groups *groups, size_t *ret_nr);

/* Detaches all and waits for the end of it. */
void probe_groups_detach_all(struct probe_groups *groups);

#endif
