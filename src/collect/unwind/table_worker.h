/*
 * A second thread, which makes unwind tables: compiling a large file takes as long as a ring buffer
 * needs to run over. It sees descriptors and tables and nothing else of a session.
 *
 * It keeps to a budget of CPU time, so that a host on which new programs start all the time is not
 * burdened by their tables: some at once, then a share of the time that goes by.
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

/* Takes the cache, which may be NULL, also if it fails. NULL on failure. */
struct table_worker *table_worker_new(struct unwind_cache *cache, struct error *error);

/* Waits for the table that is being made, if any, but not for ever: then its memory stays. */
void table_worker_free(struct table_worker *worker);

/*
 * Asks for the table of the file behind fd, which is taken. may_cache: its build id is to be
 * believed (proc/file_open), so the table may come from the cache, and be put there. 0, -ENOMEM,
 * or -ENOSPC when too many wait (then fd is closed).
 */
int table_worker_add(struct table_worker *worker, uint32_t number, int fd, bool may_cache);

/* One more sample waits for this table: of those asked for, the one with most is made first. */
void table_worker_hurry(struct table_worker *worker, uint32_t number);

struct made_table {
	uint32_t number;
	int err; /* 0, or why there is no table */
	bool from_cache;
	struct unwind_table table;
};

/* Hands over the table that was made first; false if there is none now. */
bool table_worker_take(struct table_worker *worker, struct made_table *ret);

/* Readable when there is one. */
int table_worker_fd(const struct table_worker *worker);

/* Tables asked for that were not taken yet. */
size_t table_worker_nr_waiting(struct table_worker *worker);

#endif
