/*
 * Opens files named by untrusted processes, mapped files and files that belong to them, in a way
 * that can't be redirected to other files.
 */
#ifndef STOOK_PROC_FILE_OPEN_H
#define STOOK_PROC_FILE_OPEN_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/file_table.h"

/* A file that was found by its identity. */
struct found_file {
	int handle;	     /* O_PATH, owned by the caller */
	uint64_t generation; /* 0: unknown */
	bool is_elf;	     /* by its first bytes */
	bool is_on_server;   /* of a FUSE server: it was not opened, so the two above are unknown */
	bool is_overlaid; /* of an overlayfs, whose numbers are not those of the mapping: only its place is right */
	uid_t uid; /* its owner */
};

/*
 * Finds the regular file *id. 0, -ENOENT (no longer exists), or -EACCES (must not be opened). Tries the
 * process' own mapping at [start, end), the path below root_fd, the process' root (-1: not there), and the path below
 * ours. If another file is mapped there by now, nothing is asked of that one's server.
 */
int file_find_mapped(const struct file_id *id, const char *path, int32_t pid, int root_fd,
		     uint64_t start, uint64_t end, struct found_file *ret);

/* Likewise, only at the path below root_fd (-1: our own root). */
int file_find_again(const struct file_id *id, int root_fd, const char *path,
		    struct found_file *ret);

/*
 * Finds any regular file at the path below root_fd, as file_open_below(). Reads nothing of it. Without /proc, the
 * handle is a descriptor for reading, since an O_PATH handle could not be opened again.
 */
int file_find_any(int root_fd, const char *path, struct found_file *ret);

/* Opens the regular file behind an O_PATH handle for reading. Returns a descriptor or a negative errno. */
int file_open_handle(int handle);

/* Opens the root directory of a process. Returns an O_PATH handle or -errno. */
int file_open_root(int32_t pid);

/*
 * Finds the regular file at a path below a root (a handle; -1: ours). No symbolic link
 * and no `..` leads out of the root. Returns an O_PATH handle, -ENOENT, -EACCES, or another negative
 * errno; -EINVAL if it is not a regular file. Files of procfs, sysfs, tracefs and the like are
 * never found.
 */
int file_find_below(int root_fd, const char *path);

/* Likewise, but opens the file for reading, and returns the descriptor. */
int file_open_below(int root_fd, const char *path);

/* Users whose files are trusted. */
#define FILE_OWNERS_MAX 12

struct file_owners {
	uid_t uids[FILE_OWNERS_MAX];
	size_t nr;
};

void file_owners_add(struct file_owners *owners, uid_t uid); /* ignores duplicates and -1 */
bool file_owners_include(const struct file_owners *owners, uid_t uid);

/* True if a file is in an overlayfs. */
bool file_is_overlaid(int handle);

/* True if two handles refer to the same file. Does not ask a file server. */
bool file_is_same(int a, int b);

/*
 * Like file_open_below(), but the file must be owned by one of these users. If the path's last
 * component is a symbolic link, the link must be owned by the same user or by root. Otherwise
 * -EACCES.
 */
int file_open_owned(int root_fd, const char *path, const struct file_owners *owners);

/*
 * Like file_open_owned(), for a file that a process has written for others to read. The file must be in that
 * very directory, not mounted or linked there, and have no other hard link. -ENOENT if it was last written
 * before since_ns (CLOCK_REALTIME).
 */
int file_open_written(int root_fd, const char *path, uint64_t since_ns,
		      const struct file_owners *owners);

/*
 * True if only the host's root (or we) can write or replace the file of a handle: it is the file at this
 * path below our own root, the file and all directories above it are owned by root, and the file
 * system may have setuid programs. Only for such a file is the build id reliable: data derived from
 * one can be used for another file with the same id.
 */
bool file_is_of_root(int handle, const char *path);

/*
 * Opens a directory below a root (a handle; -1: ours) for reading its entries; no symbolic link
 * leads out of the root. NULL with errno.
 */
DIR *file_open_directory_below(int root_fd, const char *path);

#endif
