/*
 * The roots that processes see as `/`, each known by a small number. A container's root is held by
 * a bare handle, so that what lies below it can be looked for after its processes are gone.
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
 * The number of the root that pid has now; -ENOENT: it is gone, -EACCES: it is not for us to look
 * at, -ENOSPC: past ROOT_TABLE_MAX. None of these is our own root.
 */
int root_table_add(struct root_table *table, int32_t pid);

/* A handle (O_PATH) that stays the table's; -1 for our own root. */
int root_table_fd(const struct root_table *table, int number);

/* The user who is root there, as root_uid_of() its process. */
uid_t root_table_uid(const struct root_table *table, int number);

/*
 * The user that is root of the user namespace which a process' mount namespace belongs to, as we
 * call it: 0 where that is our own user namespace, -1 if it can't be told. Nobody else can have
 * arranged what the process sees as its files.
 */
uid_t root_uid_of(int32_t pid);

#endif
