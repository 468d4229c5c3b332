/*
 * Names of processes while they existed, from the kernel's events: their own, their program's, and their ancestors.
 * For labels of samples of processes that are over when the labels are made.
 */
#ifndef STOOK_PROC_PROCESS_NAMES_H
#define STOOK_PROC_PROCESS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define PROCESS_NAME_BYTES 16
#define PROCESS_ANCESTORS  4

/*
 * The program that a process runs, as records identify it: an exec changes neither the pid nor the start time. A start
 * of 0: not known.
 */
struct program_id {
	uint64_t start_time_ns, exec_id;
};

struct process_name {
	int32_t pid;
	struct program_id program;
	int32_t ancestors[PROCESS_ANCESTORS]; /* the parent first; 0: not known */
	char name[PROCESS_NAME_BYTES];	      /* ""; not known */
	char *path; /* of the program, in the process' view; NULL: not known */
};

/* One entry for each process; zero-initialised is empty. */
struct process_names {
	struct process_name *items;
	size_t nr, capacity;
	struct u64_map by_pid; /* → index */
};

void process_names_clear(struct process_names *names);

/* Adds a process, or replaces its entry: it runs another program now. path is copied. 0 or -ENOMEM. */
int process_names_add(struct process_names *names, const struct process_name *name,
		      const char *path);

/* Returns NULL if it is not known. Valid until the next change. */
const struct process_name *process_names_find(const struct process_names *names, int32_t pid);

/* Adds all entries of `from`, which are newer. 0 or -ENOMEM. */
int process_names_join(struct process_names *names, const struct process_names *from);

#endif
