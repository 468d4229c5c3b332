/*
 * Processes that run code made at run time, each known by a small number for the whole run, and
 * what it takes to find that code's names: looked at when their first such frame comes, since
 * later they may be gone.
 */
#ifndef STOOK_PROC_RUNTIME_TABLE_H
#define STOOK_PROC_RUNTIME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/file_open.h"
#include "proc/file_table.h"
#include "proc/mappings.h"

/* More than these are all one process without names. */
#define RUNTIME_TABLE_MAX 4096

/*
 * So many of them hold descriptors, two each. Past that the oldest that have ended give theirs up;
 * if all are alive, later ones get none.
 */
#define RUNTIME_TABLE_HOLDERS 256

/* What makes the code, told by the files that a process has mapped: a row each of one table. */
struct runtime {
	const char *name; /* "Java" */
	bool is_java;
	const char *how_to_name; /* what to switch on, a sentence's end: "start it with -X perf" */
	const char *how_to_walk; /* the same for stacks that break in its code; NULL: nothing */
	/* The same where it writes a jitdump in large pieces, the last one when it ends; or NULL. */
	const char *how_to_name_soon;
};

struct runtime_process {
	int32_t pid, inner_pid; /* inner: in its innermost pid namespace; 0: it was gone */
	uint64_t start_time_ns, exec_id;
	char comm[16];
	uid_t uid; /* effective; -1: it was gone */
	gid_t gid;
	struct file_owners users; /* all that it was when it was first seen */
	/* root alone, as we call it, can have mounted what it sees (proc/root_table). */
	bool has_mounts_of_root;
	int root_fd; /* a bare handle of its root, for looking below it; -1: gone, or none left */
	int pidfd;   /* -1: the same */
	const struct runtime *runtime; /* NULL: none that we know */
	int64_t jitdump;	       /* number in the file table; -1: none mapped so far */
	bool is_superseded; /* what its files say now is of a later program, or process */
};

struct runtime_table;

struct runtime_table *runtime_table_new(void); /* NULL when out of memory */
void runtime_table_free(struct runtime_table *table);

/*
 * The number of a process (of this pid, start time and exec), which is looked at if it is new; or
 * -ENOMEM, or -ENOSPC past RUNTIME_TABLE_MAX. mappings: what it has mapped, by numbers of files.
 * start_time_ns is by the clock of base/clock.h; 0: not known. A later program of the same process,
 * or a later process whose files are called the same, supersedes those before it.
 */
int64_t runtime_table_add(struct runtime_table *table, int32_t pid, uint64_t start_time_ns,
			  uint64_t exec_id, const struct mappings *mappings,
			  const struct file_table *files);

size_t runtime_table_nr(const struct runtime_table *table);
const struct runtime_process *runtime_table_get(const struct runtime_table *table, uint32_t number);

/*
 * Opens the process' perf map for reading: a regular file in the folder that is /tmp for the
 * process, neither a link nor mounted there, no older than the process, of a user that the process
 * is, or was when it was first seen. root's counts too where root alone has made the process'
 * mounts: a daemon that has changed its user has written it before. A descriptor, or -ENOENT, or
 * -EACCES for one that is not to be trusted. Of a process that was gone before it was looked at,
 * the map is taken that lies below our own root, if it is ours or root's.
 */
int runtime_process_open_map(const struct runtime_process *process);

/* Whether a file that it has mapped, its jitdump, is to be trusted by the same rule. */
bool runtime_process_owns(const struct runtime_process *process, int fd);

#endif
