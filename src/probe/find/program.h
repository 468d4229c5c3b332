/*
 * Which files a program's name in a pattern means:
 *
 *	./prog, /usr/bin/prog	a path
 *	1234			what the process of that number executes
 *	redis-server		a program on PATH
 *	ssl, libssl, libssl.so.3
 *				a library
 *
 * With processes given, it is what they have mapped under that name; they may have different files
 * under one name, in containers, so there can be several.
 *
 * memcached and curl are programs as well as short names of libraries. Then both are found, the
 * program first, and the library is second: meant if nothing in the program fits. (bcc takes the
 * library in any case.)
 */
#ifndef STOOK_PROBE_FIND_PROGRAM_H
#define STOOK_PROBE_FIND_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct program_file {
	int fd;		/* for reading; a sound ELF file for this machine */
	int root_fd;	/* a handle of the root that the path is below; -1: ours */
	uid_t root_uid; /* who is root there, as root_uid_of() has it (proc/root_table) */
	bool is_second; /* a library, beside a program of that name */
	char *path;
};

struct program {
	struct program_file *files; /* each once; second ones behind the others */
	size_t nr, capacity;
};

/*
 * Into an empty one, at least one file. 0; -ENOENT with where it looked; -ESRCH: no such process;
 * -ENOEXEC: a script, or code of another machine; or another negative errno.
 */
int program_find(const char *name, const uint32_t *pids, size_t nr_pids, struct program *ret,
		 struct error *error);
void program_clear(struct program *program);

/*
 * Into an empty one: the files that executing this command maps at its start, as far as headers tell:
 * the program (of a script: its interpreter), its loader, and the libraries that these need, from the
 * folders of the host; not by search paths of their own. 0, none if there is no such command, or a
 * negative errno.
 */
int program_find_started(const char *command, struct program *ret);
void program_file_clear(struct program_file *file);

#endif
