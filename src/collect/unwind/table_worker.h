/*
 * Compiles unwind tables in parsers without rights (worker/worker.h): the files belong to other people, and
 * compiling a large one takes long enough for a ring buffer to overflow.
 *
 * The parsers have a budget of CPU time, so that a host that starts new programs all the time is not slowed down by
 * their tables: a fixed amount at first, then a share of the elapsed time. It is not saved up beyond that amount, so
 * that idle hours do not buy minutes of full use.
 */
#ifndef STOOK_COLLECT_UNWIND_TABLE_WORKER_H
#define STOOK_COLLECT_UNWIND_TABLE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_table.h"
#include "worker/worker.h"

struct table_worker;

/* CPU time that the parsers may use. */
struct table_pace {
	uint64_t most_ns; /* at once, as at the start */
	double share;	  /* of the elapsed time, added to what is left of it; of one CPU */
};

/*
 * Takes the cache, which may be NULL, even on failure. The worker must outlive it. Tables of more than max_bytes
 * are refused (-EMSGSIZE). Returns NULL on failure.
 */
struct table_worker *table_worker_new(struct worker *worker, struct unwind_cache *cache,
				      size_t max_bytes, struct error *error);
void table_worker_free(struct table_worker *tables);

/* Sets another pace than the default. Parsers then have no hurry, and more time for a table. */
void table_worker_pace(struct table_worker *tables, const struct table_pace *pace);

/* True if tables have to wait because the parsers have used their CPU time. */
bool table_worker_is_in_debt(struct table_worker *tables);

struct table_wish {
	uint32_t number; /* chosen by the caller */
	int fd;		 /* of the file, an O_PATH handle will do; taken */
	struct worker_file file;
	/* Only root can write the file (file_is_of_root()), so its table may be cached by build id. */
	bool may_cache;
};

/* False if too many requests are waiting. */
bool table_worker_has_room(const struct table_worker *tables);

/* Requests a table. 0, -ENOMEM, or -ENOSPC: too many requests are waiting. */
int table_worker_add(struct table_worker *tables, const struct table_wish *wish);

/* Adds a sample to those that wait for this table. The table with the most is compiled first. */
void table_worker_prioritize(struct table_worker *tables, uint32_t number);

struct made_table {
	uint32_t number;
	int err; /* 0, or a negative errno: no table */
	bool from_cache;
	bool is_provisional; /* its debug file could not be looked for: to be made again another time */
	struct unwind_table table;
};

/* Returns the oldest finished table; false: none. Sends the next requests to the parsers. */
bool table_worker_take(struct table_worker *tables, struct made_table *ret);

/* Returns the number of requested tables that were not taken yet. */
size_t table_worker_nr_waiting(const struct table_worker *tables);

struct table_budget {
	struct table_pace pace;
	uint64_t since_ns;   /* when allowed_ns was last increased */
	uint64_t allowed_ns; /* CPU time that may have been used by then */
};

void table_budget_begin(struct table_budget *budget, const struct table_pace *pace,
			uint64_t now_ns);

/* True if more CPU time may be used; used_ns: since the beginning. */
bool table_budget_allows(struct table_budget *budget, uint64_t now_ns, uint64_t used_ns);

/* The task that runs in the parsers. */
int table_worker_task(struct worker_job *job, void **state);

#endif
