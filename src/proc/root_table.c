/*
 * A root is a directory in a mount namespace: in another namespace, other file systems may be
 * mounted below the same directory. Two stat() calls identify it, which ask no file server.
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
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/file_open.h"
#include "proc/process_info.h"

#define NO_ROOT (-1)

struct root {
	struct root_id id;
	int fd;
	int next; /* with the same hash; of a free place: the next free one; or NO_ROOT */
	bool is_free;
};

struct root_table {
	struct root *roots; /* the first one is ours */
	size_t nr, capacity, max;
	int free;		/* the first free place, or NO_ROOT */
	struct u64_map by_hash; /* → number */
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
	if (is_namespace(&owner, process) && is_namespace(&owner, "self"))
		return 0;
	if (is_namespace(&owner, process) || is_namespace(&owner, "self"))
		return mapped_root(pid);
	return (uid_t)-1;
}

/* --- the table ------------------------------------------------------------------------------- */

/* Fills in the device and the inode of a directory, or of a path. False with errno. */
static bool read_numbers(int at, const char *path, struct root_id *ret)
{
	struct statx st;

	if (statx(at, path, AT_STATX_DONT_SYNC | (*path ? 0 : AT_EMPTY_PATH), STATX_INO, &st) < 0)
		return false;
	ret->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret->inode = st.stx_ino;
	return true;
}

/* Identifies the root of a process (a pid, or "self"): 0, -ENOENT or -EACCES. */
static int identify(const char *process, struct root_id *ret)
{
	struct root_id id = {0};
	struct stat mounts;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/root", process);
	if (!read_numbers(AT_FDCWD, path, &id))
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	(void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	if (stat(path, &mounts) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	id.mount_namespace = mounts.st_ino;
	*ret = id;
	return 0;
}

int root_identify(int32_t pid, struct root_id *ret, int *ret_fd)
{
	struct root_id id, opened;
	char process[16];
	int err, fd;

	(void)snprintf(process, sizeof(process), "%d", pid);
	err = pid > 0 ? identify(process, &id) : -ENOENT;
	if (err < 0)
		return err;
	fd = file_open_root(pid);
	if (fd < 0)
		return -ENOENT;
	/* After that: the process can go to another user namespace meanwhile, but not back. */
	id.uid = root_uid_of(pid);
	/* Fails if the pid was reused and the root is another one. */
	if (!read_numbers(fd, "", &opened) || opened.device != id.device ||
	    opened.inode != id.inode) {
		(void)close(fd);
		return -ENOENT;
	}
	*ret = id;
	*ret_fd = fd;
	return 0;
}

static bool same_root(const struct root_id *a, const struct root_id *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->mount_namespace == b->mount_namespace;
}

static uint64_t hash_of(const struct root_id *id)
{
	return hash_add(hash_add(hash_u64(id->device), id->inode), id->mount_namespace);
}

/* Returns the first root with that hash, or NO_ROOT. */
static int first_of(const struct root_table *table, uint64_t hash)
{
	const uint64_t *first = u64_map_find(&table->by_hash, hash);

	return first ? (int)*first : NO_ROOT;
}

/* Returns a place for another root; -ENOSPC or -ENOMEM. */
static int take_place(struct root_table *table)
{
	const int place = table->free;

	if (place != NO_ROOT) {
		table->free = table->roots[place].next;
		return place;
	}
	if (table->nr >= table->max)
		return -ENOSPC;
	if (ARRAY_ADD(table->roots, table->nr, table->capacity, (struct root){.fd = -1}) < 0)
		return -ENOMEM;
	return (int)table->nr - 1;
}

static void free_place(struct root_table *table, int place)
{
	table->roots[place] = (struct root){.fd = -1, .next = table->free, .is_free = true};
	table->free = place;
}

/* Enters a root that is not in the table. Returns its number, which has no handle yet; -ENOSPC or -ENOMEM. */
static int enter(struct root_table *table, const struct root_id *id)
{
	const uint64_t hash = hash_of(id);
	const int first = first_of(table, hash), place = take_place(table);

	if (place < 0)
		return place;
	if (u64_map_set(&table->by_hash, hash, (uint64_t)place) < 0) {
		free_place(table, place);
		return -ENOMEM;
	}
	table->roots[place] = (struct root){.id = *id, .fd = -1, .next = first};
	return place;
}

struct root_table *root_table_new(size_t max)
{
	struct root_table *table = calloc(1, sizeof(*table));
	struct root_id own = {0};

	if (!table)
		return NULL;
	table->max = max;
	table->free = NO_ROOT;
	(void)identify("self", &own);
	if (enter(table, &own) != ROOT_OURS) {
		root_table_free(table);
		return NULL;
	}
	return table;
}

void root_table_free(struct root_table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->nr; i++)
		if (table->roots[i].fd >= 0)
			(void)close(table->roots[i].fd);
	u64_map_clear(&table->by_hash);
	free(table->roots);
	free(table);
}

size_t root_table_nr(const struct root_table *table)
{
	return table->nr;
}

size_t root_table_max(const struct root_table *table)
{
	return table->max;
}

/* Returns the number of a root, or NO_ROOT. */
static int find(const struct root_table *table, const struct root_id *id)
{
	int number = first_of(table, hash_of(id));

	while (number != NO_ROOT && !same_root(&table->roots[number].id, id))
		number = table->roots[number].next;
	return number;
}

int root_table_add(struct root_table *table, const struct root_id *id, int fd)
{
	cleanup_fd int own = fd;
	int number = find(table, id);

	if (number != NO_ROOT)
		return number;
	number = enter(table, id);
	if (number >= 0)
		table->roots[number].fd = take_fd(&own);
	return number;
}

int root_table_copy(struct root_table *table, const struct root_table *from, int number)
{
	const struct root *root = &from->roots[number];
	const int known = number == ROOT_OURS ? ROOT_OURS : find(table, &root->id);
	int fd;

	if (known != NO_ROOT)
		return known;
	fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : root_table_add(table, &root->id, fd);
}

void root_table_release(struct root_table *table, int number)
{
	const struct root *root = &table->roots[number];
	const uint64_t hash = hash_of(&root->id);
	int before = first_of(table, hash);

	(void)close(root->fd);
	if (before == number && root->next == NO_ROOT)
		(void)u64_map_remove(&table->by_hash, hash);
	else if (before == number) /* cannot fail: the key exists */
		(void)u64_map_set(&table->by_hash, hash, (uint64_t)root->next);
	while (before != number && table->roots[before].next != number)
		before = table->roots[before].next;
	if (before != number)
		table->roots[before].next = root->next;
	free_place(table, number);
}

int root_table_fd(const struct root_table *table, int number)
{
	return table->roots[number].fd;
}

uid_t root_table_uid(const struct root_table *table, int number)
{
	return table->roots[number].id.uid;
}
