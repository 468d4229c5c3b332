/*
 * A file that is written whole or not at all: under a temporary name in the same folder, renamed
 * when it is complete. Where the filesystem allows it has no name at all until then, so that
 * nothing is left behind even by a SIGKILL. Opening it early shows early that it can't be written.
 *
 * What is there already and is no regular file (/dev/stdout, a fifo) is written in place.
 */
#ifndef STOOK_BASE_OUT_FILE_H
#define STOOK_BASE_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct out_file {
	FILE *stream;
	char *path;
	char *temporary; /* NULL: written in place */
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
