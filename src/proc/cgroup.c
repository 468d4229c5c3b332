/*
 * BPF programs identify a cgroup by its id, which is the file handle of its directory. The kernel
 * can open directories by handle, so finding a cgroup's name requires no walk through the tree.
 */
#include "proc/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "proc/process_info.h"

#define FILEID_KERNFS 0xfe /* the type of a kernfs file handle: its 64-bit id */

static void cleanup_mounts(FILE **mounts)
{
	if (*mounts)
		(void)endmntent(*mounts);
}

/* The mount point of the version 2 tree; the caller frees it. */
static char *mount_point(struct error *error)
{
	cleanup(cleanup_mounts) FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;

	while (mounts && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			return strdup(mount->mnt_dir);
	(void)error_set(error, -ENOENT, "no cgroup version 2 tree is mounted");
	error_hint(error, "BPF programs can only distinguish cgroups of version 2; "
			  "mount -t cgroup2 none DIR");
	return NULL;
}

int cgroup_open_root(struct error *error)
{
	cleanup_free char *root = mount_point(error);
	int fd;

	if (!root)
		return -ENOENT;
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_set_errno(error, "cannot open '%s'", root) : fd;
}

int cgroup_open(const char *path, struct error *error)
{
	cleanup_free char *root = mount_point(error);
	cleanup_free char *below = root ? text_printf("%s/%s", root, path) : NULL;
	int fd = -1;

	if (!root)
		return -ENOENT;
	if (!below)
		return error_no_memory(error, "");
	if (!strncmp(path, root, strlen(root)))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = open(below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(error, "no cgroup '%s' below '%s'", path, root);
	return fd;
}

/* With 64 bits, the id is also the number of the inode. */
uint64_t cgroup_id(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

int cgroup_children(int fd, char ***ret, size_t *ret_nr, struct error *error)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = own_fd < 0 ? NULL : fdopendir(own_fd);
	size_t nr = 0, cap = 0;
	struct dirent *entry;
	char **names = NULL;
	int err = 0;

	if (!directory) {
		err = error_set_errno(error, "cannot list cgroups");
		if (own_fd >= 0)
			(void)close(own_fd);
		return err;
	}
	while (!err && (entry = readdir(directory))) {
		char *name;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		name = strdup(entry->d_name);
		err = name ? ARRAY_ADD(names, nr, cap, name) : -ENOMEM;
		if (err)
			free(name);
	}
	(void)closedir(directory);
	*ret = names;
	*ret_nr = nr;
	return err ? error_no_memory(error, "") : 0;
}

char *cgroup_path(int root_fd, uint64_t id)
{
	_Alignas(struct file_handle) char space[sizeof(struct file_handle) + sizeof(id)];
	struct file_handle *handle = (struct file_handle *)space;
	cleanup_fd int fd = -1;
	char root[PATH_MAX], path[PATH_MAX];
	size_t root_length;

	handle->handle_bytes = sizeof(id);
	handle->handle_type = FILEID_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	fd = open_by_handle_at(root_fd, handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!process_own_fd_path(root_fd, root) || !process_own_fd_path(fd, path))
		return NULL;
	root_length = strlen(root);
	if (strlen(path) < root_length)
		return NULL;
	return strdup(path[root_length] ? path + root_length : "/");
}

/* Lines are "NUMBER:CONTROLLERS:PATH"; number 0 is the hierarchy of version 2. */
char *cgroup_of_process(int32_t pid)
{
	cleanup_file FILE *file = process_open_file(pid, "cgroup");
	char line[PATH_MAX + 256], *found = NULL;

	while (file && fgets(line, sizeof(line), file)) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		line[strcspn(line, "\n")] = '\0';
		if (!path || text_starts_with(line, "0:") || strlen(path + 1) < 2 ||
		    (found && strlen(found) >= strlen(path + 1)))
			continue;
		free(found);
		found = strdup(path + 1);
	}
	return found;
}
