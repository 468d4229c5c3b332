/*
 * A file that is written whole or not at all: under a temporary name in the same folder, renamed
 * when it is complete. Where the filesystem allows it has no name at all until then, so that
 * nothing is left behind even by a SIGKILL. Opening it early shows early that it can't be written.
 *
 * As with a shell's `>`, what is there already keeps its owner and mode, a symlink stays and what it
 * leads to is written. What is no regular file (a fifo, a device) is written in place, and so are
 * /dev/stdout, whatever it is, and what links below /proc lead to. A fifo waits for its reader.
 *
 * In sticky folders that others may write to (/tmp), what others put there is not trusted: a symlink
 * on the way, or a file or fifo at its end, that belongs neither to us nor to the folder's owner is
 * refused with EACCES. These are the kernel's rules with fs.protected_symlinks, protected_fifos and
 * protected_regular at their strictest, and they hold for links in the middle of a path too. Content never goes
 * into a regular file that was there, so neither does it through a hard link. Folders that are not
 * sticky belong to whoever may write to them, and nothing is checked there.
 */
#ifndef STOOK_BASE_OUT_FILE_H
#define STOOK_BASE_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct out_file {
	FILE *stream;
	char *path;	 /* as it was given */
	char *name;	 /* what it will be called in `folder`; NULL: it is written in place */
	char *temporary; /* beside it until then; NULL: the file has no name yet */
	int folder;	 /* where symlinks led to; open while there is a name */
};

/* 0 or a negative errno. */
int out_file_open(struct out_file *file, const char *path, struct error *error);

/* Flushes, closes, and puts the file in its place. After a failure nothing is left behind. */
int out_file_commit(struct out_file *file, struct error *error);

/* Gives up: removes what was written. Also for a file that was never opened ({0}) or is committed.
 */
void out_file_abort(struct out_file *file);

#endif
