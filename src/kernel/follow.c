/*
 * Sets up bpf/follow.bpf.c, which adds forked children to the filter and removes exited processes.
 */
#include "kernel/follow.h"

#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"

#define MAX_FOLLOWED 65536

void follow_configure(const struct follow_parts *parts, const struct wanted_tasks *tasks)
{
	bool filters = tasks->nr_pids || tasks->nr_tids;
	bool follows = tasks->nr_pids && tasks->follow;

	*parts->pidns_inum = process_own_pidns();
	*parts->filter_pids = tasks->nr_pids > 0;
	*parts->filter_tids = tasks->nr_tids > 0;
	*parts->filter_cgroup = tasks->cgroup_fd >= 0;
	*parts->wanted_cgroup_id = tasks->cgroup_fd >= 0 ? cgroup_id(tasks->cgroup_fd) : 0;
	*parts->leaves_out_own = !tasks->self && !filters;
	*parts->filter_names = tasks->by_name;
	(void)bpf_map__set_max_entries(parts->refused_names, tasks->by_name ? WIRE_NAME_SLOTS : 1);
	(void)bpf_program__set_autoload(parts->follow_fork, follows);
	(void)bpf_program__set_autoload(parts->forget_exited, filters);
	(void)bpf_program__set_autoload(parts->learn_own, *parts->leaves_out_own);
	(void)bpf_program__set_autoload(parts->mark_own_fork, *parts->leaves_out_own);
	/* max_entries must not be 0. */
	(void)bpf_map__set_max_entries(parts->wanted_pids,
				       follows		? (uint32_t)tasks->nr_pids + MAX_FOLLOWED
				       : tasks->nr_pids ? (uint32_t)tasks->nr_pids
							: 1);
	(void)bpf_map__set_max_entries(parts->wanted_tids,
				       tasks->nr_tids ? (uint32_t)tasks->nr_tids : 1);
}

/* Attaches the program if it was loaded. */
static int hook(struct bpf_program *program, struct bpf_link **link)
{
	if (!bpf_program__autoload(program))
		return 0;
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

/*
 * Children from before, whose forks were not seen: helper processes that outlive a session. A shell that executed us may
 * have left us others.
 */
static void mark_children(const struct follow_parts *parts, const struct wanted_tasks *tasks)
{
	cleanup_free int32_t *children = NULL;
	size_t nr = 0, i;

	if (*parts->pidns_inum || process_children(getpid(), &children, &nr) < 0)
		return;
	for (i = 0; i < nr; i++) {
		char name[16];

		process_name_read(children[i], name);
		if ((uint32_t)children[i] != tasks->command_pid && text_starts_with(name, "stook"))
			parts->own_forks[(size_t)children[i] % parts->nr_own_forks] =
				(uint32_t)children[i];
	}
}

/*
 * Only the kernel knows our pid in the initial pid namespace. If running the program that reads it
 * fails (a security module), getpid() is right if that is our namespace; otherwise none of our
 * processes is left out.
 */
static int leave_out_own(const struct follow_parts *parts, const struct wanted_tasks *tasks)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int err;

	if (!*parts->leaves_out_own)
		return 0;
	if (bpf_prog_test_run_opts(bpf_program__fd(parts->learn_own), &run) < 0)
		*parts->own_tgid = *parts->pidns_inum ? UINT32_MAX : (uint32_t)getpid();
	err = hook(parts->mark_own_fork, parts->own_fork_link);
	if (!err) /* after that: a fork in between would be missed */
		mark_children(parts, tasks);
	return err;
}

int follow_attach(const struct follow_parts *parts, const struct wanted_tasks *tasks,
		  struct error *error)
{
	uint32_t zero = 0;

	if (hook(parts->follow_fork, parts->fork_link) < 0)
		return error_set_errno(error, "cannot attach to the fork tracepoint");
	if (hook(parts->forget_exited, parts->exit_link) < 0)
		return error_set_errno(error, "cannot attach to the exit tracepoint");
	if (leave_out_own(parts, tasks) < 0)
		return error_set_errno(
			error, "cannot attach to the fork tracepoint for our own processes");
	if (tasks->cgroup_fd >= 0 && bpf_map_update_elem(bpf_map__fd(parts->wanted_cgroup), &zero,
							 &tasks->cgroup_fd, BPF_ANY) < 0)
		return error_set_errno(error, "cannot set the cgroup filter");
	return 0;
}

static int want(const struct bpf_map *wanted, int32_t number)
{
	uint8_t yes = 1;

	return bpf_map_update_elem(bpf_map__fd(wanted), &number, &yes, BPF_ANY) < 0 ? -errno : 0;
}

int follow_want_all(const struct follow_parts *parts, const struct wanted_tasks *tasks,
		    struct error *error)
{
	int err = 0;
	size_t i;

	for (i = 0; i < tasks->nr_pids && !err; i++)
		err = want(parts->wanted_pids, (int32_t)tasks->pids[i]);
	for (i = 0; i < tasks->nr_tids && !err; i++)
		err = want(parts->wanted_tids, (int32_t)tasks->tids[i]);
	return err ? error_set(error, err, "cannot add pids and tids to the filter: %s",
			       strerror(-err))
		   : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

#define SLOTS_BYTES (WIRE_NAME_SLOTS * sizeof(struct wire_refused_name))

int refused_names_open(struct refused_names *refused, const struct follow_parts *parts,
		       struct error *error)
{
	void *memory;

	*refused = (struct refused_names){0};
	if (!*parts->filter_names)
		return 0;
	memory = mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(parts->refused_names), 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the filter of names");
	refused->slots = memory;
	return 0;
}

void refused_names_close(struct refused_names *refused)
{
	if (refused->slots)
		(void)munmap(refused->slots, SLOTS_BYTES);
	refused->slots = NULL;
}

void refused_names_add(struct refused_names *refused, const char *name)
{
	struct wire_refused_name next = {0};
	struct wire_refused_name *slot;

	if (!refused->slots)
		return;
	(void)memcpy(next.words, name, strnlen(name, sizeof(next.words)));
	next.check = wire_name_check(next.words);
	slot = &refused->slots[wire_name_hash(next.words) % WIRE_NAME_SLOTS];
	if (!memcmp(slot, &next, sizeof(next)))
		return;
	refused->nr_replaced += slot->check != 0;
	*slot = next; /* in any order: a program that reads a mixture finds that its check is wrong */
}
