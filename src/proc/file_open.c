/*
 * Opening what a process has mapped. The profiler is root and the paths are somebody else's, so a
 * path is only a hint: it is resolved inside the process' root with no way out, opened as a bare
 * handle first, accepted if it is a regular file with the right device and inode, and only then
 * opened for reading. A fifo, a device or a symlink planted in a container is never opened.
 */
#include "proc/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Filesystems whose mappings show another device or inode than stat() does. */
static bool shows_other_ids(int fd, bool *ret_inode_too)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	*ret_inode_too = fs.f_type == OVERLAYFS_SUPER_MAGIC;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

static bool is_file(int fd, const struct file_id *id)
{
	bool any_inode = false;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (major(st.st_dev) == id->major && minor(st.st_dev) == id->minor)
		return st.st_ino == id->inode;
	return shows_other_ids(fd, &any_inode) && (any_inode || st.st_ino == id->inode);
}

/* An inode number is used again; its generation then differs, where the filesystem keeps one. */
uint64_t file_generation(int fd)
{
	long generation = 0;

	return ioctl(fd, FS_IOC_GETVERSION, &generation) < 0 ? 0 : (uint32_t)generation;
}

static bool same_generation(int fd, const struct file_id *id)
{
	uint64_t generation = file_generation(fd);

	return !id->generation || !generation || generation == (uint32_t)id->generation;
}

/* From a bare handle of a regular file to a descriptor for reading. */
static int reopen(int handle)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -EACCES : fd;
}

static int reopen_if(int handle, const struct file_id *id)
{
	cleanup_fd int fd = -1;

	if (!is_file(handle, id))
		return -ENOENT;
	fd = reopen(handle);
	if (fd < 0)
		return fd;
	return same_generation(fd, id) ? take_fd(&fd) : -ENOENT;
}

static int open_map_file(const struct file_id *id, int32_t pid, uint64_t start, uint64_t end)
{
	cleanup_fd int handle = -1;
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		       end);
	handle = open(path, O_PATH | O_CLOEXEC);
	return handle < 0 ? -errno : reopen_if(handle, id);
}

static int open_root(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int file_open_root(int32_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open_root(path);
}

static int open_below(int root_fd, const char *path, unsigned flags)
{
	struct open_how how = {.flags = O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT};
	cleanup_fd int own_root = -1;
	int fd;

	if (root_fd < 0) {
		own_root = open_root("/");
		if (own_root < 0)
			return own_root;
		root_fd = own_root;
	}
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* A bare handle of whatever is at a path below a root (-1: ours). flags: 0 or O_NOFOLLOW. */
static int handle_below(int root_fd, const char *path, unsigned flags)
{
	return open_below(root_fd, path, O_PATH | flags);
}

/*
 * Where no /proc is mounted, for naming a profile from elsewhere, a handle can only be opened by
 * its path once more. What is there by then may be another file, but nobody is there to profit.
 */
static int reopen_below(int handle, int root_fd, const char *path)
{
	cleanup_fd int fd = reopen(handle);
	struct stat wanted, st;

	if (fd >= 0 || access("/proc/self/fd", F_OK) == 0)
		return take_fd(&fd);
	fd = open_below(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(handle, &wanted) < 0 || fstat(fd, &st) < 0 ||
	    st.st_dev != wanted.st_dev || st.st_ino != wanted.st_ino)
		return -EACCES;
	return take_fd(&fd);
}

int file_open_again(const struct file_id *id, int root_fd, const char *path)
{
	cleanup_fd int handle = handle_below(root_fd, path, 0);

	return handle < 0 ? handle : reopen_if(handle, id);
}

int file_open_below(int root_fd, const char *path)
{
	cleanup_fd int handle = handle_below(root_fd, path, 0);
	struct stat st;

	if (handle < 0)
		return handle;
	if (fstat(handle, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	return reopen_below(handle, root_fd, path);
}

/*
 * A link would let anyone who may write there choose among all files of root; and so would a hard
 * link, where the kernel allows it. The mode is not asked for: many a daemon has no umask, and
 * whoever writes into its map can do no more than give wrong names.
 */
static bool is_owned(int handle, uid_t owner)
{
	struct stat st;

	return fstat(handle, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1 &&
	       (st.st_uid == owner || st.st_uid == 0);
}

int file_open_owned(int root_fd, const char *path, uid_t owner)
{
	cleanup_fd int handle = handle_below(root_fd, path, O_NOFOLLOW);

	if (handle < 0)
		return handle;
	return is_owned(handle, owner) ? reopen(handle) : -EACCES;
}

int file_open_mapped(const struct file_id *id, const char *path, int32_t pid, uint64_t start,
		     uint64_t end)
{
	cleanup_fd int root_fd = -1;
	int fd, below;

	fd = open_map_file(id, pid, start, end);
	if (fd >= 0)
		return fd;
	below = root_fd = file_open_root(pid);
	if (root_fd >= 0)
		below = file_open_again(id, root_fd, path);
	if (below < 0)
		below = file_open_again(id, -1, path);
	if (below >= 0)
		return below;
	return fd == -EACCES || below == -EACCES ? -EACCES : -ENOENT;
}
