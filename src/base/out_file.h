/*
 * A file that is written whole or not at all: under a temporary name in the same folder, renamed
 * when it is complete. Where the filesystem allows it has no name at all until then, so that
 * nothing is left behind even by a SIGKILL. Opening it early shows early that it can't be written.
 *
 * As with a shell's `>`, what is there already keeps its owner and mode, a symlink stays and what it
 * leads to is written, and the kernel decides whether that may be (fs.protected_symlinks,
 * fs.protected_regular). What is no regular file (a fifo, a device) is written in place; so is
 * /dev/stdout, whatever it is.
 */
#ifndef STOOK_BASE_OUT_FILE_H
#define STOOK_BASE_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct out_file {
	FILE *stream;
	char *path;	 /* as it was given */
	char *target;	 /* where symlinks led to; NULL: it is written in place */
	char *temporary; /* beside it; NULL likewise */
	bool nameless;	 /* the file has no name yet, not even the temporary one */
};

/* 0 or a negative errno. */
int out_file_open(struct out_file *file, const char *path, struct error *error);

/* Flushes, closes, and puts the file in its place. After a failure nothing is left behind. */
int out_file_commit(struct out_file *file, struct error *error);

/* Gives up: removes what was written. Also for a file that was never opened ({0}) or is committed.
 */
void out_file_abort(struct out_file *file);

#endif
