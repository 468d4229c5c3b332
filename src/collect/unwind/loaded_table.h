/*
 * An unwind table in the pool, where walks find it by its number. Tables are by file offset here
 * (elf/unwind/unwind_compile.h).
 */
#ifndef STOOK_COLLECT_UNWIND_LOADED_TABLE_H
#define STOOK_COLLECT_UNWIND_LOADED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/unwind/unwind_pool.h"
#include "elf/unwind/unwind_table.h"

struct loaded_piece {
	uint32_t place, bytes;
};

struct loaded_table {
	uint32_t number;
	struct loaded_piece *pieces;
	size_t nr_pieces, capacity;
};

/*
 * Copies the table into the pool and makes it UNWIND_TABLE_READY. 0, -ENOSPC when the pool is full,
 * -E2BIG for code so far behind in its file that no pool has room for it, or -ENOMEM; then nothing
 * has changed.
 */
int loaded_table_load(struct loaded_table *loaded, struct unwind_pool *pool, uint32_t number,
		      const struct unwind_table *table);

/* Takes it out again; walks that meet it find it in this state from now on. */
void loaded_table_unload(struct loaded_table *loaded, struct unwind_pool *pool,
			 enum unwind_table_state state);

/* Frees what it holds of our own memory. */
void loaded_table_clear(struct loaded_table *loaded);

size_t loaded_table_bytes(const struct loaded_table *loaded);

#endif
