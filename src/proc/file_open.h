/*
 * Opening files that others name, a mapped one or one that belongs to it, without being led astray
 * by them.
 */
#ifndef STOOK_PROC_FILE_OPEN_H
#define STOOK_PROC_FILE_OPEN_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/file_table.h"

/*
 * A descriptor for reading, of the regular file that is *id; or -ENOENT (gone), or -EACCES (not to
 * be opened). Tries the process' own mapping at [start, end), the path below the process' root,
 * and the path below ours.
 */
int file_open_mapped(const struct file_id *id, const char *path, int32_t pid, uint64_t start,
		     uint64_t end);

/* The same for a file that was opened before, below the root that it was seen in (-1: ours). */
int file_open_again(const struct file_id *id, int root_fd, const char *path);

/* A handle (O_PATH) of what a process has for its root; -errno. */
int file_open_root(int32_t pid);

/*
 * A descriptor for reading, of the regular file at a path below a root (a handle; -1: ours), which
 * no symbolic link and no `..` leads out of. -ENOENT, -EACCES, or another negative errno; -EINVAL
 * for what is no regular file.
 */
int file_open_below(int root_fd, const char *path);

/*
 * The same for a file that a process has written for others to read: it must belong to this user or
 * to root, have no other name, and not be a symbolic link. -EACCES for what is not to be trusted.
 */
int file_open_owned(int root_fd, const char *path, uid_t owner);

/* The generation of the inode behind a descriptor; 0 where the filesystem keeps none. */
uint64_t file_generation(int fd);

#endif
