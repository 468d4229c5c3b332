/*
 * The root directories of processes, each identified by a small number. A container's root is kept
 * open as an O_PATH handle, so that files below it can be found after its processes have exited, until it is released:
 * a handle keeps the mount from being removed.
 */
#ifndef STOOK_PROC_ROOT_TABLE_H
#define STOOK_PROC_ROOT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Number 0 is our own root. */
#define ROOT_OURS 0

/*
 * Limits of roots at a time, ours included, each of which needs a descriptor: a host with many containers has some
 * hundreds, with sidecars.
 */
#define ROOT_TABLE_MIN 256
#define ROOT_TABLE_MAX 4096

struct root_table;

struct root_table *root_table_new(size_t max); /* NULL when out of memory */
void root_table_free(struct root_table *table);

/* All numbers are below this one. */
size_t root_table_nr(const struct root_table *table);
size_t root_table_max(const struct root_table *table);

/* Identifies a root. */
struct root_id {
	uint64_t device, inode;
	uint64_t mount_namespace;
	uid_t uid; /* root_uid_of() a process with that root; not compared */
};

/*
 * Looks at a process' current root, which may block: 0 and an O_PATH handle of it; -ENOENT: the process has
 * exited, -EACCES: we may not inspect it. On an error the root must not be assumed to be our own.
 */
int root_identify(int32_t pid, struct root_id *ret, int *ret_fd);

/* Returns the number of a root; -ENOSPC: beyond the limit; or -ENOMEM. Takes the handle in either case. */
int root_table_add(struct root_table *table, const struct root_id *id, int fd);

/*
 * Adds a root of another table, with a handle of its own. Returns its number in this table; -ENOSPC, -ENOMEM, or
 * -EMFILE.
 */
int root_table_copy(struct root_table *table, const struct root_table *from, int number);

/* Closes the handle of a root, and gives its number to another one; not for ROOT_OURS. */
void root_table_release(struct root_table *table, int number);

/* An O_PATH handle owned by the table; -1 for our own root. */
int root_table_fd(const struct root_table *table, int number);

/* root_uid_of() a process with that root. */
uid_t root_table_uid(const struct root_table *table, int number);

/*
 * The uid, in our user namespace, of the only user who can have arranged the files that a process sees: the root of its
 * user namespace, who can mount where the namespace owns the mount namespace, and elsewhere choose a root directory. 0 if
 * that is our own user namespace, -1 if unknown.
 */
uid_t root_uid_of(int32_t pid);

#endif
