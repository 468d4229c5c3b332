/*
 * A root is a folder in a mount namespace: the same folder may have other things mounted below it
 * in another one. Two stat() calls tell whether it is known.
 */
#include "proc/root_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/file_open.h"

struct root {
	dev_t device;
	ino_t inode;
	ino_t mount_namespace;
	int fd;
};

struct root_table {
	struct root roots[ROOT_TABLE_MAX];
	size_t nr; /* the first one is ours */
};

/* What a process (by number, or "self") sees as its root. */
static bool look(const char *process, struct root *ret)
{
	struct stat root, mounts;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/root", process);
	if (stat(path, &root) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	if (stat(path, &mounts) < 0)
		return false;
	*ret = (struct root){root.st_dev, root.st_ino, mounts.st_ino, -1};
	return true;
}

struct root_table *root_table_new(void)
{
	struct root_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	if (!look("self", &table->roots[0]))
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

/* A handle of the root that was looked at; the process may have become another one. */
static int open_root(int32_t pid, const struct root *root)
{
	cleanup_fd int fd = file_open_root(pid);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != root->device || st.st_ino != root->inode)
		return -1;
	return take_fd(&fd);
}

uint32_t root_table_add(struct root_table *table, int32_t pid)
{
	struct root root;
	char text[32];
	uint32_t i;

	(void)snprintf(text, sizeof(text), "%d", pid);
	if (!look(text, &root))
		return ROOT_OURS;
	for (i = 0; i < table->nr; i++)
		if (same_root(&table->roots[i], &root))
			return i;
	if (table->nr == ROOT_TABLE_MAX)
		return ROOT_OURS;
	root.fd = open_root(pid, &root);
	if (root.fd < 0)
		return ROOT_OURS;
	table->roots[table->nr] = root;
	return (uint32_t)table->nr++;
}

int root_table_fd(const struct root_table *table, uint32_t number)
{
	return table->roots[number].fd;
}
