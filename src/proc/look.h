/*
 * Looks at files and processes that belong to somebody else.
 *
 * A look can block for as long as that somebody likes: a FUSE server that does not answer holds up whoever asks for a
 * file's owner, and a process that never leaves mmap() or execve() whoever reads its mappings or start time. So the
 * tables of this folder only list what they want to have looked at (file_table_next_look() and the like), and are given
 * the results (file_table_looked()). In between, the opener looks (worker/worker.h), under a deadline.
 */
#ifndef STOOK_PROC_LOOK_H
#define STOOK_PROC_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/file_open.h"
#include "proc/file_table.h"
#include "proc/mappings.h"
#include "proc/process_info.h"
#include "proc/process_names.h"
#include "proc/root_table.h"

/* --- at a file -------------------------------------------------------------------------------- */

struct file_look {
	uint32_t file;	   /* its number in the file table */
	struct file_id id; /* inode 0: any file at the path */
	const char *path;
	int32_t pid; /* the process that has it mapped at [start, end); 0: open it again */
	uint64_t start, end;
	int root_fd;	/* pid 0: the root that the path is below; -1: ours */
	uid_t root_uid; /* who arranged that */
};

struct file_looked {
	/*
	 * -ENOENT or -EACCES, see file_find_mapped(); -EXDEV: the process sees what another user has arranged; or the
	 * reason why nobody could look.
	 */
	int32_t err;
	struct found_file found; /* unless err < 0 */
	bool is_of_root;	 /* see file_is_of_root() */
	int32_t root_err;	 /* of root_identify() */
	struct root_id root;	 /* of the process, unless root_err < 0 */
	int root_fd;		 /* likewise; else -1 */
};

/* Looks at a file, and its process' root. The caller owns the handles in *ret. */
void look_at_file(const struct file_look *look, struct file_looked *ret);

/* --- at the mappings of a process ------------------------------------------------------------- */

struct maps_looked {
	int32_t err; /* -EACCES: not allowed; an exited process is no error: it has no mappings */
	uint32_t is_cut; /* truncated: see MAPS_MAX_BYTES */
	uint64_t began_ns, ended_ns;
	uid_t arranger;		       /* of its files, see struct file_id */
	char name[PROCESS_NAME_BYTES]; /* of the process */
};

/*
 * Calls add() with each executable mapping. is_memory: of a memfd in which a JIT compiler keeps code. Stops early
 * and returns add()'s result if that is negative; else 0.
 */
int look_at_maps(int32_t pid,
		 int (*add)(void *context, const struct maps_entry *entry, bool is_memory),
		 void *context, struct maps_looked *ret);

/* --- at a process ------------------------------------------------------------------------------ */

struct process_looked {
	int32_t err;
	struct process_status status;
	uint64_t start_boot_ns;
	uid_t root_uid; /* see root_uid_of() */
};

void look_at_process(int32_t pid, struct process_looked *ret);

#endif
