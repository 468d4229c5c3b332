/*
 * User-space side of the walk by unwind tables: publishes the mappings of processes and the tables
 * of files to the BPF side, and walks the samples that were taken before these were available.
 *
 * Everything is done on demand. The first sample of a process arrives raw, upon which its mappings
 * are published. A walk that enters a file without a table requests the table; a worker compiles
 * it; from then on all processes that map the file are walked in the kernel. Tables that no walk has used for some
 * minutes are dropped; if memory for tables runs out, the least recently used ones are evicted.
 */
#ifndef STOOK_COLLECT_UNWIND_UNWINDER_H
#define STOOK_COLLECT_UNWIND_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "collect/unwind/stack_walk.h"
#include "collect/unwind/table_worker.h"
#include "collect/unwind/unwind_pool.h"
#include "proc/file_table.h"
#include "proc/mappings.h"
#include "worker/worker.h"

struct unwinder_options {
	struct worker *worker;		   /* parses files */
	const struct unwind_pool_fds *fds; /* NULL: private memory, for tests */
	struct file_table *files;
	size_t max_bytes;	  /* of tables and mappings */
	const char *cache_folder; /* NULL: no cache */
	uint32_t max_frames;
	uint64_t unused_ns; /* tables that are not used for this long are dropped; 0: default */
};

struct unwinder;

struct unwinder *unwinder_new(const struct unwinder_options *options, struct error *error);
void unwinder_free(struct unwinder *unwinder);

/* Returns why tables are not cached in cache_folder; NULL: they are, or none was given. */
const struct error *unwinder_cache_error(const struct unwinder *unwinder);

/*
 * Publishes a process' mappings, with the identity from its record, so that the kernel can walk it.
 * A full pool is not an error: the next sample is then raw again. Returns 0 or -ENOMEM.
 */
int unwinder_publish(struct unwinder *unwinder, uint32_t pid, uint64_t start_time_ns,
		     uint64_t exec_id, const struct mappings *mappings);

/* True if the mappings of the record's process are published and up to date. */
bool unwinder_is_published(const struct unwinder *unwinder, const struct wire_record *record);

/* Unpublishes a process: its next sample comes raw. */
void unwinder_forget(struct unwinder *unwinder, uint32_t pid);

/* Marks a process whose mappings changed as stale: it has to be published again. */
void unwinder_mark_stale(struct unwinder *unwinder, uint32_t pid);
/* Returns the next stale process' pid; 0: none left. */
uint32_t unwinder_next_stale(struct unwinder *unwinder, uint64_t *ret_start_time_ns,
			     uint64_t *ret_exec_id);

/* Requests the tables of all mapped files before any sample needs them. */
void unwinder_preload(struct unwinder *unwinder, const struct mappings *mappings);

/*
 * Requests the tables that the walk of a stack is likely to need: of the files that its words point
 * into. Requesting them one by one, as the walk proceeds, would take a poll for each.
 */
void unwinder_request_likely(struct unwinder *unwinder, const struct mappings *mappings,
			     const uint64_t *words, size_t nr);

/* Walks a raw record. Returns 0, or -EAGAIN if a table is missing, which is then requested. */
int unwinder_walk(struct unwinder *unwinder, const struct wire_record *record,
		  const struct mappings *mappings, struct user_stack *ret);

/*
 * The table that a walk lacked; and true if it is still being made, or cannot be made in this epoch: another walk of the
 * same record would end like the last one. False in each new epoch, so that the tables which the record needs besides
 * count as used.
 */
struct lacked_table unwinder_lacked(const struct unwinder *unwinder,
				    const struct user_stack *walked);
bool unwinder_still_lacks(const struct unwinder *unwinder, const struct lacked_table *lacked);

/* Loads the finished tables into the pool. True if there were any. */
bool unwinder_poll(struct unwinder *unwinder);

/* See table_worker_pace() and table_worker_is_in_debt(). */
void unwinder_pace(struct unwinder *unwinder, const struct table_pace *pace);
bool unwinder_is_in_debt(struct unwinder *unwinder);

/* Waits until all requested tables are loaded, or until until_ns. */
void unwinder_wait(struct unwinder *unwinder, uint64_t until_ns);

/* Returns the number of requested tables that are not loaded yet. */
size_t unwinder_nr_waiting(const struct unwinder *unwinder);

/* True if much memory becomes reusable when the epoch ends. */
bool unwinder_wants_epoch_end(const struct unwinder *unwinder);

/* Call them before waiting for the programs that run in this epoch, and when all of these have finished. */
void unwinder_epoch_ends(struct unwinder *unwinder);
void unwinder_epoch_ended(struct unwinder *unwinder, uint32_t epoch);

struct unwinder_cost {
	size_t nr_tables, nr_tables_cached; /* loaded in total; of these, from the cache */
	size_t nr_evicted;
	size_t nr_crowded;	  /* times that a table found no room, and evicted none */
	size_t nr_files_left_out; /* most in an epoch without table: UNWIND_MAX_TABLES reached */
	size_t nr_too_large;	  /* files without table: it would need most of the memory */
	uint64_t nr_displaced;	  /* processes that gave their place to another one: too many */
	uint64_t nr_unpublished;  /* mappings that could not be published: no memory */
	uint64_t nr_mappings_cut; /* unpublished: above UNWIND_MAX_MAPPINGS of a process */
	uint64_t nr_walked;	  /* raw records */
	size_t bytes;		  /* in use for tables and mappings */
	size_t chunk_bytes;	  /* allocated for them in the kernel */
};

void unwinder_read_cost(const struct unwinder *unwinder, struct unwinder_cost *ret);

/* Returns the memory that the kernel reads (for tests). */
struct unwind_pool *unwinder_pool(const struct unwinder *unwinder);

#endif
