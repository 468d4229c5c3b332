/*
 * One tracefs event with many places, for kernels without multi links: a single descriptor,
 * detached in one step. The program sees the place, not the probe; the map of places gives the
 * probe's number.
 *
 *	p:stook/s4711_3fa2_0 /proc/self/fd/7:0x4a0	defines an event
 *	p:stook/s4711_3fa2_0 /proc/self/fd/7:0x510	adds a place to it
 *	-:stook/s4711_3fa2_0				removes it with all its places
 *
 * Opening a perf event with its id inserts the breakpoints; a program set on that perf event runs
 * on every CPU, whichever CPU it was opened for.
 *
 * An event's name identifies the process that created it: sPID_START_SERIAL. A killed run leaves
 * definitions behind, which have no effect; the next run that uses tracefs events removes them. A
 * run in another pid namespace may look dead, but an event in use cannot be removed.
 */
#include "probe/attach/link.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/perf_open.h"
#include "proc/process_info.h"
#include "proc/tracefs.h"

/* --- texts ------------------------------------------------------------------------------------ */

const char *event_text_file(bool is_kernel)
{
	return is_kernel ? "kprobe_events" : "uprobe_events";
}

void event_text_name(char name[EVENT_NAME_BYTES], const struct event_owner *owner, uint32_t serial)
{
	(void)snprintf(name, EVENT_NAME_BYTES, "s%" PRId32 "_%" PRIx64 "_%" PRIu32, owner->pid,
		       owner->start_ns, serial);
}

/*
 * Kernel functions are given by symbol: the kernel names all places that are given by address
 * "unknown+0", and rejects the second one. Files are given by our own descriptor, which refers to
 * the right inode and makes a path without blanks and colons.
 */
void event_text_define(char text[EVENT_TEXT_BYTES], const char *name, const struct probe *probe,
		       int fd)
{
	int length;

	if (probe->kind == PROBE_KERNEL) {
		(void)snprintf(text, EVENT_TEXT_BYTES, "p:" EVENT_GROUP "/%s %s+0x%" PRIx64, name,
			       probe->symbol, probe->offset);
		return;
	}
	length = snprintf(text, EVENT_TEXT_BYTES,
			  "%c:" EVENT_GROUP "/%s /proc/self/fd/%d:0x%" PRIx64,
			  probe->is_return ? 'r' : 'p', name, fd, probe->offset);
	if (probe->semaphore)
		(void)snprintf(text + length, EVENT_TEXT_BYTES - (size_t)length, "(0x%" PRIx64 ")",
			       probe->semaphore);
}

void event_text_remove(char text[EVENT_TEXT_BYTES], const char *name)
{
	(void)snprintf(text, EVENT_TEXT_BYTES, "-:" EVENT_GROUP "/%s", name);
}

static bool parse_line(const char *line, char ret_name[EVENT_NAME_BYTES],
		       struct event_owner *ret_owner)
{
	static const char group[] = ":" EVENT_GROUP "/";
	const char *name = line + strcspn(line, ":\n");
	size_t length;
	uint32_t serial;

	if (!text_starts_with(name, group))
		return false;
	name += sizeof(group) - 1;
	length = strcspn(name, " \n");
	if (length >= EVENT_NAME_BYTES)
		return false;
	(void)snprintf(ret_name, EVENT_NAME_BYTES, "%.*s", (int)length, name);
	return sscanf(ret_name, "s%" SCNd32 "_%" SCNx64 "_%" SCNu32, &ret_owner->pid,
		      &ret_owner->start_ns, &serial) == 3;
}

bool event_text_next(const char **text, char ret_name[EVENT_NAME_BYTES],
		     struct event_owner *ret_owner)
{
	const char *line;

	while (**text) {
		line = *text;
		*text += strcspn(line, "\n");
		*text += **text == '\n';
		if (parse_line(line, ret_name, ret_owner))
			return true;
	}
	return false;
}

/* --- places ----------------------------------------------------------------------------------- */

/*
 * Length of the first instruction of functions on x86 with CET and arm64 with BTI; a kprobe is
 * placed after it.
 */
#define LANDING_PAD_BYTES 4

/* x86 reports a breakpoint at the address after its one byte. */
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

/* --- leftover definitions --------------------------------------------------------------------- */

static void remove_leftovers(int tracefs_fd, const char *file)
{
	cleanup_free char *listed = tracefs_read(tracefs_fd, file, NULL);
	char name[EVENT_NAME_BYTES], last[EVENT_NAME_BYTES] = "", text[EVENT_TEXT_BYTES];
	struct event_owner owner;
	const char *at = listed;
	uint64_t start_ns;

	/* One line per place; lines of one event are adjacent. */
	while (at && event_text_next(&at, name, &owner)) {
		if (!strcmp(name, last) ||
		    (process_start_read(owner.pid, &start_ns) == 0 && start_ns == owner.start_ns))
			continue;
		event_text_remove(text, name);
		(void)tracefs_append(tracefs_fd, file, text);
		memcpy(last, name, sizeof(last));
	}
}

static int open_tracefs(struct link_state *state, struct error *error)
{
	if (state->tracefs_fd >= 0)
		return 0;
	state->tracefs_fd = tracefs_open(error);
	if (state->tracefs_fd < 0)
		return state->tracefs_fd;
	(void)process_start_read(getpid(), &state->start_ns);
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

/* Adds a probe's places to the map, which must be done before they can be hit. */
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

static void let_go(const struct attaching *attaching, struct link_mark mark)
{
	link_group_release(attaching->group, mark, attaching->state->tracefs_fd,
			   attaching->state->options.programs->places_fd);
}

/*
 * Defines the event with all places that the kernel accepts, puts these numbers into ret_defined,
 * and refuses the others. Returns how many are defined, or a negative errno.
 */
static int64_t define_all(const struct attaching *attaching, const struct link_event *event,
			  const uint32_t *numbers, size_t nr, uint32_t *ret_defined)
{
	const struct link_state *state = attaching->state;
	char text[EVENT_TEXT_BYTES];
	const char *why;
	int64_t nr_defined = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct link_mark mark = link_group_mark(attaching->group);
		const struct probe *probe = link_probe(state, numbers[i]);
		int fd = event->is_kernel ? -1 : state->options.list->files[probe->file].handle;
		int err = add_places(attaching, numbers[i]);

		event_text_define(text, event->name, probe, fd);
		if (!err)
			err = tracefs_append(state->tracefs_fd, event_text_file(event->is_kernel),
					     text);
		if (!err) {
			ret_defined[nr_defined++] = numbers[i];
			continue;
		}
		let_go(attaching, mark);
		why = link_refusal(attaching->hook, err);
		if (!why)
			return err;
		/* Since Linux 6.6 and 6.1.60 with various errors. */
		if (event->is_kernel && probe->has_twin)
			why = "another function has the same name; kprobes cannot distinguish "
			      "them";
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
	fd = perf_open_counter(&attr, for_one ? options->pid : -1,
			       for_one ? -1 : (int)perf_any_cpu(), -1, 0);
	if (fd < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_SET_BPF,
		  bpf_program__fd(options->programs->by_hook[attaching->hook])) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return link_group_add_fd(attaching->group, attaching->hook, take_fd(&fd));
}

static int attach_some(const struct attaching *attaching, const uint32_t *numbers, size_t nr);

/*
 * One of the defined places cannot be probed, and the kernel does not report which. Attaches the
 * places of user code that are likely to be rejected separately from the others, or else each half.
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
		nr_first =
			doubtful_places_first(attaching->state->options.list, numbers, nr, sorted);
	if (nr_first == 0 || nr_first == nr)
		nr_first = nr / 2;
	err = attach_some(attaching, sorted, nr_first);
	return err ? err : attach_some(attaching, sorted + nr_first, nr - nr_first);
}

static int attach_some(const struct attaching *attaching, const uint32_t *numbers, size_t nr)
{
	cleanup_free uint32_t *defined = calloc(nr, sizeof(*defined));
	struct link_mark mark = link_group_mark(attaching->group);
	struct link_event event = {.is_kernel = attaching->hook == HOOK_KPROBE_EVENT};
	struct event_owner owner = {getpid(), attaching->state->start_ns};
	int64_t nr_defined;
	int err;

	if (!defined)
		return -ENOMEM;
	event_text_name(event.name, &owner, attaching->state->nr_events++);
	/* Added to the group before it is defined, so that it is always removed. */
	err = link_group_add_event(attaching->group, &event);
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
