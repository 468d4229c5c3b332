/*
 * The memory that the kernel's walk reads (bpf/unwind_pool.h), from the side that writes it: arrays
 * of processes and tables, and pieces of chunks. The BPF maps are mapped into our memory, so
 * writing is no system call, and no CPU is blind while it goes on.
 *
 * A released piece may still be read by a program that runs; it is given out again only after
 * unwind_pool_epoch_ended(), which is to be called when all of these have finished.
 */
#ifndef STOOK_COLLECT_UNWIND_UNWIND_POOL_H
#define STOOK_COLLECT_UNWIND_UNWIND_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/unwind_pool.h"
#include "elf/unwind/unwind_table.h"

struct unwind_pool;

/* The maps of bpf/walk.bpf.c. */
struct unwind_pool_fds {
	int processes, tables, chunks;
};

/* With fds NULL it is memory of our own, that no kernel reads. NULL on failure. */
struct unwind_pool *unwind_pool_new(const struct unwind_pool_fds *fds, size_t max_bytes,
				    struct error *error);
void unwind_pool_free(struct unwind_pool *pool);

struct unwind_process_set *unwind_pool_processes(struct unwind_pool *pool); /* all sets */
struct unwind_table_entry *unwind_pool_tables(struct unwind_pool *pool);    /* all tables */

/* The largest piece: a chunk, without what is place 0 in the first one. */
#define UNWIND_POOL_MAX_PIECE (POOL_CHUNK_BYTES - 32)

/*
 * A piece of at most UNWIND_POOL_MAX_PIECE bytes, aligned to 32 bytes, with anything in it; its
 * place, or 0 when there is no room within max_bytes (or no memory).
 */
uint32_t unwind_pool_allocate(struct unwind_pool *pool, size_t bytes);
void unwind_pool_release(struct unwind_pool *pool, uint32_t place, size_t bytes);
void *unwind_pool_at(const struct unwind_pool *pool, uint32_t place);

/* Every program that ran when this epoch ended has finished. */
void unwind_pool_epoch_ended(struct unwind_pool *pool);

/* Released, and not yet to be given out again. */
size_t unwind_pool_limbo_bytes(const struct unwind_pool *pool);

/* The chunk that a place is in; NULL: no such. */
char *unwind_pool_chunk(const struct unwind_pool *pool, uint32_t place);

size_t unwind_pool_bytes(const struct unwind_pool *pool);	/* in use, limbo included */
size_t unwind_pool_chunk_bytes(const struct unwind_pool *pool); /* of all chunks */

/*
 * An unwind table in the pool, where walks find it by its number. Tables are by file offset here
 * (elf/unwind/unwind_compile.h).
 */
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
