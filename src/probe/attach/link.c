/*
 * Shared by all ways of attaching: the group of descriptors, events and places by which probes are
 * detached; explanations of the kernel's errors; and lookups of the probes that the kernel refers
 * to.
 */
#include "probe/attach/link.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/load.h"
#include "proc/tracefs.h"

/* --- groups ----------------------------------------------------------------------------------- */

int link_group_add_fd(struct link_group *group, enum probe_hook hook, int fd)
{
	int err = ARRAY_ADD(group->fds, group->nr_fds, group->cap_fds,
			    (struct link_fd){.fd = fd, .hook = hook});

	if (err < 0)
		(void)close(fd);
	return err;
}

int link_group_add_program(struct link_group *group, enum probe_hook hook, int fd)
{
	int err = link_group_add_fd(group, hook, fd);

	if (err == 0)
		group->fds[group->nr_fds - 1].is_program = true;
	return err;
}

int link_group_add_event(struct link_group *group, const struct link_event *event)
{
	return ARRAY_ADD(group->events, group->nr_events, group->cap_events, *event);
}

int link_group_add_place(struct link_group *group, const struct wire_place *place)
{
	return ARRAY_ADD(group->places, group->nr_places, group->cap_places, *place);
}

struct link_mark link_group_mark(const struct link_group *group)
{
	return (struct link_mark){group->nr_fds, group->nr_events, group->nr_places};
}

void link_group_release(struct link_group *group, struct link_mark mark, int tracefs_fd,
			int places_fd)
{
	char text[EVENT_TEXT_BYTES];
	bool waits = false;

	while (group->nr_fds > mark.nr_fds) {
		const struct link_fd *last = &group->fds[--group->nr_fds];

		/*
		 * For these hooks the kernel does not wait for running programs when it detaches.
		 */
		waits |= last->hook == HOOK_FENTRY || last->hook == HOOK_FEXIT;
		(void)close(last->fd);
	}
	if (waits)
		load_wait_for_programs();
	while (group->nr_events > mark.nr_events) {
		const struct link_event *last = &group->events[--group->nr_events];

		/* Removing an undefined event is harmless. */
		event_text_remove(text, last->name);
		(void)tracefs_append(tracefs_fd, event_text_file(last->is_kernel), text);
	}
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

/* --- explaining errors ------------------------------------------------------------------------ */

#define ENOTSUPP 524 /* kernel-internal, but returned by some system calls */

static bool is_user(enum probe_hook hook)
{
	return hook == HOOK_UPROBE_MULTI || hook == HOOK_UPROBE_EVENT;
}

static bool is_general(enum probe_hook hook, int err)
{
	switch (err) {
	case -EACCES: /* tracepoints: its program reads what the event has not */
		return hook != HOOK_TRACEPOINT;
	case -EPERM:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSYS:
	case -EINTR:
	case -EFAULT:
		return true;
	case -ESRCH: /* user code: the process is gone; kernel: the function */
		return is_user(hook);
	default:
		return false;
	}
}

const char *link_refusal(enum probe_hook hook, int err)
{
	if (is_general(hook, err))
		return NULL;
	if (hook == HOOK_UPROBE_EVENT && err == -EEXIST)
		return "a file on another device has the same inode number; probes of one event "
		       "cannot distinguish them";
	if ((hook == HOOK_FENTRY || hook == HOOK_FEXIT) && err == -EBUSY)
		return "the kernel has no room for fentry at this function";
	switch (err) {
	case -EEXIST:
	case -EBUSY:
		return "already probed in a way that allows no second probe";
	case -E2BIG:
	case -ENOSPC:
		return "too many probes on it already";
	case -EIO:
		return "its code cannot be read";
	case -ENOENT:
	case -ESRCH:
		return "the kernel cannot find it";
	case -EINVAL:
	case -ENOTSUPP:
	case -EOPNOTSUPP:
	case -EILSEQ:
		return is_user(hook) ? "the kernel cannot probe this instruction"
				     : "the kernel does not allow a probe there";
	default:
		return strerror(-err);
	}
}

int link_failure(enum probe_hook hook, int err, size_t nr, struct error *error)
{
	(void)error_set(error, err, "cannot attach %zu probe%s: %s", nr, nr == 1 ? "" : "s",
			err == -ESRCH ? "the process has exited" : strerror(-err));
	if (err == -EPERM || err == -EACCES)
		error_hint(error,
			   "run as root, or with CAP_BPF and CAP_PERFMON; tracefs and code of "
			   "other users need CAP_SYS_ADMIN on some kernels; if that fails, a "
			   "security module or lockdown forbids it");
	else if (err == -EMFILE || err == -ENFILE)
		error_hint(error, hook == HOOK_UPROBE_MULTI || hook == HOOK_KPROBE_MULTI
					  ? "raise the limit of open files (ulimit -n)"
					  : "each of these probes needs an open file: raise the "
					    "limit (ulimit -n), or use fewer probes");
	else if (err == -ENOMEM)
		error_hint(error, "use fewer probes");
	return err;
}

/* --- places that the kernel rejects ----------------------------------------------------------- */

/*
 * One place that cannot be probed fails the whole link, and the kernel does not report which.
 * Finding three of 10,000 by bisection took 30 links and 2.6 s, since each link costs grace
 * periods. The guess only has to be good: the kernel decides in each case, for about a handful of
 * places instead of all.
 */

size_t doubtful_places_first(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			     uint32_t *ret_sorted)
{
	size_t nr_doubtful = 0, nr_easy = 0, i;

	for (i = 0; i < nr; i++) {
		if (list->probes[numbers[i]].is_doubtful)
			ret_sorted[nr_doubtful++] = numbers[i];
		else
			ret_sorted[nr - ++nr_easy] = numbers[i];
	}
	/* The others were filled in from the end: restore their order. */
	for (i = 0; i < nr_easy / 2; i++) {
		uint32_t *a = &ret_sorted[nr_doubtful + i], *b = &ret_sorted[nr - 1 - i],
			 number = *a;

		*a = *b;
		*b = number;
	}
	return nr_doubtful;
}

/* --- kernel functions by name ----------------------------------------------------------------- */

static const char *symbol_at(const struct symbol_index *index, size_t i)
{
	return index->list->probes[index->numbers[i]].symbol;
}

static int by_symbol(const void *a, const void *b, void *context)
{
	const struct probe_list *list = context;
	const uint32_t *left = a, *right = b;

	return strcmp(list->probes[*left].symbol, list->probes[*right].symbol);
}

int symbol_index_init(struct symbol_index *index, const struct probe_list *list,
		      const uint32_t *numbers, size_t nr)
{
	index->list = list;
	index->nr = nr;
	index->numbers = malloc((nr + 1) * sizeof(*numbers));
	if (!index->numbers)
		return -ENOMEM;
	memcpy(index->numbers, numbers, nr * sizeof(*numbers));
	qsort_r(index->numbers, nr, sizeof(*numbers), by_symbol, (void *)list);
	return 0;
}

void symbol_index_clear(struct symbol_index *index)
{
	free(index->numbers);
	index->numbers = NULL;
	index->nr = 0;
}

static int compare(const char *symbol, const char *name, size_t name_bytes)
{
	int order = strncmp(symbol, name, name_bytes);

	return order ? order : symbol[name_bytes] != '\0';
}

const uint32_t *symbol_index_find(const struct symbol_index *index, const char *name,
				  size_t name_bytes, size_t *ret_nr)
{
	size_t first =
		array_first(index->nr, i, compare(symbol_at(index, i), name, name_bytes) >= 0);
	size_t end = first;

	while (end < index->nr && !compare(symbol_at(index, end), name, name_bytes))
		end++;
	*ret_nr = end - first;
	return index->numbers + first;
}
