/*
 * A second thread, which compiles unwind tables: a large file takes so long that the ring buffer
 * would overflow meanwhile. It uses only file descriptors and tables, and no other state of the
 * session.
 *
 * It has a budget of CPU time, so that a host on which new programs start all the time is not
 * burdened by their tables: some seconds initially, then a share of the elapsed time.
 */
#ifndef STOOK_COLLECT_UNWIND_TABLE_WORKER_H
#define STOOK_COLLECT_UNWIND_TABLE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_table.h"

struct table_worker;

/* Takes ownership of the cache, which may be NULL, also on failure. Returns NULL on failure. */
struct table_worker *table_worker_new(struct unwind_cache *cache, struct error *error);

/*
 * Stops the thread. Waits for the table in progress, but with a timeout, after which the thread's
 * memory is leaked.
 */
void table_worker_free(struct table_worker *worker);

/*
 * Requests the table of the file behind fd. Takes ownership of fd, also on failure. may_cache: the
 * file's build id can be trusted (proc/file_open), so the table may be read from and stored in the
 * cache. Returns 0, -ENOMEM, or -ENOSPC if too many requests are queued.
 */
int table_worker_add(struct table_worker *worker, uint32_t number, int fd, bool may_cache);

/* Adds a sample to those that wait for this table. The table with the most is compiled first. */
void table_worker_prioritize(struct table_worker *worker, uint32_t number);

struct made_table {
	uint32_t number;
	int err; /* 0, or a negative errno: no table */
	bool from_cache;
	struct unwind_table table;
};

/* Moves the oldest finished table to ret; false if there is none. */
bool table_worker_take(struct table_worker *worker, struct made_table *ret);

/* Returns a descriptor that is readable when a finished table is available. */
int table_worker_fd(const struct table_worker *worker);

/* Returns the number of requested tables that were not taken yet. */
size_t table_worker_nr_waiting(struct table_worker *worker);

#endif
