/*
 * The cache of unwind tables (elf/unwind/unwind_cache), for a caller that must not wait for a disk: a busy or frozen
 * file system can hold up whoever creates a file, or marks one as used, for as long as it likes. So tables are read and
 * written by two threads, and a table that does not come in time is made again.
 */
#ifndef STOOK_COLLECT_UNWIND_TABLE_STORE_H
#define STOOK_COLLECT_UNWIND_TABLE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/unwind/unwind_cache.h"

struct table_store;

/* Takes the cache, also on failure. Returns NULL without memory, and for NULL. */
struct table_store *table_store_new(struct unwind_cache *cache);

/* Waits until all tables are written. */
void table_store_free(struct table_store *store);

/* Begins to read the table of a build id. -EBUSY: an earlier one is still being read. */
int table_store_begin_loading(struct table_store *store, const uint8_t *build_id,
			      size_t build_id_bytes);

/*
 * Waits for the table for some milliseconds at most. 0 and the table, to be cleared; -EINPROGRESS: not yet; -ENOENT or
 * another error: there is none, or it has not come in LOAD_NS, or nothing was begun.
 */
int table_store_finish_loading(struct table_store *store, struct unwind_table *ret);

/* Goes on with writing; call it now and then. */
void table_store_step(struct table_store *store);

/*
 * Writes a table in the format of unwind_file_write(). Takes the bytes, which were checked. If the disk is slow, the
 * table is not kept (KEEP_MAX).
 */
void table_store_keep(struct table_store *store, const uint8_t *build_id, size_t build_id_bytes,
		      void *bytes, size_t nr);

#endif
