/*
 * A root is a directory in a mount namespace: in another namespace, other file systems may be
 * mounted below the same directory. Two stat() calls identify it.
 */
#include "proc/root_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/file_open.h"
#include "proc/process_info.h"

struct root {
	dev_t device;
	ino_t inode;
	ino_t mount_namespace;
	uid_t uid;
	int fd;
};

struct root_table {
	struct root roots[ROOT_TABLE_MAX];
	size_t nr; /* the first one is ours */
};

/* --- the user who is root -------------------------------------------------------------------- */

/* The uid to which a process' user namespace maps its user 0. */
static uid_t mapped_root(int32_t pid)
{
	cleanup_file FILE *file = process_open_file(pid, "uid_map");
	unsigned inner, outer, nr;

	while (file && fscanf(file, "%u %u %u", &inner, &outer, &nr) == 3)
		if (inner == 0 && nr)
			return outer;
	return (uid_t)-1;
}

static bool is_namespace(const struct stat *owner, const char *process)
{
	struct stat its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/user", process);
	return stat(path, &its) == 0 && its.st_dev == owner->st_dev && its.st_ino == owner->st_ino;
}

uid_t root_uid_of(int32_t pid)
{
	cleanup_fd int mounts = -1, owner_fd = -1;
	struct stat owner;
	char path[64], process[16];

	(void)snprintf(process, sizeof(process), "%d", pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	owner_fd = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	if (owner_fd < 0 || fstat(owner_fd, &owner) < 0)
		return (uid_t)-1;
	if (is_namespace(&owner, "self"))
		return 0;
	return is_namespace(&owner, process) ? mapped_root(pid) : (uid_t)-1;
}

/* --- the table ------------------------------------------------------------------------------- */

/* Identifies the root of a process (a pid, or "self"): 0, -ENOENT or -EACCES. */
static int identify(const char *process, struct root *ret)
{
	struct stat root, mounts;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/root", process);
	if (stat(path, &root) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	(void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	if (stat(path, &mounts) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	*ret = (struct root){root.st_dev, root.st_ino, mounts.st_ino, 0, -1};
	return 0;
}

struct root_table *root_table_new(void)
{
	struct root_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	if (identify("self", &table->roots[0]) < 0)
		table->roots[0].fd = -1;
	table->nr = 1;
	return table;
}

void root_table_free(struct root_table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 1; i < table->nr; i++)
		(void)close(table->roots[i].fd);
	free(table);
}

static bool same_root(const struct root *a, const struct root *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->mount_namespace == b->mount_namespace;
}

/* Opens the root that was identified; fails if the pid was reused and the root is another one. */
static int open_root(int32_t pid, const struct root *root)
{
	cleanup_fd int fd = file_open_root(pid);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != root->device || st.st_ino != root->inode)
		return -1;
	return take_fd(&fd);
}

int root_table_add(struct root_table *table, int32_t pid)
{
	struct root root;
	char text[32];
	int err;
	size_t i;

	(void)snprintf(text, sizeof(text), "%d", pid);
	err = pid > 0 ? identify(text, &root) : -ENOENT;
	if (err < 0)
		return err;
	for (i = 0; i < table->nr; i++)
		if (same_root(&table->roots[i], &root))
			return (int)i;
	if (table->nr == ROOT_TABLE_MAX)
		return -ENOSPC;
	root.uid = root_uid_of(pid);
	root.fd = open_root(pid, &root);
	if (root.fd < 0)
		return -ENOENT;
	table->roots[table->nr] = root;
	return (int)table->nr++;
}

int root_table_fd(const struct root_table *table, int number)
{
	return table->roots[number].fd;
}

uid_t root_table_uid(const struct root_table *table, int number)
{
	return table->roots[number].uid;
}
