/*
 * The groups in which probes are attached, each of which can only be detached as a whole, in the
 * background.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_GROUPS_H
#define STOOK_PROBE_ATTACH_PROBE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/probe_links.h"

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

/* Attaches these as one group. Its index, which may have been another's before; or -errno. */
int64_t probe_groups_attach(struct probe_groups *groups, const uint32_t *numbers, size_t nr,
			    struct error *error);

/* Begins to detach the group of a probe, if it has not left already. */
void probe_groups_leave(struct probe_groups *groups, uint32_t number);

/*
 * Hands over one group of those that have left, whose counts are final: its members, which the
 * caller frees. NULL: none now.
 */
uint32_t *probe_groups_take_gone(struct probe_groups *groups, size_t *ret_nr);

/* Detaches all and waits for the end of it. */
void probe_groups_detach_all(struct probe_groups *groups);

#endif
