/*
 * Searches for the files of program.h, in the opener (worker/worker.h): everything here may block, in file systems
 * whose server does not answer.
 *
 * The question is a struct program_question, its pids, and texts, each with its NUL: the PATH ("": none), then names.
 * The answer has a part for each file, with its handle and, unless that is our own, the handle of its root; or one
 * part with an error.
 */
#ifndef STOOK_PROBE_FIND_PROGRAM_TASK_H
#define STOOK_PROBE_FIND_PROGRAM_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/worker.h"

/* Limit of files that one name stands for: each selected process may be in a container of its own. */
#define PROGRAM_FILES_MAX 512

enum program_search {
	SEARCH_NAMED,	/* the files that the name in a pattern refers to */
	SEARCH_STARTED, /* the program that execvp() executes; for a script, its interpreter */
	SEARCH_NEEDED,	/* the loaders and libraries with exactly these names */
};

struct program_question {
	uint32_t search;  /* enum program_search */
	uint32_t nr_pids; /* uint32_t each */
};

enum program_part_kind {
	PROGRAM_FILE = 1,
	PROGRAM_FAILURE,
};

/* A file; the path follows. */
struct program_part {
	uint32_t kind;
	uint32_t uid;	   /* its owner */
	uint32_t root_uid; /* see struct program_file */
	uint32_t has_root;
	uint32_t is_second;
	uint32_t is_of_root;
	uint64_t device, inode, bytes;
};

struct program_failure {
	uint32_t kind;
	struct error error;
};

/* The task, which runs in openers. */
int program_task(struct worker_job *job, void **state);

/* --- internals, for tests: names and folders of libraries ------------------------------------- */

/* How well a mapped file matches a name; lower is better. */
enum library_fit {
	FIT_SAME,    /* redis-server, libc.so.6 */
	FIT_LIBRARY, /* libc.so.6 for "c", "libc" and "libc.so"; or ld-musl-x86_64.so.1 */
	FIT_RELEASE, /* libc-2.31.so, the former name of the C library */
	NR_LIBRARY_FITS,
};

/* Returns NR_LIBRARY_FITS for no match. The path of a deleted file ends in " (deleted)". */
enum library_fit library_fit_of(const char *path, const char *name);

/*
 * True if a file in a library folder matches a name: libssl.so.3 and libssl.so for `ssl`, `libssl`
 * and `libssl.so`; libssl.so.3 for itself.
 */
bool library_is_wanted(const char *file, const char *name);

struct library_folders {
	char **paths; /* in the linker's order, without duplicates */
	size_t nr, capacity;
};

/*
 * Fills an empty struct from /etc/ld.so.conf, then adds the default folders. root_fd -1: our own
 * root. job: see worker_begins(); may be NULL. Returns 0 or -ENOMEM.
 */
int library_folders_read(struct library_folders *folders, int root_fd, struct worker_job *job);
void library_folders_clear(struct library_folders *folders);

#endif
