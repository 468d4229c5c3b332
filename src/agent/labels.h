/*
 * Labels of an epoch's samples besides thread names, pids and cgroups, without asking an orchestrator:
 *
 *	process, executable	name of the process, path of its program as it sees it
 *	build_id		of the program, if it has samples itself
 *	container, pod		ids, from the path of the cgroup
 *	unit, slice		of systemd, likewise
 *	service.name, …		attributes that the process has published (run/process_labels)
 */
#ifndef STOOK_AGENT_LABELS_H
#define STOOK_AGENT_LABELS_H

#include "agent/relabel.h"
#include "proc/process_names.h"
#include "profile/profile.h"
#include "run/process_labels.h"

struct label_sources {
	const struct process_names *names; /* of the samples' processes, when these were taken */
	const struct relabel_rules *rules;
	const struct process_labels *own; /* of processes; NULL: none */
	/* Code may have no build id yet, and processes may not have been asked: what a rule could leave out then is. */
	bool is_early;
};

/*
 * Adds these labels to samples that have pids or cgroups. A process of which nothing is known has the name of its
 * thread. Only cgroups of version 1 are read from /proc, without blocking. Then applies the rules.
 * *ret_left_out: the sum of the first value of samples that were left out by rules. 0 or -ENOMEM.
 */
int labels_add(struct profile *profile, const struct label_sources *sources,
	       uint64_t *ret_left_out);

/*
 * Where stacks have the state of a thread as their outermost frame ("[sleeping]"), takes the frames away and counts
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
