/*
 * A pool allocates pieces of chunks, first fit from a sorted array of free extents; released
 * neighbours are merged. At most some thousand pieces exist, and they change only with processes
 * and files, so nothing faster is needed. A table is copied into pieces page by page.
 */
#include "collect/unwind/unwind_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "kernel/aside.h"

#define PIECE_UNITS 2  /* alignment and granularity of pieces */
#define GROWTH_MAX  16 /* chunks added at once */

struct extent {
	uint32_t place, units;
};

struct extents {
	struct extent *items;
	size_t nr, capacity;
};

/* Chunks that are being made. */
struct growth {
	struct aside aside;
	bool is_begun;
	int fds[GROWTH_MAX];
	char *memory[GROWTH_MAX];
	size_t nr, nr_entered;
};

struct unwind_pool {
	struct unwind_pool_fds fds;
	bool is_own; /* private memory that the kernel does not read */
	struct unwind_process_set *processes;
	uint32_t nr_sets;
	struct unwind_table_entry *tables;
	char *chunks[POOL_MAX_CHUNKS];
	size_t nr_chunks, max_chunks;
	struct extents free;  /* sorted by place */
	struct extents limbo; /* released, oldest first */
	size_t nr_ending;     /* of limbo: released before the epoch that is ending began to end */
	size_t bytes, limbo_bytes;
	struct growth growth;
};

static size_t round_to_page(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* Maps a BPF map's memory, or zeroed private memory. Returns NULL on failure. */
static void *map_memory(const struct unwind_pool *pool, int fd, size_t bytes)
{
	int flags = pool->is_own ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *memory = mmap(NULL, round_to_page(bytes), PROT_READ | PROT_WRITE, flags,
			    pool->is_own ? -1 : fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_memory(void *memory, size_t bytes)
{
	if (memory)
		(void)munmap(memory, round_to_page(bytes));
}

#define TABLES_BYTES (UNWIND_MAX_TABLES * sizeof(struct unwind_table_entry))

/* A thousandth of the memory. */
uint32_t unwind_pool_nr_sets(size_t max_bytes)
{
	size_t nr = max_bytes / 1024 / sizeof(struct unwind_process_set);

	if (nr < UNWIND_MIN_PROCESS_SETS)
		return UNWIND_MIN_PROCESS_SETS;
	return nr < UNWIND_MAX_PROCESS_SETS ? (uint32_t)nr : UNWIND_MAX_PROCESS_SETS;
}

static size_t processes_bytes(const struct unwind_pool *pool)
{
	return pool->nr_sets * sizeof(struct unwind_process_set);
}

struct unwind_pool *unwind_pool_new(const struct unwind_pool_fds *fds, size_t max_bytes,
				    struct error *error)
{
	struct unwind_pool *pool = calloc(1, sizeof(*pool));

	if (!pool) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	pool->is_own = !fds;
	if (fds)
		pool->fds = *fds;
	pool->max_chunks = max_bytes / POOL_CHUNK_BYTES;
	if (pool->max_chunks > POOL_MAX_CHUNKS)
		pool->max_chunks = POOL_MAX_CHUNKS;
	if (!pool->max_chunks)
		pool->max_chunks = 1;
	pool->nr_sets = unwind_pool_nr_sets(max_bytes);
	pool->processes = map_memory(pool, pool->fds.processes, processes_bytes(pool));
	pool->tables = map_memory(pool, pool->fds.tables, TABLES_BYTES);
	if (!pool->processes || !pool->tables) {
		(void)error_set_errno(error, "cannot map memory for unwind tables");
		unwind_pool_free(pool);
		return NULL;
	}
	return pool;
}

struct unwind_process_set *unwind_pool_set(const struct unwind_pool *pool, uint32_t number)
{
	return number < pool->nr_sets ? &pool->processes[number] : NULL;
}

struct unwind_process_set *unwind_pool_set_of(const struct unwind_pool *pool, uint32_t pid)
{
	return &pool->processes[unwind_process_set_of(pid, pool->nr_sets)];
}

struct unwind_table_entry *unwind_pool_tables(struct unwind_pool *pool)
{
	return pool->tables;
}

/* --- extents --------------------------------------------------------------------------------- */

/*
 * Inserts an extent in order and merges it with its neighbours within the chunk. The caller has
 * reserved space.
 */
static void put_back(struct extents *extents, struct extent extent)
{
	struct extent *end = extents->items + extents->nr;
	struct extent *at = extents->items +
			    array_first(extents->nr, i, extents->items[i].place > extent.place);

	if (at > extents->items && at[-1].place + at[-1].units == extent.place &&
	    POOL_CHUNK(at[-1].place) == POOL_CHUNK(extent.place)) {
		at--;
		at->units += extent.units;
	} else {
		memmove(at + 1, at, (size_t)(end - at) * sizeof(*at));
		*at = extent;
		extents->nr++;
		end++;
	}
	if (at + 1 < end && at->place + at->units == at[1].place &&
	    POOL_CHUNK(at->place) == POOL_CHUNK(at[1].place)) {
		at->units += at[1].units;
		memmove(at + 1, at + 2, (size_t)(end - at - 2) * sizeof(*at));
		extents->nr--;
	}
}

static uint32_t take(struct extents *extents, uint32_t units)
{
	size_t i;

	for (i = 0; i < extents->nr; i++) {
		struct extent *extent = &extents->items[i];
		uint32_t place = extent->place;

		if (extent->units < units)
			continue;
		extent->place += units;
		extent->units -= units;
		if (!extent->units) {
			extents->nr--;
			memmove(extent, extent + 1, (extents->nr - i) * sizeof(*extent));
		}
		return place;
	}
	return 0;
}

static int reserve(struct extents *extents, size_t more)
{
	return ARRAY_RESERVE(extents->items, extents->capacity, extents->nr + more);
}

/* --- chunks ---------------------------------------------------------------------------------- */

/* There is room in the list of free extents. */
static void add_chunk(struct unwind_pool *pool, char *memory)
{
	uint32_t place = (uint32_t)pool->nr_chunks * POOL_CHUNK_UNITS;
	uint32_t units = POOL_CHUNK_UNITS;

	if (!place) { /* place 0 means "none" */
		place = PIECE_UNITS;
		units -= PIECE_UNITS;
	}
	pool->chunks[pool->nr_chunks++] = memory;
	put_back(&pool->free, (struct extent){place, units});
}

/* Creates maps of a chunk each, and maps their memory. Returns their number, up to nr. */
static size_t create_chunks(const struct unwind_pool *pool, int *fds, char **memory, size_t nr)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t i;

	for (i = 0; i < nr; i++) {
		fds[i] = pool->is_own
				 ? -1
				 : bpf_map_create(BPF_MAP_TYPE_ARRAY, "stook_chunk",
						  sizeof(uint32_t), POOL_CHUNK_BYTES, 1, &options);
		memory[i] = fds[i] < 0 && !pool->is_own
				    ? NULL
				    : map_memory(pool, fds[i], POOL_CHUNK_BYTES);
		if (memory[i])
			continue;
		if (fds[i] >= 0)
			(void)close(fds[i]);
		break;
	}
	return i;
}

/*
 * Enters maps in the next slots of the map of chunks. Returns the number of those entered. Each update waits for a
 * grace period, so they are entered at once, where the kernel can (Linux 5.19).
 */
static size_t enter_chunks(const struct unwind_pool *pool, const int *fds, size_t nr)
{
	uint32_t slots[GROWTH_MAX], count = (uint32_t)nr;
	size_t i;

	for (i = 0; i < nr; i++)
		slots[i] = (uint32_t)(pool->nr_chunks + i);
	if (bpf_map_update_batch(pool->fds.chunks, slots, fds, &count, NULL) == 0)
		return nr;
	return bpf_map_update_elem(pool->fds.chunks, &slots[0], &fds[0], BPF_ANY) == 0;
}

/* Chunks to add at once: the larger the pool, the more, so that it grows in few steps. */
static size_t growth_of(const struct unwind_pool *pool)
{
	size_t nr = 1 + pool->nr_chunks / 4, most = pool->max_chunks - pool->nr_chunks;

	nr = nr < GROWTH_MAX ? nr : GROWTH_MAX;
	return nr < most ? nr : most;
}

/* Creates and enters chunks; may wait. */
static int make_chunks(void *context)
{
	struct unwind_pool *pool = context;
	struct growth *growth = &pool->growth;
	size_t i;

	growth->nr = create_chunks(pool, growth->fds, growth->memory, growth->nr);
	growth->nr_entered = pool->is_own || !growth->nr
				     ? growth->nr
				     : enter_chunks(pool, growth->fds, growth->nr);
	for (i = 0; i < growth->nr; i++)
		if (growth->fds[i] >= 0)
			(void)close(growth->fds[i]);
	return 0;
}

/* Waits for the chunks that are being made, and adds them. -ENOMEM if there are none. */
static int add_chunks(struct unwind_pool *pool)
{
	struct growth *growth = &pool->growth;
	size_t i;
	int err;

	(void)aside_finish(&growth->aside);
	err = growth->nr_entered && reserve(&pool->free, growth->nr_entered) == 0 ? 0 : -ENOMEM;
	for (i = 0; i < growth->nr; i++)
		if (i < growth->nr_entered && !err)
			add_chunk(pool, growth->memory[i]);
		else
			unmap_memory(growth->memory[i], POOL_CHUNK_BYTES);
	*growth = (struct growth){0};
	return err;
}

/* Begins to make chunks; false: no more are allowed. */
static bool begin_growth(struct unwind_pool *pool)
{
	pool->growth.nr = growth_of(pool);
	pool->growth.is_begun = pool->growth.nr > 0;
	if (pool->growth.is_begun)
		aside_begin(&pool->growth.aside, make_chunks, pool);
	return pool->growth.is_begun;
}

/* The next chunks are made before they are needed, so that allocations need not wait for them. */
static void grow_ahead(struct unwind_pool *pool)
{
	const size_t all = unwind_pool_chunk_bytes(pool);

	if (pool->growth.is_begun && aside_is_done(&pool->growth.aside))
		(void)add_chunks(pool);
	else if (!pool->growth.is_begun && !pool->is_own && all - pool->bytes < POOL_CHUNK_BYTES)
		(void)begin_growth(pool);
}

void unwind_pool_free(struct unwind_pool *pool)
{
	size_t i;

	if (!pool)
		return;
	if (pool->growth.is_begun)
		(void)add_chunks(pool);
	for (i = 0; i < pool->nr_chunks; i++)
		unmap_memory(pool->chunks[i], POOL_CHUNK_BYTES);
	unmap_memory(pool->processes, processes_bytes(pool));
	unmap_memory(pool->tables, TABLES_BYTES);
	free(pool->free.items);
	free(pool->limbo.items);
	free(pool);
}

static uint32_t units_of(size_t bytes)
{
	size_t piece = PIECE_UNITS * POOL_UNIT_BYTES;

	return (uint32_t)((bytes + piece - 1) / piece * PIECE_UNITS);
}

uint32_t unwind_pool_allocate(struct unwind_pool *pool, size_t bytes)
{
	uint32_t units = units_of(bytes), place;

	if (!bytes || bytes > UNWIND_POOL_MAX_PIECE)
		return 0;
	place = take(&pool->free, units);
	while (!place && (pool->growth.is_begun || begin_growth(pool)) && add_chunks(pool) == 0)
		place = take(&pool->free, units);
	if (place)
		pool->bytes += (size_t)units * POOL_UNIT_BYTES;
	grow_ahead(pool);
	return place;
}

/* If the limbo list cannot grow, the piece is leaked. */
void unwind_pool_release(struct unwind_pool *pool, uint32_t place, size_t bytes)
{
	uint32_t units = units_of(bytes);

	if (!place || reserve(&pool->limbo, 1) < 0)
		return;
	pool->limbo.items[pool->limbo.nr++] = (struct extent){place, units};
	pool->limbo_bytes += (size_t)units * POOL_UNIT_BYTES;
}

void unwind_pool_epoch_ends(struct unwind_pool *pool)
{
	pool->nr_ending = pool->limbo.nr;
}

void unwind_pool_epoch_ended(struct unwind_pool *pool)
{
	struct extents *limbo = &pool->limbo;
	size_t bytes = 0, i;

	if (reserve(&pool->free, pool->nr_ending) < 0)
		return; /* retried when the next epoch ends */
	for (i = 0; i < pool->nr_ending; i++) {
		bytes += (size_t)limbo->items[i].units * POOL_UNIT_BYTES;
		put_back(&pool->free, limbo->items[i]);
	}
	limbo->nr -= pool->nr_ending;
	if (pool->nr_ending)
		memmove(limbo->items, limbo->items + pool->nr_ending,
			limbo->nr * sizeof(*limbo->items));
	pool->bytes -= bytes;
	pool->limbo_bytes -= bytes;
	pool->nr_ending = 0;
}

size_t unwind_pool_limbo_bytes(const struct unwind_pool *pool)
{
	return pool->limbo_bytes;
}

char *unwind_pool_chunk(const struct unwind_pool *pool, uint32_t place)
{
	size_t number = POOL_CHUNK(place);

	return number < pool->nr_chunks ? pool->chunks[number] : NULL;
}

void *unwind_pool_at(const struct unwind_pool *pool, uint32_t place)
{
	char *chunk = unwind_pool_chunk(pool, place);

	return chunk ? chunk + POOL_OFFSET(place) : NULL;
}

size_t unwind_pool_bytes(const struct unwind_pool *pool)
{
	return pool->bytes;
}

size_t unwind_pool_chunk_bytes(const struct unwind_pool *pool)
{
	return pool->nr_chunks * POOL_CHUNK_BYTES;
}

/* --- tables ------------------------------------------------------------------------------------- */

/* Allocates a piece and records it in loaded. Returns its place, or a negative errno. */
static int64_t add_piece(struct loaded_table *loaded, struct unwind_pool *pool, size_t bytes)
{
	uint32_t place;

	if (bytes > UNWIND_POOL_MAX_PIECE)
		return -E2BIG;
	if (ARRAY_RESERVE(loaded->pieces, loaded->capacity, loaded->nr_pieces + 1) < 0)
		return -ENOMEM;
	place = unwind_pool_allocate(pool, bytes);
	if (!place)
		return -ENOSPC;
	loaded->pieces[loaded->nr_pieces++] = (struct loaded_piece){place, (uint32_t)bytes};
	return place;
}

static int64_t add_copy(struct loaded_table *loaded, struct unwind_pool *pool, const void *from,
			size_t bytes)
{
	int64_t place = add_piece(loaded, pool, bytes);

	if (place > 0)
		memcpy(unwind_pool_at(pool, (uint32_t)place), from, bytes);
	return place;
}

/*
 * Copies the pages and fills in their places. Consecutive pages with the same words share a copy.
 */
static int load_pages(struct loaded_table *loaded, struct unwind_pool *pool,
		      const struct unwind_table *table, uint32_t *places)
{
	uint32_t words = UNWIND_NO_PAGE, i;
	int64_t place = 0;

	for (i = 0; i < table->nr_pages; i++) {
		if (table->pages[i] == UNWIND_NO_PAGE) {
			places[i] = 0;
			continue;
		}
		if (table->pages[i] != words)
			place = add_copy(loaded, pool, table->words + table->pages[i],
					 table->page_words[i] * sizeof(uint32_t));
		if (place < 0)
			return (int)place;
		words = table->pages[i];
		places[i] = (uint32_t)place;
	}
	return 0;
}

static int load_table(struct loaded_table *loaded, struct unwind_pool *pool,
		      const struct unwind_table *table, struct unwind_table_entry *entry)
{
	uint64_t first = table->start >> UNWIND_PAGE_SHIFT;
	int64_t directory, wide = 0;
	uint32_t *places;

	if (!table->nr_pages)
		return 0;
	directory = add_piece(loaded, pool, (first + table->nr_pages) * sizeof(*places));
	if (directory < 0)
		return (int)directory;
	places = unwind_pool_at(pool, (uint32_t)directory);
	memset(places, 0, first * sizeof(*places));
	if (table->nr_wide)
		wide = add_copy(loaded, pool, table->wide, table->nr_wide * sizeof(*table->wide));
	if (wide < 0)
		return (int)wide;
	entry->pages = (uint32_t)directory;
	entry->nr_pages = (uint32_t)first + table->nr_pages;
	entry->wide = (uint32_t)wide;
	entry->nr_wide = (uint32_t)table->nr_wide;
	return load_pages(loaded, pool, table, places + first);
}

int loaded_table_load(struct loaded_table *loaded, struct unwind_pool *pool, uint32_t number,
		      const struct unwind_table *table)
{
	struct unwind_table_entry *slot = &unwind_pool_tables(pool)[number];
	struct unwind_table_entry entry = {0};
	int err;

	*loaded = (struct loaded_table){.number = number};
	err = load_table(loaded, pool, table, &entry);
	if (err < 0) {
		loaded_table_unload(loaded, pool, (enum unwind_table_state)slot->state);
		return err;
	}
	slot->pages = entry.pages;
	slot->nr_pages = entry.nr_pages;
	slot->wide = entry.wide;
	slot->nr_wide = entry.nr_wide;
	__atomic_store_n(&slot->state, UNWIND_TABLE_READY, __ATOMIC_RELEASE);
	return 0;
}

void loaded_table_unload(struct loaded_table *loaded, struct unwind_pool *pool,
			 enum unwind_table_state state)
{
	size_t i;

	__atomic_store_n(&unwind_pool_tables(pool)[loaded->number].state, state, __ATOMIC_RELEASE);
	for (i = 0; i < loaded->nr_pieces; i++)
		unwind_pool_release(pool, loaded->pieces[i].place, loaded->pieces[i].bytes);
	loaded_table_clear(loaded);
}

void loaded_table_clear(struct loaded_table *loaded)
{
	free(loaded->pieces);
	*loaded = (struct loaded_table){0};
}

size_t loaded_table_bytes(const struct loaded_table *loaded)
{
	size_t bytes = 0, i;

	for (i = 0; i < loaded->nr_pieces; i++)
		bytes += loaded->pieces[i].bytes;
	return bytes;
}
