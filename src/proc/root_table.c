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
	struct root_id id;
	int fd;
	bool is_free;
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
static int identify(const char *process, struct root_id *ret)
{
	struct stat root, mounts;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/root", process);
	if (stat(path, &root) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	(void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	if (stat(path, &mounts) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	*ret = (struct root_id){root.st_dev, root.st_ino, mounts.st_ino, 0};
	return 0;
}

int root_identify(int32_t pid, struct root_id *ret, int *ret_fd)
{
	struct root_id id;
	char process[16];
	struct stat st;
	int err, fd;

	(void)snprintf(process, sizeof(process), "%d", pid);
	err = pid > 0 ? identify(process, &id) : -ENOENT;
	if (err < 0)
		return err;
	id.uid = root_uid_of(pid);
	fd = file_open_root(pid);
	if (fd < 0)
		return -ENOENT;
	/* Fails if the pid was reused and the root is another one. */
	if (fstat(fd, &st) < 0 || st.st_dev != id.device || st.st_ino != id.inode) {
		(void)close(fd);
		return -ENOENT;
	}
	*ret = id;
	*ret_fd = fd;
	return 0;
}

struct root_table *root_table_new(void)
{
	struct root_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	(void)identify("self", &table->roots[0].id);
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
		if (!table->roots[i].is_free)
			(void)close(table->roots[i].fd);
	free(table);
}

static bool same_root(const struct root_id *a, const struct root_id *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->mount_namespace == b->mount_namespace;
}

int root_table_add(struct root_table *table, const struct root_id *id, int fd)
{
	cleanup_fd int own = fd;
	size_t i, place = table->nr;

	for (i = 0; i < table->nr; i++) {
		if (table->roots[i].is_free)
			place = i;
		else if (same_root(&table->roots[i].id, id))
			return (int)i;
	}
	if (place == ROOT_TABLE_MAX)
		return -ENOSPC;
	table->roots[place] = (struct root){.id = *id, .fd = take_fd(&own)};
	table->nr += place == table->nr;
	return (int)place;
}

void root_table_release(struct root_table *table, int number)
{
	struct root *root = &table->roots[number];

	(void)close(root->fd);
	*root = (struct root){.fd = -1, .is_free = true};
}

int root_table_fd(const struct root_table *table, int number)
{
	return table->roots[number].fd;
}

uid_t root_table_uid(const struct root_table *table, int number)
{
	return table->roots[number].id.uid;
}
