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
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Those that linux/magic.h lacks. */
#define CONFIGFS_MAGIC	 0x62656570
#define FUSECTL_MAGIC	 0x65735543
#define MQUEUE_MAGIC	 0x19800202
#define RPC_PIPEFS_MAGIC 0x67596969
#define NFSD_MAGIC	 0x6e667364
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

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

/*
 * File systems whose files are the kernel's words and not somebody's bytes: reading one can block,
 * take what others wait for (/proc/kmsg), or be an order (tracefs). A list of those that are
 * refused and not of those that are allowed: people keep code on file systems that nobody here has
 * heard of.
 */
static bool is_of_kernel(int fd)
{
	static const unsigned long magics[] = {
		PROC_SUPER_MAGIC,    SYSFS_MAGIC,	   TRACEFS_MAGIC,	 DEBUGFS_MAGIC,
		SECURITYFS_MAGIC,    SELINUX_MAGIC,	   SMACK_MAGIC,		 CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, RDTGROUP_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,	 BPF_FS_MAGIC,
		PSTOREFS_MAGIC,	     EFIVARFS_MAGIC,	   BINDERFS_SUPER_MAGIC, BINFMTFS_MAGIC,
		NSFS_MAGIC,	     CONFIGFS_MAGIC,	   FUSECTL_MAGIC,	 MQUEUE_MAGIC,
		RPC_PIPEFS_MAGIC,    NFSD_MAGIC,	   OPENPROM_SUPER_MAGIC, XENFS_SUPER_MAGIC,
	};
	struct statfs fs;
	size_t i;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(magics); i++)
		if ((unsigned long)fs.f_type == magics[i])
			return true;
	return false;
}

/* Its server is a process of whoever mounted it, and may let us wait for ever. */
static bool is_of_server(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == FUSE_SUPER_MAGIC;
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

/* A regular file with bytes of its own: 0, -EINVAL, or -EACCES for one of the kernel's. */
static int check_bytes(int handle, struct stat *ret)
{
	if (fstat(handle, ret) < 0 || !S_ISREG(ret->st_mode))
		return -EINVAL;
	return is_of_kernel(handle) ? -EACCES : 0;
}

int file_open_below(int root_fd, const char *path)
{
	cleanup_fd int handle = handle_below(root_fd, path, 0);
	struct stat st;
	int err;

	if (handle < 0)
		return handle;
	err = check_bytes(handle, &st);
	return err < 0 ? err : reopen_below(handle, root_fd, path);
}

static bool has_owner(const struct file_owners *owners, uid_t uid)
{
	size_t i;

	for (i = 0; i < owners->nr; i++)
		if (owners->uids[i] == uid)
			return true;
	return false;
}

void file_owners_add(struct file_owners *owners, uid_t uid)
{
	if (uid != (uid_t)-1 && owners->nr < FILE_OWNERS_MAX && !has_owner(owners, uid))
		owners->uids[owners->nr++] = uid;
}

bool file_is_owned(int fd, const struct file_owners *owners)
{
	struct stat st;

	return check_bytes(fd, &st) == 0 && !is_of_server(fd) && has_owner(owners, st.st_uid);
}

/*
 * The last component's link would let whoever made it choose among all files of the owners: it has
 * to be root's (whose links are those of distributions), or of the owner of what it leads to.
 * A handle of the file, or a negative errno; a link that changed meanwhile is none to follow.
 */
static int follow_owned(int root_fd, const char *path, const struct stat *link)
{
	cleanup_fd int handle = handle_below(root_fd, path, 0);
	cleanup_fd int again = handle < 0 ? -1 : handle_below(root_fd, path, O_NOFOLLOW);
	struct stat target, now;

	if (handle < 0)
		return handle;
	if (fstat(handle, &target) < 0 || again < 0 || fstat(again, &now) < 0 ||
	    now.st_dev != link->st_dev || now.st_ino != link->st_ino ||
	    (link->st_uid != 0 && link->st_uid != target.st_uid))
		return -EACCES;
	return take_fd(&handle);
}

int file_open_owned(int root_fd, const char *path, const struct file_owners *owners)
{
	cleanup_fd int handle = handle_below(root_fd, path, O_NOFOLLOW);
	cleanup_fd int target = -1;
	struct stat st;

	if (handle < 0)
		return handle;
	if (fstat(handle, &st) < 0)
		return -errno;
	target = S_ISLNK(st.st_mode) ? follow_owned(root_fd, path, &st) : take_fd(&handle);
	if (target < 0)
		return target;
	return file_is_owned(target, owners) ? reopen_below(target, root_fd, path) : -EACCES;
}

/*
 * The folder is as the process resolves it: mounted there, or a link. From there on nothing is, or
 * who can mount or link in it, as everybody can in a user namespace of his own, would choose among
 * all files. So would a hard link, where the kernel allows it. The mode is not asked for: many a
 * daemon has no umask, and whoever writes into its map can do no more than give wrong names.
 */
int file_open_written(int root_fd, const char *folder, const char *name,
		      const struct file_owners *owners)
{
	cleanup_fd int folder_fd = handle_below(root_fd, folder, O_DIRECTORY);
	struct open_how how = {.flags = O_CLOEXEC | O_PATH | O_NOFOLLOW,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
	cleanup_fd int handle = -1;
	struct stat st;

	if (folder_fd < 0)
		return folder_fd;
	handle = (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));
	if (handle < 0)
		return -errno;
	if (!file_is_owned(handle, owners) || fstat(handle, &st) < 0 || st.st_nlink > 1)
		return -EACCES;
	return reopen(handle);
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
	/* EPERM: the mapping could be opened, were it not for a capability that we lack. */
	return fd == -EACCES || fd == -EPERM || below == -EACCES ? -EACCES : -ENOENT;
}

/* --- files of root --------------------------------------------------------------------------- */

/* True if only root (and we) may change it, or replace what it contains that is root's. */
static bool is_for_root_to_write(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
	       (!(st->st_mode & (S_IWGRP | S_IWOTH)) ||
		(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX));
}

/* Others may mount what they like in their own namespaces, and here what has no setuid programs. */
static bool is_of_trusted_mount(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && !(fs.f_flags & ST_NOSUID) && !is_of_server(fd);
}

bool file_is_of_root(int fd, const char *path)
{
	cleanup_fd int at = open_root("/");
	struct stat wanted, st;

	if (at < 0 || fstat(fd, &wanted) < 0 || path[0] != '/')
		return false;
	while (fstat(at, &st) == 0 && is_for_root_to_write(&st)) {
		char part[NAME_MAX + 1];
		size_t nr;
		int next;

		path += strspn(path, "/");
		nr = strcspn(path, "/");
		if (!nr)
			return S_ISREG(st.st_mode) && st.st_dev == wanted.st_dev &&
			       st.st_ino == wanted.st_ino && is_of_trusted_mount(at);
		if (nr > NAME_MAX)
			return false;
		memcpy(part, path, nr);
		part[nr] = '\0';
		next = openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return false;
		(void)close(at);
		at = next;
		path += nr;
	}
	return false;
}

DIR *program_folder_open(int root_fd, const char *path)
{
	int fd = open_below(root_fd, path, O_RDONLY | O_DIRECTORY);
	DIR *folder;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	folder = fdopendir(fd);
	if (!folder)
		(void)close(fd);
	return folder;
}
