/*
 * Groups of probes under a budget: which probes to attach next, how many at a time, and detaching a
 * group in the background.
 *
 * A group can only be detached as a whole, which takes a grace period, and its other members are
 * not counted until they are attached again. So groups start small, grow while no probe is hot, and
 * shrink when one is. Probes that are known to be calm are attached in large groups, before new
 * ones.
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
	uint32_t *calm; /* to be attached again; capacity for all probes */
	size_t nr_calm;
	uint32_t nr_probes, next_new; /* new probes are taken in order of their numbers */
	size_t group_size, group_max;
};

/* Returns 0 or -ENOMEM. */
int attach_schedule_init(struct attach_schedule *schedule, uint32_t nr_probes);
void attach_schedule_clear(struct attach_schedule *schedule);

/* Report if the last attached group was calm or hot. */
void attach_schedule_was_calm(struct attach_schedule *schedule);
void attach_schedule_was_hot(struct attach_schedule *schedule);

/* Reschedules a probe that was detached because of others in its group. */
void attach_schedule_return(struct attach_schedule *schedule, uint32_t number);

/* True if there are probes that have not been tried; if there are any left to attach. */
bool attach_schedule_has_new(const struct attach_schedule *schedule);
bool attach_schedule_has_more(const struct attach_schedule *schedule);

/* Takes the numbers of the next group, at most group_max. Returns how many; 0: none are left. */
size_t attach_schedule_take(struct attach_schedule *schedule, uint32_t *numbers);

/* --- groups ----------------------------------------------------------------------------------- */

/* Limit on groups that are detached concurrently; more gain nothing. */
#define DETACHING_MAX 64

struct detaching;

struct probe_group {
	uint32_t id; /* group number in probe_links */
	enum { GROUP_FREE, GROUP_ATTACHED, GROUP_LEAVING } state;
	uint32_t *members; /* including refused ones */
	size_t nr;
	struct detaching *detaching;
};

struct probe_groups {
	struct probe_links *links;
	struct probe_group *groups;
	size_t nr_groups, cap_groups;
	size_t nr_leaving;
	uint32_t *group_of; /* by probe number: its group */
};

/* links must outlive the groups. Returns 0 or -ENOMEM; call probe_groups_clear() in both cases. */
int probe_groups_init(struct probe_groups *groups, struct probe_links *links, size_t nr_probes);

/* Waits for groups that are being detached. Attached groups stay attached; links detaches them. */
void probe_groups_clear(struct probe_groups *groups);

/*
 * Attaches these probes as one group. Returns its index, which may have been used before; or
 * -errno.
 */
int64_t probe_groups_attach(struct probe_groups *groups, const uint32_t *numbers, size_t nr,
			    struct error *error);

/* Begins to detach the group of a probe, unless that was done already. */
void probe_groups_leave(struct probe_groups *groups, uint32_t number);

/*
 * Removes one completely detached group, whose counts are final. Returns its members, which the
 * caller frees; NULL: none now.
 */
uint32_t *probe_groups_reap(struct probe_groups *groups, size_t *ret_nr);

/* Detaches all groups and waits for completion. */
void probe_groups_detach_all(struct probe_groups *groups);

#endif
