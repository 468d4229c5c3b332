/*
 * Processes with JIT-compiled code, each identified by a number, and what
 * is needed to find that code's symbols. They are inspected when their first such frame arrives,
 * since they may exit soon after; by the opener, since that may block (proc/look.h).
 *
 * A process is forgotten when it is over and nobody needs it, see runtime_table_sweep(). Its number is not given to
 * another one.
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

/* Limit of processes at a time; further ones get no number, and their JIT-compiled code no names. */
#define RUNTIME_TABLE_MAX 4096

/*
 * Limit of processes that hold descriptors, two each. Beyond it the oldest exited ones are closed;
 * if all are running, later ones get none.
 */
#define RUNTIME_TABLE_HOLDERS 256

/*
 * A runtime that compiles code, recognised by the files that a process has mapped; each is a row of
 * one table.
 */
struct runtime {
	const char *name; /* "Java" */
	bool is_java;
	const char *how_to_name; /* a sentence's end: "start it with -X perf" */
	const char *how_to_walk; /* hint for stacks that are truncated in its code; or NULL */
	/* Hint if recent names are not in the jitdump yet, which is written in pieces; or NULL. */
	const char *how_to_name_soon;
};

struct runtime_process {
	int32_t pid, inner_pid; /* inner: in its innermost pid namespace; 0: unknown */
	uint64_t start_time_ns, exec_id;
	char comm[16];
	uid_t uid; /* effective; -1: unknown */
	gid_t gid;
	struct file_owners users; /* its uids when it was first seen */
	/* Only root (in our user namespace) can have made its mounts (proc/root_table). */
	bool has_mounts_of_root;
	int root_fd;		       /* O_PATH handle of its root; -1: exited, or limit reached */
	int pidfd;		       /* -1: exited, or limit reached */
	const struct runtime *runtime; /* NULL: unknown */
	int64_t jitdump;	       /* number in the file table; -1: none mapped so far */
	bool is_superseded;	       /* its files now describe a later program or process */
};

struct runtime_table;

struct runtime_table *runtime_table_new(void); /* NULL when out of memory */
void runtime_table_free(struct runtime_table *table);

/* As file_table_next_number() and file_table_begin_at(). */
uint32_t runtime_table_next_number(const struct runtime_table *table);
void runtime_table_begin_at(struct runtime_table *table, uint32_t number);

/*
 * Returns the number of a process (pid, start time and exec), which is inspected if it is new; or
 * -ENOMEM, or -ENOSPC beyond RUNTIME_TABLE_MAX. mappings: its mappings, with numbers of `files`.
 * start_time_ns is CLOCK_MONOTONIC, as in base/clock.h; 0: unknown. A later program of the same
 * process, or a later process whose files have the same names, supersedes the earlier ones.
 */
int64_t runtime_table_add(struct runtime_table *table, int32_t pid, uint64_t start_time_ns,
			  uint64_t exec_id, const struct mappings *mappings,
			  const struct file_table *files);

struct process_looked;

/* Takes the next process that is to be looked at; false: there is none. */
bool runtime_table_next_look(struct runtime_table *table, uint32_t *ret_number, int32_t *ret_pid);

/* Tells the table what was seen. */
void runtime_table_looked(struct runtime_table *table, uint32_t number,
			  const struct process_looked *looked);

/*
 * Lifetimes: mark the processes whose code is in a profile, then sweep. Processes that have ended, or executed another
 * program, are forgotten if they are not marked. runtime_table_mark_files() marks the files that processes need.
 */
void runtime_table_mark_used(struct runtime_table *table, uint32_t number);
void runtime_table_mark_files(const struct runtime_table *table, struct file_table *files);
void runtime_table_sweep(struct runtime_table *table);

/* Closes the descriptors of processes that have ended: the root of a container's process keeps its mounts. */
void runtime_table_close_gone(struct runtime_table *table);

/* As file_table_copy() and file_table_move(), which also mark the process. */
int runtime_table_copy(struct runtime_table *table, const struct runtime_table *from,
		       uint32_t number);
int runtime_table_move(struct runtime_table *table, struct runtime_table *from);

size_t runtime_table_nr(const struct runtime_table *table);
uint64_t runtime_table_nr_refused(const struct runtime_table *table); /* frames of further ones */
uint64_t runtime_table_nr_unheld(
	const struct runtime_table *table); /* processes without descriptors, for want of room */
/* NULL if there is no process with this number any more; valid until the next sweep. */
const struct runtime_process *runtime_table_get(const struct runtime_table *table, uint32_t number);

/*
 * Returns how reading a process' perf map ended when its code was named: 0: it was read; -EACCES: it is not to be
 * trusted; -ENOENT: there is none, or it was not asked for. A map that was read once stays known.
 */
int runtime_table_perf_map(const struct runtime_table *table, uint32_t number);
void runtime_table_set_perf_map(struct runtime_table *table, uint32_t number, int err);

/* Where a process' perf map is, to be opened by file_open_written(). */
struct perf_map_file {
	int root_fd; /* -1: our own root */
	char path[64];
	struct file_owners owners;
	uint64_t written_since_ns;
};

/*
 * Describes the process' perf map: a file in the process' /tmp, not older than the process, and owned by a user
 * that the process is, or was when it was first seen. Root's files are accepted, too, if only root can have made
 * the process' mounts: a daemon that has changed its user has written the map before. If the process exited before
 * it was inspected, the map is looked for below our own root, if it is ours or root's. 0 or -ENOENT.
 */
int runtime_process_map(const struct runtime_process *process, struct perf_map_file *ret);

/*
 * Returns the handle of the process' jitdump, which the file table owns; -ENOENT: none; -EACCES: it belongs to
 * another user, since any user may map a file that is readable.
 */
int runtime_process_jitdump(const struct runtime_process *process, const struct file_table *files);

#endif
