/*
 * Attaches groups of probes. A group's probes are sorted into batches that one attachment can
 * serve; each batch is attached by the function for its hook:
 *
 *	hook			by		all probes of a batch have in common
 *	uprobe_multi		link_multi	the file; calls or returns
 *	kprobe_multi		link_multi	calls or returns; with or without known addresses
 *	tracefs events		link_event	calls or returns
 *	fentry, tracepoints	link_copy	nothing else
 */
#include "probe/attach/probe_links.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probe/attach/link.h"
#include "probe/attach/probe_object.h"

/* --- hits that the kernel counts as missed ---------------------------------------------------- */

/*
 * The kernel skips a program that is hit recursively, and a function that is hit inside the code
 * that handles probes. It reports such hits for fentry links since Linux 5.12, for kprobe_multi
 * links since 6.7. Before 6.7, skipped programs of kprobes are not counted, and the kernel gives no
 * sign of that: their count is added, but a zero means nothing. For user code there is no such
 * count.
 */
struct link_misses {
	uint64_t nr;
	bool is_told; /* false: no count available, nr is meaningless */
};

/* A part of struct bpf_link_info of Linux 6.7: Debian 12's header has no `missed`. */
struct multi_info {
	uint32_t type, id, program_id, padding;
	uint64_t addresses;
	uint32_t nr, flags;
	uint64_t missed;
};

static int of_program(int fd, uint64_t *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 ||
	    bytes < offsetof(struct bpf_prog_info, recursion_misses) +
			    sizeof(info.recursion_misses))
		return -ENOTSUP;
	*ret = info.recursion_misses;
	return 0;
}

/* A kernel that does not report misses leaves the initial value, or refuses the call. */
static int of_multi(int fd, uint64_t *ret)
{
	struct multi_info info = {.missed = UINT64_MAX};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 || info.missed == UINT64_MAX)
		return -ENOTSUP;
	*ret = info.missed;
	return 0;
}

static int of_link(const struct link_fd *link, uint64_t *ret)
{
	if (link->is_program)
		return of_program(link->fd, ret);
	return link->hook == HOOK_KPROBE_MULTI ? of_multi(link->fd, ret) : -ENOTSUP;
}

/* Adds the misses of a group that is still attached. */
static void link_misses_add_group(struct link_misses *misses, const struct link_group *group)
{
	uint64_t nr;
	size_t i;

	for (i = 0; i < group->nr_fds; i++) {
		if (of_link(&group->fds[i], &nr) < 0)
			continue;
		misses->nr += nr;
		misses->is_told = true;
	}
}

/* Adds the misses of programs that serve many probes. */
static void link_misses_add_programs(struct link_misses *misses,
				     const struct probe_programs *programs)
{
	uint64_t nr;
	int hook;

	for (hook = 0; hook < NR_PROBE_HOOKS; hook++) {
		const struct bpf_program *program = programs->by_hook[hook];

		if (!program || of_program(bpf_program__fd(program), &nr) < 0 || !nr)
			continue;
		misses->nr += nr;
		misses->is_told = true;
	}
}

/* --- attaching -------------------------------------------------------------------------------- */

static link_attach *const attach_by_hook[NR_PROBE_HOOKS] = {
	[HOOK_UPROBE_MULTI] = link_multi_attach, [HOOK_KPROBE_MULTI] = link_multi_attach,
	[HOOK_UPROBE_EVENT] = link_event_attach, [HOOK_KPROBE_EVENT] = link_event_attach,
	[HOOK_TRACEPOINT] = link_copy_attach,	 [HOOK_FENTRY] = link_copy_attach,
	[HOOK_FEXIT] = link_copy_attach,
};

struct probe_links {
	struct link_state state;
	pthread_mutex_t lock;	   /* protects the members below; not held while detaching */
	struct link_group *groups; /* detached ones are empty */
	size_t nr_groups, cap_groups;
	struct link_misses ended; /* of detached groups */
};

/* Probes with the same key form a batch, in the order of their numbers. */
struct batch_key {
	uint32_t hook, is_return, file, has_address;
};

struct batch_item {
	struct batch_key key;
	uint32_t number;
};

struct probe_links *probe_links_new(const struct probe_links_options *options, struct error *error)
{
	struct probe_links *links = calloc(1, sizeof(*links));

	if (!links) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	links->state.options = *options;
	links->state.tracefs_fd = -1;
	(void)pthread_mutex_init(&links->lock, NULL);
	return links;
}

static void clear_group(struct probe_links *links, struct link_group *group)
{
	link_group_clear(group, links->state.tracefs_fd, links->state.options.programs->places_fd);
}

void probe_links_free(struct probe_links *links)
{
	size_t i;

	if (!links)
		return;
	for (i = 0; i < links->nr_groups; i++)
		clear_group(links, &links->groups[i]);
	if (links->state.tracefs_fd >= 0)
		(void)close(links->state.tracefs_fd);
	free(links->state.function_types);
	(void)pthread_mutex_destroy(&links->lock);
	free(links->groups);
	free(links);
}

static struct batch_key key_of(const struct probe *probe, enum probe_hook hook)
{
	struct batch_key key = {.hook = hook, .is_return = probe->is_return};

	if (hook == HOOK_UPROBE_MULTI)
		key.file = probe->file;
	if (hook == HOOK_KPROBE_MULTI)
		key.has_address = probe->address != 0;
	return key;
}

/*
 * Higher hooks first: before attaching they read the kernel's BTF, a thousand blocks, which would
 * be counted if reading were already probed by another hook.
 */
static int by_batch(const void *a, const void *b)
{
	const struct batch_item *left = a, *right = b;

	return COMPARE(right->key.hook, left->key.hook)
		       ?: memcmp(&left->key, &right->key, sizeof(left->key))
		       ?: COMPARE(left->number, right->number);
}

/*
 * Refuses the probes that this kernel cannot attach, and sorts the others. Returns the number of
 * the latter.
 */
static size_t sort_into_batches(const struct probe_links *links, const uint32_t *numbers, size_t nr,
				struct batch_item *ret)
{
	const struct probe *probe;
	const char *why;
	size_t nr_hooked = 0, i;
	int hook;

	for (i = 0; i < nr; i++) {
		probe = link_probe(&links->state, numbers[i]);
		hook = probe_hook_choose(probe, links->state.options.features, &why);
		if (hook < 0)
			link_refuse(&links->state, numbers[i], why);
		else
			ret[nr_hooked++] = (struct batch_item){key_of(probe, (enum probe_hook)hook),
							       numbers[i]};
	}
	qsort(ret, nr_hooked, sizeof(*ret), by_batch);
	return nr_hooked;
}

static int attach_batches(struct probe_links *links, const struct batch_item *items, size_t nr,
			  uint32_t *scratch, struct link_group *group, struct error *error)
{
	size_t start, end;
	int err = 0;

	for (start = 0; start < nr && !err; start = end) {
		for (end = start; end < nr && !memcmp(&items[end].key, &items[start].key,
						      sizeof(items[end].key));
		     end++)
			scratch[end - start] = items[end].number;
		err = attach_by_hook[items[start].key.hook](&links->state,
							    (enum probe_hook)items[start].key.hook,
							    scratch, end - start, group, error);
	}
	return err;
}

static int64_t keep(struct probe_links *links, const struct link_group *group)
{
	int64_t number;

	(void)pthread_mutex_lock(&links->lock);
	number = ARRAY_ADD(links->groups, links->nr_groups, links->cap_groups, *group);
	if (!number)
		number = (int64_t)links->nr_groups - 1;
	(void)pthread_mutex_unlock(&links->lock);
	return number;
}

int64_t probe_links_attach(struct probe_links *links, const uint32_t *numbers, size_t nr,
			   struct error *error)
{
	cleanup_free struct batch_item *items = calloc(nr + 1, sizeof(*items));
	cleanup_free uint32_t *scratch = calloc(nr + 1, sizeof(*scratch));
	struct link_group group = {0};
	int64_t kept;

	if (!items || !scratch)
		return error_no_memory(error, "");
	nr = sort_into_batches(links, numbers, nr, items);
	kept = attach_batches(links, items, nr, scratch, &group, error);
	if (kept == 0) {
		kept = keep(links, &group);
		if (kept < 0)
			(void)error_no_memory(error, "");
	}
	if (kept < 0)
		clear_group(links, &group);
	return kept;
}

void probe_links_detach(struct probe_links *links, uint32_t number)
{
	struct link_group group;

	(void)pthread_mutex_lock(&links->lock);
	group = links->groups[number];
	links->groups[number] = (struct link_group){0};
	link_misses_add_group(&links->ended, &group);
	(void)pthread_mutex_unlock(&links->lock);
	clear_group(links, &group);
}

uint64_t probe_links_missed(struct probe_links *links)
{
	struct link_misses misses;
	size_t i;

	(void)pthread_mutex_lock(&links->lock);
	misses = links->ended;
	for (i = 0; i < links->nr_groups; i++)
		link_misses_add_group(&misses, &links->groups[i]);
	(void)pthread_mutex_unlock(&links->lock);
	link_misses_add_programs(&misses, links->state.options.programs);
	return misses.is_told ? misses.nr : UINT64_MAX;
}
