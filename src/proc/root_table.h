/*
 * The roots that processes see as `/`, each known by a small number. A container's root is held by
 * a bare handle, so that what lies below it can be looked for after its processes are gone.
 */
#ifndef STOOK_PROC_ROOT_TABLE_H
#define STOOK_PROC_ROOT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Number 0 is our own root, and stands for those that can't be told or are too many. */
#define ROOT_OURS      0
#define ROOT_TABLE_MAX 256

struct root_table;

struct root_table *root_table_new(void); /* NULL when out of memory */
void root_table_free(struct root_table *table);

/* The number of the root that pid has now. */
uint32_t root_table_add(struct root_table *table, int32_t pid);

/* A handle (O_PATH) that stays the table's; -1 for our own root. */
int root_table_fd(const struct root_table *table, uint32_t number);

#endif
