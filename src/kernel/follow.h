/*
 * The filter by pid, tid and cgroup: sets up bpf/follow.bpf.c in any object that it is linked into.
 * The functions are for the owners of such an object; everybody else uses struct wanted_tasks.
 */
#ifndef STOOK_KERNEL_FOLLOW_H
#define STOOK_KERNEL_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"

struct bpf_link;
struct bpf_map;
struct bpf_program;

/* The tasks to observe. Without pids, tids and cgroup: all. */
struct wanted_tasks {
	const uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	bool follow;	      /* include children of pids */
	int cgroup_fd;	      /* only this subtree; -1: all */
	bool self;	      /* include our own processes; without it only if named in pids */
	uint32_t command_pid; /* a child that is not one of these; 0: none */
	bool by_name;	      /* names may be refused, see struct refused_names */
};

/* References into a skeleton, named as in bpf/follow.bpf.c. Filled by FOLLOW_PARTS(skeleton). */
struct follow_parts {
	uint32_t *pidns_inum;
	bool *filter_pids, *filter_tids, *filter_cgroup, *leaves_out_own, *filter_names;
	uint64_t *wanted_cgroup_id;
	uint32_t *own_tgid, *own_forks;
	size_t nr_own_forks;
	struct bpf_map *wanted_pids, *wanted_tids, *wanted_cgroup, *refused_names;
	struct bpf_program *follow_fork, *forget_exited, *learn_own, *mark_own_fork;
	struct bpf_link **fork_link, **exit_link, **own_fork_link;
};

#define FOLLOW_PARTS(bpf)                                                         \
	((struct follow_parts){                                                   \
		.pidns_inum = (uint32_t *)&(bpf)->rodata->pidns_inum,             \
		.filter_pids = (bool *)&(bpf)->rodata->filter_pids,               \
		.filter_tids = (bool *)&(bpf)->rodata->filter_tids,               \
		.filter_cgroup = (bool *)&(bpf)->rodata->filter_cgroup,           \
		.leaves_out_own = (bool *)&(bpf)->rodata->leaves_out_own,         \
		.wanted_cgroup_id = (uint64_t *)&(bpf)->rodata->wanted_cgroup_id, \
		.filter_names = (bool *)&(bpf)->rodata->filter_names,             \
		.own_tgid = (uint32_t *)&(bpf)->bss->own_tgid,                    \
		.own_forks = (uint32_t *)&(bpf)->bss->own_forks,                  \
		.nr_own_forks = sizeof((bpf)->bss->own_forks) / sizeof(uint32_t), \
		.wanted_pids = (bpf)->maps.wanted_pids,                           \
		.wanted_tids = (bpf)->maps.wanted_tids,                           \
		.wanted_cgroup = (bpf)->maps.wanted_cgroup,                       \
		.refused_names = (bpf)->maps.refused_names,                       \
		.follow_fork = (bpf)->progs.follow_fork,                          \
		.forget_exited = (bpf)->progs.forget_exited,                      \
		.learn_own = (bpf)->progs.learn_own,                              \
		.mark_own_fork = (bpf)->progs.mark_own_fork,                      \
		.fork_link = &(bpf)->links.follow_fork,                           \
		.exit_link = &(bpf)->links.forget_exited,                         \
		.own_fork_link = &(bpf)->links.mark_own_fork,                     \
	})

/* Sets constants and map sizes. Call between open and load. */
void follow_configure(const struct follow_parts *parts, const struct wanted_tasks *tasks);

/*
 * Attaches to fork and exit, sets the cgroup, and passes our own pid to the programs. Call after
 * the load, before follow_want_all(). Returns 0 or a negative errno.
 */
int follow_attach(const struct follow_parts *parts, const struct wanted_tasks *tasks,
		  struct error *error);

/*
 * Adds all pids and tids to the filter maps; these tasks are observed from then on. Returns 0 or a
 * negative errno.
 */
int follow_want_all(const struct follow_parts *parts, const struct wanted_tasks *tasks,
		    struct error *error);

/* Names of threads that the programs leave out from now on. */
struct refused_names {
	/* Mapped from the kernel; NULL: without wanted_tasks.by_name. */
	struct wire_refused_name *slots;
	uint64_t nr_replaced; /* that have lost their slots to others */
};

/* Call after the load. 0 or a negative errno. */
int refused_names_open(struct refused_names *refused, const struct follow_parts *parts,
		       struct error *error);
void refused_names_close(struct refused_names *refused);

/* The name has at most WIRE_COMM_BYTES bytes; what follows these is not looked at. No call into the kernel. */
void refused_names_add(struct refused_names *refused, const char *name);

#endif
