/*
 * Finds the files that a program's name in a pattern refers to:
 *
 *	./prog, /usr/bin/prog	a path
 *	1234			the executable of the process with this pid
 *	redis-server		a program on PATH
 *	ssl, libssl, libssl.so.3
 *				a library
 *
 * With pids given, the files that these processes have mapped under that name. There can be
 * several, since processes may have different files under one name, in containers.
 *
 * memcached and curl are names of programs and short names of libraries. Then both are found: the
 * program first, and the library as second, used if nothing in the program matches. (bcc always
 * uses the library.)
 */
#ifndef STOOK_PROBE_FIND_PROGRAM_H
#define STOOK_PROBE_FIND_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "worker/worker.h"

struct program_file {
	int handle;	/* O_PATH; a file that begins like an ELF file for this machine */
	int root_fd;	/* a handle of the root that the path is below; -1: our own */
	uid_t root_uid; /* uid of root there, see root_uid_of() (proc/root_table) */
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	uid_t uid;	 /* its owner */
	bool is_of_root; /* see file_is_of_root() (proc/file_open) */
	bool is_second;	 /* a library with the same name as a program */
	char *path;
};

/* Whom a failure of helper processes on the file counts against. */
struct worker_file program_worker_file(const struct program_file *file);

struct program {
	struct program_file *files; /* no duplicates; second ones last */
	size_t nr, capacity;
};

/*
 * Fills an empty program with at least one file, which the worker's opener searches for. Returns 0; -ENOENT, with
 * where it searched; -ESRCH: no such process; -ENOEXEC: a script, or built for another architecture; -ETIME: a file
 * system or process did not answer; or another negative errno.
 */
int program_find(struct worker *worker, const char *name, const uint32_t *pids, size_t nr_pids,
		 struct program *ret, struct error *error);
void program_clear(struct program *program);

/*
 * Fills an empty program with the files that executing this command maps at its start, according to
 * ELF headers, which a parser reads: the program (for a script: its interpreter), its loader, and the libraries that
 * these need, from the host's library folders; search paths in the files themselves are ignored.
 * Returns 0, without any file if there is no such command, or a negative errno.
 */
int program_find_started(struct worker *worker, const char *command, struct program *ret);
void program_file_clear(struct program_file *file);

/* --- internals, for tests --------------------------------------------------------------------- */

struct program_answer {
	struct program *program;
	struct error error; /* code 0: none */
};

/*
 * Takes a part of an answer (program_task.h), which may be malformed: see struct opener_question. context: a
 * struct program_answer.
 */
int program_answer_take(void *context, const void *bytes, size_t nr,
			int handles[WORKER_HANDLES_MAX]);

#endif
