/*
 * Opening files that others name, a mapped one or one that belongs to it, without being led astray
 * by them.
 */
#ifndef STOOK_PROC_FILE_OPEN_H
#define STOOK_PROC_FILE_OPEN_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
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
 * for what is no regular file. No file of procfs, sysfs, tracefs or their like is ever opened.
 */
int file_open_below(int root_fd, const char *path);

/* Users whose files are believed. */
#define FILE_OWNERS_MAX 12

struct file_owners {
	uid_t uids[FILE_OWNERS_MAX];
	size_t nr;
};

void file_owners_add(struct file_owners *owners, uid_t uid); /* not twice; -1 is nobody */

/* Whether what a descriptor or handle is of is a regular file of theirs, and no FUSE server's. */
bool file_is_owned(int fd, const struct file_owners *owners);

/*
 * As file_open_below(), but one that belongs to one of these users, and, where the path's last
 * component is a symbolic link, whose link is the same user's or root's. -EACCES for another one.
 */
int file_open_owned(int root_fd, const char *path, const struct file_owners *owners);

/*
 * The same for a file that a process has written for others to read, in a folder below a root: it
 * is in that very folder, not mounted or linked there, and has no other name.
 */
int file_open_written(int root_fd, const char *folder, const char *name,
		      const struct file_owners *owners);

/*
 * Whether an open file is one that root of the host alone (or we) can write or put in its place:
 * the very file that lies at this path below our own root, it and all folders above it root's, on
 * a file system that root lets have setuid programs. Only of such a file is a build id more than
 * a claim: what was made of one serves for another with the same.
 */
bool file_is_of_root(int fd, const char *path);

/* The generation of the inode behind a descriptor; 0 where the filesystem keeps none. */
uint64_t file_generation(int fd);

/*
 * A folder below a root (a handle; -1: ours), which no symbolic link leads out of, for reading its
 * entries. NULL with errno.
 */
DIR *program_folder_open(int root_fd, const char *path);

#endif
