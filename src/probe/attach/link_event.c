/*
 * Events of tracefs with many places; see link_event.h.
 *
 *	p:stook/s4711_3fa2_0 /proc/self/fd/7:0x4a0	defines an event
 *	p:stook/s4711_3fa2_0 /proc/self/fd/7:0x510	adds a place to it
 *	-:stook/s4711_3fa2_0				removes it with all its places
 *
 * A perf event on its id puts the breakpoints in; a program set on that runs on every CPU, whichever
 * one the perf event was opened for. What a killed run has left is a definition without an effect;
 * the next one that comes here removes it. It may be a run in another pid namespace that looks gone:
 * but an event in use can't be removed.
 */
#include "probe/attach/link_event.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/attach/event_text.h"
#include "probe/attach/hard_places.h"
#include "probe/attach/link_refusal.h"
#include "proc/process_info.h"
#include "proc/tracefs.h"

/* Of an x86 kernel with CET, and of arm64's with BTI: a function's first instruction, which a kprobe
 * goes behind. */
#define LANDING_PAD_BYTES 4

/* A breakpoint on x86 is reported as it is by the CPU, one byte on. */
#if defined(__x86_64__)
#define BREAKPOINT_BYTES 1
#else
#define BREAKPOINT_BYTES 0
#endif

size_t link_event_places(const struct probe *probe, uint64_t inode,
			 struct wire_place ret[LINK_EVENT_PLACES])
{
	uint64_t at = probe->address + probe->offset + BREAKPOINT_BYTES;

	if (probe->kind != PROBE_KERNEL) {
		ret[0] = (struct wire_place){
			.file = inode, .offset = probe->offset, .is_return = probe->is_return};
		return 1;
	}
	ret[0] = (struct wire_place){.offset = at};
	ret[1] = (struct wire_place){.offset = at + LANDING_PAD_BYTES};
	return probe->offset ? 1 : 2;
}

/* --- what was left behind -------------------------------------------------------------------- */

static bool is_gone(const struct event_owner *owner)
{
	struct process_status status;

	return process_status_read(owner->pid, &status) < 0 ||
	       status.start_boot_ns != owner->start_ns;
}

static void remove_leftovers(int tracefs_fd, const char *file)
{
	cleanup_free char *listed = tracefs_read(tracefs_fd, file, NULL);
	char name[EVENT_NAME_BYTES], last[EVENT_NAME_BYTES] = "", text[EVENT_TEXT_BYTES];
	struct event_owner owner;
	const char *at = listed;

	/* A line for each place, one behind the other for those of an event. */
	while (at && event_text_next(&at, name, &owner)) {
		if (!strcmp(name, last) || !is_gone(&owner))
			continue;
		event_text_remove(text, name);
		(void)tracefs_append(tracefs_fd, file, text);
		memcpy(last, name, sizeof(last));
	}
}

static int open_tracefs(struct link_state *state, struct error *error)
{
	struct process_status status;

	if (state->tracefs_fd >= 0)
		return 0;
	state->tracefs_fd = tracefs_open(error);
	if (state->tracefs_fd < 0)
		return state->tracefs_fd;
	if (process_status_read(getpid(), &status) == 0)
		state->start_ns = status.start_boot_ns;
	remove_leftovers(state->tracefs_fd, event_text_file(false));
	remove_leftovers(state->tracefs_fd, event_text_file(true));
	return 0;
}

/* --- an event -------------------------------------------------------------------------------- */

struct attaching {
	struct link_state *state;
	enum probe_hook hook;
	struct link_group *group;
};

static int new_event(const struct attaching *attaching, struct link_event *ret)
{
	struct event_owner owner = {getpid(), attaching->state->start_ns};

	ret->is_kernel = attaching->hook == HOOK_KPROBE_EVENT;
	event_text_name(ret->name, &owner, attaching->state->nr_events++);
	/* Noted before it is there: so it is removed whatever happens. */
	return link_group_add_event(attaching->group, ret);
}

/* The program must know a place before it can be hit there. */
static int add_places(const struct attaching *attaching, uint32_t number)
{
	const struct probe_links_options *options = &attaching->state->options;
	const struct probe *probe = &options->list->probes[number];
	struct wire_place places[LINK_EVENT_PLACES];
	uint64_t inode = probe->kind == PROBE_KERNEL ? 0 : options->list->files[probe->file].inode;
	size_t nr = link_event_places(probe, inode, places), i;

	for (i = 0; i < nr; i++) {
		if (bpf_map_update_elem(options->programs->places_fd, &places[i], &number,
					BPF_NOEXIST) < 0)
			return -errno;
		if (link_group_add_place(attaching->group, &places[i]) < 0) {
			(void)bpf_map_delete_elem(options->programs->places_fd, &places[i]);
			return -ENOMEM;
		}
	}
	return 0;
}

static int define(const struct attaching *attaching, const struct link_event *event,
		  uint32_t number)
{
	const struct link_state *state = attaching->state;
	const struct probe *probe = link_probe(state, number);
	char text[EVENT_TEXT_BYTES];
	int fd = event->is_kernel ? -1 : state->options.list->files[probe->file].fd;

	event_text_define(text, event->name, probe, fd);
	return tracefs_append(state->tracefs_fd, event_text_file(event->is_kernel), text);
}

static void let_go(const struct attaching *attaching, struct link_mark mark)
{
	link_group_release(attaching->group, mark, attaching->state->tracefs_fd,
			   attaching->state->options.programs->places_fd);
}

/*
 * Defines the event with all of these places that the kernel takes, which are put into ret_defined;
 * the others are refused. How many, or a negative errno.
 */
static int64_t define_all(const struct attaching *attaching, const struct link_event *event,
			  const uint32_t *numbers, size_t nr, uint32_t *ret_defined)
{
	const char *why;
	int64_t nr_defined = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct link_mark mark = link_group_mark(attaching->group);
		int err = add_places(attaching, numbers[i]);

		if (!err)
			err = define(attaching, event, numbers[i]);
		if (!err) {
			ret_defined[nr_defined++] = numbers[i];
			continue;
		}
		let_go(attaching, mark);
		why = link_refusal(attaching->hook, err);
		if (!why)
			return err;
		link_refuse(attaching->state, numbers[i], why);
	}
	return nr_defined;
}

static int open_event(const struct attaching *attaching, const struct link_event *event)
{
	const struct probe_links_options *options = &attaching->state->options;
	bool for_one = !event->is_kernel && options->pid;
	char name[sizeof(EVENT_GROUP) + EVENT_NAME_BYTES] = EVENT_GROUP "/";
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .disabled = 1};
	cleanup_fd int fd = -1;
	int64_t id;

	id = tracefs_event_id(attaching->state->tracefs_fd, strcat(name, event->name));
	if (id < 0)
		return (int)id;
	attr.config = (uint64_t)id;
	fd = (int)syscall(SYS_perf_event_open, &attr, for_one ? options->pid : -1, for_one ? -1 : 0,
			  -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_SET_BPF,
		  bpf_program__fd(options->programs->by_hook[attaching->hook])) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return link_group_add_fd(attaching->group, attaching->hook, take_fd(&fd));
}

static int attach_some(const struct attaching *attaching, const uint32_t *numbers, size_t nr);

/*
 * One of those that were defined can't be probed, and the kernel does not say which. Where user code
 * is likely to be refused it goes apart; otherwise the half does.
 */
static int split(const struct attaching *attaching, const uint32_t *numbers, size_t nr, int err)
{
	const char *why = link_refusal(attaching->hook, err);
	cleanup_free uint32_t *sorted = calloc(nr, sizeof(*sorted));
	size_t nr_first = 0;

	if (!why || !sorted)
		return why ? -ENOMEM : err;
	if (nr == 1) {
		link_refuse(attaching->state, numbers[0], why);
		return 0;
	}
	memcpy(sorted, numbers, nr * sizeof(*sorted));
	if (attaching->hook == HOOK_UPROBE_EVENT)
		nr_first = hard_places_first(attaching->state->options.list, numbers, nr, sorted);
	if (nr_first == 0 || nr_first == nr)
		nr_first = nr / 2;
	err = attach_some(attaching, sorted, nr_first);
	return err ? err : attach_some(attaching, sorted + nr_first, nr - nr_first);
}

static int attach_some(const struct attaching *attaching, const uint32_t *numbers, size_t nr)
{
	cleanup_free uint32_t *defined = calloc(nr, sizeof(*defined));
	struct link_mark mark = link_group_mark(attaching->group);
	struct link_event event;
	int64_t nr_defined;
	int err;

	if (!defined)
		return -ENOMEM;
	err = new_event(attaching, &event);
	if (err < 0)
		return err;
	nr_defined = define_all(attaching, &event, numbers, nr, defined);
	if (nr_defined < 0)
		return (int)nr_defined;
	err = nr_defined ? open_event(attaching, &event) : 0;
	if (err == 0 && nr_defined)
		return 0;
	let_go(attaching, mark);
	return err ? split(attaching, defined, (size_t)nr_defined, err) : 0;
}

int link_event_attach(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
		      size_t nr, struct link_group *group, struct error *error)
{
	struct attaching attaching = {state, hook, group};
	int err = open_tracefs(state, error);

	if (err < 0)
		return err;
	err = attach_some(&attaching, numbers, nr);
	return err < 0 ? link_failure(hook, err, nr, error) : 0;
}

void link_event_end(struct link_state *state)
{
	if (state->tracefs_fd >= 0)
		(void)close(state->tracefs_fd);
	state->tracefs_fd = -1;
}
