/*
 * The memory that the BPF side reads to walk stacks (bpf/unwind_pool.h), written from user space:
 * arrays of processes and tables, and pieces of chunks. The BPF maps are mapped into our address
 * space, so a write needs no system call, and no CPU stops sampling meanwhile.
 *
 * A released piece may still be read by a running program. It is reused only after a grace period that began after the
 * release: between unwind_pool_epoch_ends() and unwind_pool_epoch_ended().
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

/*
 * With fds NULL, allocates private memory that the kernel does not read. Returns NULL on failure.
 */
struct unwind_pool *unwind_pool_new(const struct unwind_pool_fds *fds, size_t max_bytes,
				    struct error *error);
void unwind_pool_free(struct unwind_pool *pool);

/* Returns how many sets of processes belong to a pool of this size: the entries of their map. */
uint32_t unwind_pool_nr_sets(size_t max_bytes);

struct unwind_process_set *unwind_pool_set(const struct unwind_pool *pool,
					   uint32_t number); /* NULL: past the last */
struct unwind_process_set *unwind_pool_set_of(const struct unwind_pool *pool, uint32_t pid);
struct unwind_table_entry *unwind_pool_tables(struct unwind_pool *pool); /* all tables */

/* The largest piece: a chunk without the reserved space at its start (place 0 means "none"). */
#define UNWIND_POOL_MAX_PIECE (POOL_CHUNK_BYTES - 32)

/*
 * Allocates at most UNWIND_POOL_MAX_PIECE bytes, aligned to 32 bytes, uninitialised. Returns the
 * place, or 0 if max_bytes is exhausted or memory is.
 */
uint32_t unwind_pool_allocate(struct unwind_pool *pool, size_t bytes);
void unwind_pool_release(struct unwind_pool *pool, uint32_t place, size_t bytes);
void *unwind_pool_at(const struct unwind_pool *pool, uint32_t place);

/*
 * Call them before and after waiting for the programs that run. The second one makes the pieces reusable that were
 * released before the first one; those that were released in between wait for the next epoch's end.
 */
void unwind_pool_epoch_ends(struct unwind_pool *pool);
void unwind_pool_epoch_ended(struct unwind_pool *pool);

/* Returns the bytes that are released and not yet reusable. */
size_t unwind_pool_limbo_bytes(const struct unwind_pool *pool);

/* Returns the chunk that contains a place; NULL: none. */
char *unwind_pool_chunk(const struct unwind_pool *pool, uint32_t place);

size_t unwind_pool_bytes(const struct unwind_pool *pool);	/* in use, including limbo */
size_t unwind_pool_chunk_bytes(const struct unwind_pool *pool); /* of all chunks */

/*
 * An unwind table in the pool, where walks find it by number. Rules are indexed by file offset
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
 * Copies the table into the pool and sets its state to UNWIND_TABLE_READY. Returns 0; -ENOSPC if
 * the pool is full; -E2BIG if the code's file offset is too large for the directory of pages; or
 * -ENOMEM. On failure nothing has changed.
 */
int loaded_table_load(struct loaded_table *loaded, struct unwind_pool *pool, uint32_t number,
		      const struct unwind_table *table);

/* Removes the table from the pool; walks see the given state from now on. */
void loaded_table_unload(struct loaded_table *loaded, struct unwind_pool *pool,
			 enum unwind_table_state state);

/* Frees private memory only, not the pool's. */
void loaded_table_clear(struct loaded_table *loaded);

size_t loaded_table_bytes(const struct loaded_table *loaded);

#endif
