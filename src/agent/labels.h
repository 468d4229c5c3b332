/*
 * Labels of an epoch's samples besides thread names, pids and cgroups, without asking an orchestrator:
 *
 *	process, executable	name of the process, path of its program as it sees it
 *	container, pod		ids, from the path of the cgroup
 *	unit, slice		of systemd, likewise
 */
#ifndef STOOK_AGENT_LABELS_H
#define STOOK_AGENT_LABELS_H

#include "profile/profile.h"

/*
 * Adds these labels to samples that have pids or cgroups. Processes that are over have only the last four. Reads /proc,
 * without blocking. 0 or -ENOMEM.
 */
int labels_add(struct profile *profile);

/*
 * If the stacks have the state of a thread as their outermost frame ("[sleeping]"), takes the frames away and counts
 * their time as a value of that name ("sleeping"; "cpu" for "[running]"). 0 or a negative errno.
 */
int labels_split_states(struct profile *profile);

#define CGROUP_NAME_BYTES 128

/* Names in the path of a cgroup; empty texts: none. */
struct cgroup_names {
	char container[CGROUP_NAME_BYTES], pod[CGROUP_NAME_BYTES];
	char unit[CGROUP_NAME_BYTES], slice[CGROUP_NAME_BYTES];
};

/* Names that are longer than fits are left out. */
void cgroup_names_parse(const char *path, struct cgroup_names *ret);

#endif
