/*
 * Walks the path from the root directory, one part after the other, without following links; each part is checked
 * before the next one is opened in it, so that nobody can move a directory meanwhile.
 *
 * A folder for another owner appears with its owner, since an existing one of ours is never given away: it is created
 * with another name, and renamed.
 */
#include "base/file/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WRITABLE_BY_OTHERS (S_IWGRP | S_IWOTH)
#define PASSABLE	   (S_IXGRP | S_IXOTH)

static int refuse(const struct own_folder *folder, const char *part, const char *why,
		  struct error *error)
{
	int err = error_set(error, -EPERM, "cannot %s in '%s': '%s' %s", folder->what_for,
			    folder->path, part, why);

	error_hint(error,
		   "choose a directory that, like all its parents, only you and root can write to");
	return err;
}

static bool is_for_another(const struct own_folder *folder)
{
	return folder->owner != geteuid();
}

/*
 * The directory itself must be the owner's and not writable by others; in its parents (`part` of the path)
 * nobody else may be able to replace the next component.
 */
static int check_part(const struct own_folder *folder, int fd, const char *part, bool is_above,
		      struct error *error)
{
	const uid_t owner = is_above ? geteuid() : folder->owner;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return is_above ? error_set_errno(error, "cannot read '%s' of '%s'", part,
						  folder->path)
				: error_set_errno(error, "cannot read '%s'", folder->path);
	if (status.st_uid != owner && !is_above && is_for_another(folder))
		return error_set(error, -EPERM, "cannot %s in '%s': it is not owned by user %u",
				 folder->what_for, folder->path, folder->owner);
	if (status.st_uid != owner && !(is_above && status.st_uid == 0))
		return refuse(folder, part, "is owned by another user", error);
	if (status.st_mode & WRITABLE_BY_OTHERS && !(is_above && status.st_mode & S_ISVTX))
		return refuse(folder, part, "is writable by other users", error);
	if (is_above && is_for_another(folder) && !(status.st_mode & S_IXOTH))
		return refuse(folder, part, "is not passable for other users", error);
	return 0;
}

static size_t count_parts(const char *path)
{
	size_t nr = 0;

	for (; *path; path++)
		nr += path[0] == '/' && path[1] != '/' && path[1];
	return nr;
}

/* 0 or -1 with errno, which is EEXIST if another process was faster. */
static int make_for_another(int parent, const char *name, uid_t owner)
{
	char new[NAME_MAX + 1];
	int err;

	if (snprintf(new, sizeof(new), ".%s.%d", name, getpid()) >= (int)sizeof(new)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* Left by a process that was killed, and had our pid, as in a container. It is empty. */
	(void)unlinkat(parent, new, AT_REMOVEDIR);
	if (mkdirat(parent, new, 0700) < 0)
		return -1;
	if (fchownat(parent, new, owner, owner, AT_SYMLINK_NOFOLLOW) == 0 &&
	    renameat2(parent, new, parent, name, RENAME_NOREPLACE) == 0)
		return 0;
	err = errno;
	(void)unlinkat(parent, new, AT_REMOVEDIR);
	errno = err;
	return -1;
}

/* nr_left: parts of the path from this one on. */
static int make_part(const struct own_folder *folder, int parent, const char *name, size_t nr_left)
{
	int err = nr_left == 1 && is_for_another(folder)
			  ? make_for_another(parent, name, folder->owner)
			  : mkdirat(parent, name, 0700);

	return err < 0 && errno != EEXIST ? -1 : 0;
}

/* Lets another owner pass a parent that is ours. The parent's own parent is not writable for others. */
static void make_passable(const struct own_folder *folder, int parent, const char *name, int fd)
{
	struct stat status;

	if (is_for_another(folder) && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	    !(status.st_mode & S_IXOTH))
		(void)!fchmodat(parent, name, (status.st_mode & 07777) | PASSABLE, 0);
}

/* Opens a directory below another one, creating it if it doesn't exist and may be made; or -1 with errno. */
static int open_part(const struct own_folder *folder, int parent, const char *name, size_t nr_left)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	const bool may_make = nr_left <= folder->nr_made;
	int fd = openat(parent, name, flags);

	if (fd < 0 && errno == ENOENT && may_make && make_part(folder, parent, name, nr_left) == 0)
		fd = openat(parent, name, flags);
	if (fd >= 0 && may_make && nr_left > 1)
		make_passable(folder, parent, name, fd);
	return fd;
}

int own_folder_open(const struct own_folder *folder, struct error *error)
{
	size_t nr_left = count_parts(folder->path);
	cleanup_free char *parts = strdup(folder->path);
	cleanup_fd int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *above = "/";
	char *name, *rest = NULL;
	int next, err;

	if (folder->path[0] != '/')
		return error_set(error, -EINVAL, "not an absolute path: '%s'", folder->path);
	if (!parts)
		return error_no_memory(error, "");
	if (fd < 0)
		return error_set_errno(error, "cannot open '/'");
	for (name = strtok_r(parts, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		err = check_part(folder, fd, above, true, error);
		if (err < 0)
			return err;
		next = open_part(folder, fd, name, nr_left--);
		if (next < 0 && errno == EPERM && is_for_another(folder))
			return error_set(error, -EPERM,
					 "cannot %s in '%s': cannot give it to user %u without "
					 "CAP_CHOWN",
					 folder->what_for, folder->path, folder->owner);
		if (next < 0)
			return error_set_errno(error, "cannot %s in '%s': '%s'", folder->what_for,
					       folder->path, name);
		(void)close(fd);
		fd = next;
		above = name;
	}
	err = check_part(folder, fd, folder->path, false, error);
	return err < 0 ? err : take_fd(&fd);
}
