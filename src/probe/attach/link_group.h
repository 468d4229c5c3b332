/* What a group of probes is attached by, and how it is let go. */
#ifndef STOOK_PROBE_ATTACH_LINK_GROUP_H
#define STOOK_PROBE_ATTACH_LINK_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/probe_wire.h"
#include "probe/attach/probe_hook.h"

/* A link or a perf event: attached while it is open. */
struct link_fd {
	int fd;
	enum probe_hook hook;
};

/* An event that was defined in tracefs: stook/NAME. */
struct link_event {
	char name[48];
	bool is_kernel;
};

struct link_group {
	struct link_fd *fds;
	size_t nr_fds, cap_fds;
	struct link_event *events;
	size_t nr_events, cap_events;
	struct wire_place *places; /* in the map of places */
	size_t nr_places, cap_places;
};

/* Takes over fd, on failure too. Each is 0 or -ENOMEM. */
int link_group_add_fd(struct link_group *group, enum probe_hook hook, int fd);
int link_group_add_event(struct link_group *group, const struct link_event *event);
int link_group_add_place(struct link_group *group, const struct wire_place *place);

/* How much was in a group at some moment: to go back to it. */
struct link_mark {
	size_t nr_fds, nr_events, nr_places;
};

struct link_mark link_group_mark(const struct link_group *group);

/*
 * Detaches all that was added since the mark: descriptors, then events, then places. Programs that
 * were running have ended when it returns.
 */
void link_group_release(struct link_group *group, struct link_mark mark, int tracefs_fd,
			int places_fd);

/* Detaches all, and frees. */
void link_group_clear(struct link_group *group, int tracefs_fd, int places_fd);

#endif
