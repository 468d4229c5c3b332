/*
 * The root directories of processes, each identified by a small number. A container's root is kept
 * open as an O_PATH handle, so that files below it can be found after its processes have exited.
 */
#ifndef STOOK_PROC_ROOT_TABLE_H
#define STOOK_PROC_ROOT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Number 0 is our own root. */
#define ROOT_OURS      0
#define ROOT_TABLE_MAX 256

struct root_table;

struct root_table *root_table_new(void); /* NULL when out of memory */
void root_table_free(struct root_table *table);

/*
 * Returns the number of a process' current root; -ENOENT: it has exited, -EACCES: we may not
 * inspect it, -ENOSPC: beyond ROOT_TABLE_MAX. On an error the root must not be assumed to be our
 * own.
 */
int root_table_add(struct root_table *table, int32_t pid);

/* An O_PATH handle owned by the table; -1 for our own root. */
int root_table_fd(const struct root_table *table, int number);

/* root_uid_of() a process with that root. */
uid_t root_table_uid(const struct root_table *table, int number);

/*
 * The uid, in our user namespace, of the root of the user namespace that owns a process' mount
 * namespace: 0 if that is our own user namespace, -1 if unknown. Only this user can have arranged
 * the files that the process sees.
 */
uid_t root_uid_of(int32_t pid);

#endif
