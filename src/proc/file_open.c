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

/* From a bare handle to a descriptor for reading. */
static int reopen(int handle, const struct file_id *id)
{
	char path[64];
	cleanup_fd int fd = -1;

	if (!is_file(handle, id))
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -EACCES;
	return same_generation(fd, id) ? take_fd(&fd) : -ENOENT;
}

static int open_map_file(const struct file_id *id, int32_t pid, uint64_t start, uint64_t end)
{
	cleanup_fd int handle = -1;
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		       end);
	handle = open(path, O_PATH | O_CLOEXEC);
	return handle < 0 ? -errno : reopen(handle, id);
}

static int open_below(const char *root, const char *path, const struct file_id *id)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	cleanup_fd int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int handle = -1;

	if (root_fd < 0)
		return -errno;
	handle = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	return handle < 0 ? -errno : reopen(handle, id);
}

int file_open_mapped(const struct file_id *id, const char *path, int32_t pid, uint64_t start,
		     uint64_t end)
{
	char root[64];
	int fd, below;

	fd = open_map_file(id, pid, start, end);
	if (fd >= 0)
		return fd;
	(void)snprintf(root, sizeof(root), "/proc/%d/root", pid);
	below = open_below(root, path, id);
	if (below < 0)
		below = open_below("/", path, id);
	if (below >= 0)
		return below;
	return fd == -EACCES || below == -EACCES ? -EACCES : -ENOENT;
}
