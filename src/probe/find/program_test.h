/* Internals of program.c, for its test: names and folders of libraries. */
#ifndef STOOK_PROBE_FIND_PROGRAM_TEST_H
#define STOOK_PROBE_FIND_PROGRAM_TEST_H

#include <stdbool.h>
#include <stddef.h>

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
 * root. Returns 0 or -ENOMEM.
 */
int library_folders_read(struct library_folders *folders, int root_fd);
void library_folders_clear(struct library_folders *folders);

#endif
