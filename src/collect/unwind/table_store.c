/*
 * One thread at a time reads, one writes (kernel/aside). A file in the page cache is read within a few milliseconds,
 * which are waited for: samples need the table, and to look again with the next poll would take longer.
 */
#include "collect/unwind/table_store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "kernel/aside.h"

#define LOAD_NS	     NS_PER_SEC
#define LOAD_WAIT_NS (5 * NS_PER_MS)
#define LOAD_LOOK_NS (NS_PER_MS / 5)

/* Tables that wait to be written; further ones are not kept. */
#define KEEP_MAX 64

struct kept {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	void *bytes;
	size_t nr;
};

struct table_store {
	struct unwind_cache *cache;

	struct aside reading;
	bool is_reading;	   /* reading was begun, and its end not seen */
	bool is_wanted;		   /* the caller waits for the table */
	uint64_t since_ns;	   /* it was begun */
	struct kept asked;	   /* its build id */
	struct unwind_table table; /* what was read */

	struct aside writing;
	bool is_writing;
	struct kept kept[KEEP_MAX]; /* the first one is being written */
	size_t nr_kept;
};

struct table_store *table_store_new(struct unwind_cache *cache)
{
	struct table_store *store = cache ? calloc(1, sizeof(*store)) : NULL;

	if (store)
		store->cache = cache;
	else
		unwind_cache_close(cache);
	return store;
}

/* --- reading --------------------------------------------------------------------------------- */

static int read_table(void *context)
{
	struct table_store *store = context;

	return unwind_cache_load(store->cache, store->asked.build_id, store->asked.build_id_bytes,
				 &store->table);
}

/* The end of reading, if it has ended: 0 and the table, or a negative errno. */
static int end_reading(struct table_store *store, struct unwind_table *ret)
{
	int err;

	if (!aside_is_done(&store->reading))
		return -EINPROGRESS;
	store->is_reading = false;
	err = aside_finish(&store->reading);
	if (err == 0)
		*ret = store->table;
	return err;
}

int table_store_begin_loading(struct table_store *store, const uint8_t *build_id,
			      size_t build_id_bytes)
{
	struct unwind_table late;

	if (build_id_bytes > sizeof(store->asked.build_id))
		return -EINVAL;
	if (store->is_reading && end_reading(store, &late) == 0)
		unwind_table_clear(&late);
	if (store->is_reading)
		return -EBUSY;
	memcpy(store->asked.build_id, build_id, build_id_bytes);
	store->asked.build_id_bytes = build_id_bytes;
	store->is_reading = store->is_wanted = true;
	store->since_ns = clock_now_ns();
	aside_begin(&store->reading, read_table, store);
	return 0;
}

int table_store_finish_loading(struct table_store *store, struct unwind_table *ret)
{
	const struct timespec look = {.tv_nsec = LOAD_LOOK_NS};
	const uint64_t until_ns = store->since_ns + LOAD_WAIT_NS;
	int err;

	if (!store->is_wanted)
		return -ENOENT;
	while ((err = end_reading(store, ret)) == -EINPROGRESS && clock_now_ns() < until_ns)
		(void)nanosleep(&look, NULL);
	if (err == -EINPROGRESS && clock_now_ns() - store->since_ns > LOAD_NS)
		err = -ETIME;
	store->is_wanted = err == -EINPROGRESS;
	return err;
}

/* --- writing --------------------------------------------------------------------------------- */

static int write_table(void *context)
{
	struct table_store *store = context;
	const struct kept *kept = &store->kept[0];
	struct unwind_table table;
	int err = unwind_file_parse(kept->bytes, kept->nr, kept->build_id, kept->build_id_bytes,
				    &table);

	if (err < 0)
		return err;
	err = unwind_cache_store(store->cache, kept->build_id, kept->build_id_bytes, &table);
	unwind_table_clear(&table);
	return err;
}

/* Drops the table that was written, and begins with the next one. A failure to write is none of the run's. */
void table_store_step(struct table_store *store)
{
	if (!store)
		return;
	if (store->is_writing) {
		if (!aside_is_done(&store->writing))
			return;
		free(store->kept[0].bytes);
		store->nr_kept--;
		memmove(store->kept, store->kept + 1, store->nr_kept * sizeof(*store->kept));
	}
	store->is_writing = store->nr_kept > 0;
	if (store->is_writing)
		aside_begin(&store->writing, write_table, store);
}

void table_store_keep(struct table_store *store, const uint8_t *build_id, size_t build_id_bytes,
		      void *bytes, size_t nr)
{
	struct kept kept = {.build_id_bytes = build_id_bytes, .bytes = bytes, .nr = nr};

	table_store_step(store);
	if (store->nr_kept == KEEP_MAX || build_id_bytes > sizeof(kept.build_id)) {
		free(bytes);
		return;
	}
	memcpy(kept.build_id, build_id, build_id_bytes);
	store->kept[store->nr_kept++] = kept;
	table_store_step(store);
}

void table_store_free(struct table_store *store)
{
	if (!store)
		return;
	if (store->is_reading && aside_finish(&store->reading) == 0)
		unwind_table_clear(&store->table);
	while (store->nr_kept) {
		(void)aside_finish(&store->writing);
		table_store_step(store);
	}
	unwind_cache_close(store->cache);
	free(store);
}
