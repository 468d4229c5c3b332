/*
 * An output file that appears completely or not at all: it is written under a temporary name in the
 * same directory and renamed when it is complete. If the file system supports it, it has no name at
 * all until then, so that not even a SIGKILL leaves anything behind. Opening it early reports early
 * that it can't be written.
 *
 * As with a shell's `>`, an existing file keeps its owner and mode, and a symlink stays and its
 * target is written. Everything but regular files (fifos, devices) is written in place, and so are
 * /dev/stdout, whatever it refers to, and the targets of links below /proc. Opening a fifo waits
 * for its reader.
 *
 * In sticky directories that others may write to (/tmp), files of other users are not trusted: a
 * symlink on the way, or a file or fifo at its end, is rejected with EACCES if it is owned neither
 * by us nor by the directory's owner. These are the kernel's rules for fs.protected_symlinks,
 * protected_fifos and protected_regular at their strictest setting, and they are applied to links
 * in the middle of a path, too. Existing regular files are never written to, so neither are files
 * through a hard link. Directories that are not sticky are considered owned by everyone who may
 * write to them, and nothing is checked there.
 */
#ifndef STOOK_BASE_FILE_OUT_FILE_H
#define STOOK_BASE_FILE_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"

struct out_file {
	FILE *stream;
	char *path;	 /* as given by the caller */
	char *name;	 /* its final name in `folder`; NULL: written in place */
	char *temporary; /* name until then; NULL: the file has no name yet */
	int folder;	 /* the directory after following symlinks; open if name is set */
};

/* The rule above, for a file, link or fifo with this status in a directory with that one. */
bool out_file_is_trusted(const struct stat *folder, const struct stat *status);

/* Opens the file for writing. 0 or a negative errno. */
int out_file_open(struct out_file *file, const char *path, struct error *error);

/*
 * In a forked child: leaves naming the file to the parent. out_file_commit() only flushes and closes it here; the
 * descriptor of its directory must have been closed.
 */
void out_file_leave_name(struct out_file *file);

/* Flushes, closes, and gives the file its final name. On failure nothing is left behind. */
int out_file_commit(struct out_file *file, struct error *error);

/*
 * Removes what was written. May also be called for a file that was never opened ({0}) or is
 * committed.
 */
void out_file_abort(struct out_file *file);

#endif
