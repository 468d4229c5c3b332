/*
 * Everything that the kernel's walk by unwind tables needs from user space: the mappings of processes
 * and the tables of files; and the walk of those samples that came before it was there.
 *
 * Nothing is done before there is a need. The first sample of a process comes raw; it is the sign
 * to publish its mappings. A walk that meets a file without a table asks for it; a worker makes it;
 * from then on all processes that have the file mapped are walked in the kernel. Where memory for
 * tables runs out, those that were of use the longest time ago go first.
 */
#ifndef STOOK_COLLECT_UNWIND_UNWINDER_H
#define STOOK_COLLECT_UNWIND_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "collect/unwind/stack_walk.h"
#include "collect/unwind/unwind_pool.h"
#include "proc/file_table.h"
#include "proc/mappings.h"

struct unwinder_options {
	const struct unwind_pool_fds *fds; /* NULL: no kernel reads it (tests) */
	struct file_table *files;
	size_t max_bytes;	  /* of tables and mappings */
	const char *cache_folder; /* NULL: tables are kept nowhere */
	uint32_t max_frames;
};

struct unwinder;

struct unwinder *unwinder_new(const struct unwinder_options *options, struct error *error);
void unwinder_free(struct unwinder *unwinder);

/* Why tables are not kept in the folder that was named; NULL: they are, or none was. */
const struct error *unwinder_cache_error(const struct unwinder *unwinder);

/*
 * A process, as its record says, has these mappings: lets the kernel walk it. Not to find room in
 * the pool is no failure: its next sample is raw again. 0 or -ENOMEM.
 */
int unwinder_publish(struct unwinder *unwinder, uint32_t pid, uint64_t start_time_ns,
		     uint64_t exec_id, const struct mappings *mappings);

/* True if the mappings of this record's process are published and up to date. */
bool unwinder_knows(const struct unwinder *unwinder, const struct wire_record *record);

void unwinder_forget(struct unwinder *unwinder, uint32_t pid);

/* Forgets all processes, because events were lost. */
void unwinder_forget_all(struct unwinder *unwinder);

/* Its mappings have changed: it is to be published again. */
void unwinder_touch(struct unwinder *unwinder, uint32_t pid);
/* The next one of those; 0: no more. */
uint32_t unwinder_next_stale(struct unwinder *unwinder, uint64_t *ret_start_time_ns,
			     uint64_t *ret_exec_id);

/* Asks for the tables of all these files, before any sample needs them. */
void unwinder_preload(struct unwinder *unwinder, const struct mappings *mappings);

/*
 * Asks for the tables that a raw record's walk is likely to need: of the files that words of its
 * stack point into. One after the other, as the walk gets there, would take a poll for each.
 */
void unwinder_foresee(struct unwinder *unwinder, const struct wire_record *record,
		      const struct mappings *mappings);

/* Walks a raw record. 0, or -EAGAIN: a table has to be made first, and is asked for. */
int unwinder_walk(struct unwinder *unwinder, const struct wire_record *record,
		  const struct mappings *mappings, struct user_stack *ret);

/* Takes in the tables that were made. True if there were any. */
bool unwinder_poll(struct unwinder *unwinder);

/* Waits until no table is asked for any more, taking them in; not longer than until_ns. */
void unwinder_wait(struct unwinder *unwinder, uint64_t until_ns);

/* Readable when there are. */
int unwinder_fd(const struct unwinder *unwinder);

/* Tables that were asked for and are not there yet. */
size_t unwinder_nr_waiting(const struct unwinder *unwinder);

/* The programs that ran in this epoch have finished. */
void unwinder_epoch_ended(struct unwinder *unwinder, uint32_t epoch);

struct unwinder_cost {
	size_t nr_tables, nr_tables_cached; /* made or read, and those of them from the cache */
	size_t nr_evicted;
	size_t nr_files_left_out; /* past the number of tables that there may be */
	uint64_t nr_walked;	  /* raw records */
	size_t bytes;		  /* in use by tables and mappings */
	size_t chunk_bytes;	  /* taken from the kernel for them */
};

void unwinder_read_cost(const struct unwinder *unwinder, struct unwinder_cost *ret);

/* The memory that the kernel reads (for tests). */
struct unwind_pool *unwinder_pool(const struct unwinder *unwinder);

#endif
