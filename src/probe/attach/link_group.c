/* What a group of probes is attached by; see link_group.h. */
#include "probe/attach/link_group.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/attach/event_text.h"
#include "proc/tracefs.h"

int link_group_add_fd(struct link_group *group, enum probe_hook hook, int fd)
{
	if (array_reserve(&group->fds, &group->cap_fds, group->nr_fds + 1, sizeof(*group->fds)) <
	    0) {
		(void)close(fd);
		return -ENOMEM;
	}
	group->fds[group->nr_fds++] = (struct link_fd){fd, hook};
	return 0;
}

int link_group_add_event(struct link_group *group, const struct link_event *event)
{
	if (array_reserve(&group->events, &group->cap_events, group->nr_events + 1,
			  sizeof(*group->events)) < 0)
		return -ENOMEM;
	group->events[group->nr_events++] = *event;
	return 0;
}

int link_group_add_place(struct link_group *group, const struct wire_place *place)
{
	if (array_reserve(&group->places, &group->cap_places, group->nr_places + 1,
			  sizeof(*group->places)) < 0)
		return -ENOMEM;
	group->places[group->nr_places++] = *place;
	return 0;
}

struct link_mark link_group_mark(const struct link_group *group)
{
	return (struct link_mark){group->nr_fds, group->nr_events, group->nr_places};
}

/* Removing one that was never defined does no harm. */
static void remove_event(const struct link_event *event, int tracefs_fd)
{
	char text[EVENT_TEXT_BYTES];

	event_text_remove(text, event->name);
	(void)tracefs_append(tracefs_fd, event_text_file(event->is_kernel), text);
}

/* The kernel does not wait for programs of these that are running when it lets go of a function. */
static bool has_stragglers(enum probe_hook hook)
{
	return hook == HOOK_FENTRY || hook == HOOK_FEXIT;
}

void link_group_release(struct link_group *group, struct link_mark mark, int tracefs_fd,
			int places_fd)
{
	bool waits = false;

	while (group->nr_fds > mark.nr_fds) {
		const struct link_fd *last = &group->fds[--group->nr_fds];

		waits |= has_stragglers(last->hook);
		(void)close(last->fd);
	}
	/* A grace period of RCU, which programs run under. */
	if (waits)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	while (group->nr_events > mark.nr_events)
		remove_event(&group->events[--group->nr_events], tracefs_fd);
	while (group->nr_places > mark.nr_places)
		(void)bpf_map_delete_elem(places_fd, &group->places[--group->nr_places]);
}

void link_group_clear(struct link_group *group, int tracefs_fd, int places_fd)
{
	link_group_release(group, (struct link_mark){0}, tracefs_fd, places_fd);
	free(group->fds);
	free(group->events);
	free(group->places);
	*group = (struct link_group){0};
}
