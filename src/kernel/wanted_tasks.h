/* Whose samples or hits are wanted. */
#ifndef STOOK_KERNEL_WANTED_TASKS_H
#define STOOK_KERNEL_WANTED_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Neither pids nor tids nor a cgroup: everybody's. */
struct wanted_tasks {
	const uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	bool follow;   /* children of pids too */
	int cgroup_fd; /* only this subtree; -1: all */
};

#endif
