/*
 * collect/unwind/unwind_pool against a model: each unit of the pool is free, allocated, or released
 * in the current epoch. If the model has room, the pool must find it; what it allocates must have
 * been free. Tables: lookups by the kernel side (bpf/unwind_lookup.h) in the pool give the same
 * rules as unwind_table_find() in the table.
 */
#include "collect/unwind/unwind_pool.h"

#include <errno.h>
#include <string.h>

#include "unit/test.h"
#include "unit/unwind_fixture.h"
#include "unit/unwind_reading.h"

#define PIECE_BYTES  32 /* alignment and unit of all allocations */
#define CHUNK_PIECES (POOL_CHUNK_BYTES / PIECE_BYTES)
#define MAX_CHUNKS   4
#define MAX_GIVEN    512
#define LARGEST	     UNWIND_POOL_MAX_PIECE

enum state { FREE, GIVEN, IN_LIMBO, NOWHERE };

struct given {
	uint32_t place;
	size_t bytes;
};

struct model {
	struct unwind_pool *pool;
	uint64_t random;
	size_t nr_chunks;
	uint8_t states[MAX_CHUNKS * CHUNK_PIECES]; /* enum state */
	struct given given[MAX_GIVEN];
	size_t nr_given;
	size_t nr_refused;
};

static size_t pieces_of(size_t bytes)
{
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

static size_t model_bytes(const struct model *model)
{
	size_t nr = 0, i;

	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++)
		nr += model->states[i] == GIVEN || model->states[i] == IN_LIMBO;
	return nr * PIECE_BYTES;
}

/* True if some chunk has a free stretch of this size. */
static bool has_room(const struct model *model, size_t pieces)
{
	size_t run = 0, i;

	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++) {
		if (i % CHUNK_PIECES == 0)
			run = 0;
		run = model->states[i] == FREE ? run + 1 : 0;
		if (run == pieces)
			return true;
	}
	return false;
}

static void set_states(struct model *model, const struct given *given, enum state from,
		       enum state to)
{
	size_t first = (size_t)given->place * POOL_UNIT_BYTES / PIECE_BYTES, i;

	CHECK(first + pieces_of(given->bytes) <= model->nr_chunks * CHUNK_PIECES);
	for (i = first; i < first + pieces_of(given->bytes); i++) {
		CHECK_EQ(model->states[i], from);
		model->states[i] = (uint8_t)to;
	}
}

static void allocate(struct model *model)
{
	size_t bytes = 1 + fixture_random(&model->random,
					  fixture_random(&model->random, 8) ? 40000 : LARGEST);
	struct given given = {.bytes = bytes};

	if (model->nr_given == MAX_GIVEN)
		return;
	given.place = unwind_pool_allocate(model->pool, bytes);
	CHECK_EQ(given.place != 0, has_room(model, pieces_of(bytes)));
	model->nr_refused += !given.place;
	if (!given.place)
		return;
	CHECK_EQ(given.place * POOL_UNIT_BYTES % PIECE_BYTES, 0);
	CHECK_EQ(POOL_CHUNK(given.place), POOL_CHUNK(given.place + (bytes - 1) / POOL_UNIT_BYTES));
	CHECK(unwind_pool_at(model->pool, given.place) ==
	      unwind_pool_chunk(model->pool, given.place) + POOL_OFFSET(given.place));
	set_states(model, &given, FREE, GIVEN);
	memset(unwind_pool_at(model->pool, given.place), (int)(given.place & 0xff), bytes);
	model->given[model->nr_given++] = given;
}

/* The content was not overwritten since the allocation. */
static void check_content(const struct model *model, const struct given *given)
{
	const uint8_t *bytes = unwind_pool_at(model->pool, given->place);

	CHECK_EQ(bytes[0], given->place & 0xff);
	CHECK(!memcmp(bytes, bytes + 1, given->bytes - 1));
}

static void release(struct model *model, size_t which)
{
	struct given given = model->given[which];

	check_content(model, &given);
	unwind_pool_release(model->pool, given.place, given.bytes);
	set_states(model, &given, GIVEN, IN_LIMBO);
	model->given[which] = model->given[--model->nr_given];
}

/* No program runs. */
static void end_pool_epoch(struct unwind_pool *pool)
{
	unwind_pool_epoch_ends(pool);
	unwind_pool_epoch_ended(pool);
}

static void end_epoch(struct model *model)
{
	size_t i;

	end_pool_epoch(model->pool);
	for (i = 0; i < model->nr_chunks * CHUNK_PIECES; i++)
		if (model->states[i] == IN_LIMBO)
			model->states[i] = FREE;
}

static void model_open(struct model *model, uint64_t seed, size_t nr_chunks)
{
	*model = (struct model){.random = seed, .nr_chunks = nr_chunks};
	model->states[0] = NOWHERE; /* place 0 */
	model->pool = unwind_pool_new(NULL, nr_chunks * POOL_CHUNK_BYTES + 12345, NULL);
	CHECK(model->pool != NULL);
}

static void play(uint64_t seed)
{
	static struct model model;
	uint32_t fill, step;

	model_open(&model, seed, 1 + seed % MAX_CHUNKS);
	for (step = 0; step < 600; step++) {
		/* Alternates between filling and emptying. */
		fill = step / 100 % 2 ? 3 : 7;
		if (fixture_random(&model.random, 20) == 0)
			end_epoch(&model);
		else if (fixture_random(&model.random, 10) < fill)
			allocate(&model);
		else if (model.nr_given)
			release(&model, fixture_random(&model.random, (uint32_t)model.nr_given));
		CHECK_EQ(unwind_pool_bytes(model.pool), model_bytes(&model));
	}
	CHECK(model.nr_refused > 0);
	while (model.nr_given)
		release(&model, model.nr_given - 1);
	end_epoch(&model);
	CHECK_EQ(unwind_pool_bytes(model.pool), 0);
	for (step = 0; step < model.nr_chunks; step++) /* all neighbours are merged */
		CHECK(unwind_pool_allocate(model.pool, LARGEST) != 0);
	CHECK_EQ(unwind_pool_allocate(model.pool, LARGEST), 0);
	unwind_pool_free(model.pool);
}

TEST(unwind_pool_gives_what_is_free_and_nothing_else)
{
	uint64_t seed;

	for (seed = 1; seed <= 16; seed++)
		play(seed);
}

TEST(unwind_pool_gives_nothing_back_before_the_epoch_ends)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	uint32_t place = unwind_pool_allocate(pool, LARGEST);

	CHECK(place != 0);
	unwind_pool_release(pool, place, LARGEST);
	CHECK_EQ(unwind_pool_allocate(pool, 1), 0);
	CHECK_EQ(unwind_pool_bytes(pool), LARGEST);
	end_pool_epoch(pool);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST), place);
	end_pool_epoch(pool); /* nothing to release */
	CHECK_EQ(unwind_pool_allocate(pool, 1), 0);
	unwind_pool_free(pool);
}

/* Programs that read them may have begun before the release, and the wait before that. */
TEST(unwind_pool_keeps_what_is_released_while_an_epoch_ends)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	const uint32_t before = unwind_pool_allocate(pool, 1 << 16);
	const uint32_t meanwhile = unwind_pool_allocate(pool, 1 << 16);

	unwind_pool_release(pool, before, 1 << 16);
	unwind_pool_epoch_ends(pool);
	unwind_pool_release(pool, meanwhile, 1 << 16);
	unwind_pool_epoch_ended(pool);
	CHECK_EQ(unwind_pool_limbo_bytes(pool), 1 << 16);
	CHECK_EQ(unwind_pool_bytes(pool), 1 << 16);
	CHECK_EQ(unwind_pool_allocate(pool, 1 << 16), before);
	unwind_pool_epoch_ended(pool); /* nobody waited */
	CHECK_EQ(unwind_pool_limbo_bytes(pool), 1 << 16);
	end_pool_epoch(pool);
	CHECK_EQ(unwind_pool_limbo_bytes(pool), 0);
	CHECK_EQ(unwind_pool_allocate(pool, 1 << 16), meanwhile);
	unwind_pool_free(pool);
}

TEST(unwind_pool_refuses_nothing_and_too_much)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, 3 * POOL_CHUNK_BYTES, NULL);

	CHECK_EQ(unwind_pool_allocate(pool, 0), 0);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST + 1), 0);
	CHECK_EQ(unwind_pool_allocate(pool, SIZE_MAX), 0);
	CHECK_EQ(unwind_pool_allocate(pool, (size_t)1 << 36), 0);
	unwind_pool_release(pool, 0, 1);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	CHECK(!unwind_pool_at(pool, 0) && !unwind_pool_at(pool, UINT32_MAX));
	CHECK(unwind_pool_allocate(pool, 1) != 0);
	CHECK_EQ(unwind_pool_bytes(pool), PIECE_BYTES);
	unwind_pool_free(pool);
	unwind_pool_free(NULL);
}

/* Memory is mapped when needed and never above the limit; the minimum is one chunk. */
TEST(unwind_pool_takes_memory_by_chunks)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, 2 * POOL_CHUNK_BYTES, NULL);

	CHECK(!unwind_pool_chunk(pool, 1) && !unwind_pool_chunk_bytes(pool));
	CHECK(unwind_pool_allocate(pool, LARGEST / 2) && unwind_pool_allocate(pool, LARGEST / 3));
	CHECK_EQ(unwind_pool_chunk_bytes(pool), POOL_CHUNK_BYTES);
	CHECK(unwind_pool_allocate(pool, LARGEST / 2) != 0);
	CHECK_EQ(unwind_pool_chunk_bytes(pool), 2 * POOL_CHUNK_BYTES);
	CHECK(!unwind_pool_allocate(pool, LARGEST));
	CHECK_EQ(unwind_pool_chunk_bytes(pool), 2 * POOL_CHUNK_BYTES);
	unwind_pool_free(pool);
	pool = unwind_pool_new(NULL, 0, NULL);
	CHECK(unwind_pool_allocate(pool, LARGEST) && !unwind_pool_allocate(pool, 1));
	unwind_pool_free(pool);
}

TEST(unwind_pool_starts_empty)
{
	static const struct unwind_process_set no_process;
	static const struct unwind_table_entry wanted = {.state = UNWIND_TABLE_WANTED};
	struct unwind_pool *pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	uint32_t i;

	for (i = 0; i < UNWIND_MIN_PROCESS_SETS; i++)
		CHECK(!memcmp(unwind_pool_set(pool, i), &no_process, sizeof(no_process)));
	CHECK(!unwind_pool_set(pool, i));
	for (i = 0; i < UNWIND_MAX_TABLES; i++)
		CHECK(!memcmp(&unwind_pool_tables(pool)[i], &wanted, sizeof(wanted)));
	unwind_pool_free(pool);
}

/* A larger pool has room for more processes; all pids find a set. */
TEST(unwind_pool_has_sets_by_its_size)
{
	const size_t sizes[] = {0, 64 << 20, 96 << 20, 1 << 30, (size_t)1 << 40};
	const uint32_t expected[] = {UNWIND_MIN_PROCESS_SETS, 1024, 1536, UNWIND_MAX_PROCESS_SETS,
				     UNWIND_MAX_PROCESS_SETS};
	uint32_t pid;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK_EQ(unwind_pool_nr_sets(sizes[i]), expected[i]);
		for (pid = 1; pid && pid < 1U << 31; pid *= 3)
			CHECK(unwind_process_set_of(pid, expected[i]) < expected[i]);
	}
}

/* A free range that cannot be recorded is lost, but never allocated twice; no error remains. */
TEST(unwind_pool_without_memory)
{
	const struct unwind_pool_fds no_maps = {-1, -1, -1};
	struct unwind_pool *pool;
	struct error error = {0};
	uint32_t place;

	(void)test_fail_allocation(1);
	CHECK(!unwind_pool_new(NULL, POOL_CHUNK_BYTES, &error));
	CHECK_EQ(error.code, -ENOMEM);
	CHECK(!unwind_pool_new(&no_maps, POOL_CHUNK_BYTES, &error));
	CHECK_EQ(error.code, -EBADF);
	pool = unwind_pool_new(NULL, POOL_CHUNK_BYTES, NULL);
	(void)test_fail_allocation(1);
	CHECK_EQ(unwind_pool_allocate(pool, LARGEST), 0);
	place = unwind_pool_allocate(pool, LARGEST / 2);
	CHECK(place != 0);
	(void)test_fail_allocation(1);
	unwind_pool_release(pool, place, LARGEST / 2);
	end_pool_epoch(pool);
	CHECK(!unwind_pool_allocate(pool, LARGEST) && unwind_pool_allocate(pool, LARGEST / 3));
	unwind_pool_free(pool);
}

/* --- tables ------------------------------------------------------------------------------------- */

struct unwind_memory {
	struct unwind_pool *pool;
};

static char *unwind_chunk(const struct unwind_memory *memory, uint32_t place)
{
	return unwind_pool_chunk(memory->pool, place);
}

/* Stricter than the kernel's macro: asserts that every access is in bounds and aligned. */
#define UNWIND_ITEM(chunk, offset, type)                              \
	((type *)(CHECK((offset) % sizeof(type) == 0 &&               \
			(offset) + sizeof(type) <= POOL_CHUNK_BYTES), \
		  (chunk) + (offset)))

#include "bpf/unwind_lookup.h"

#define POOL_BYTES (16UL << 20)
#define NUMBER	   7

static struct unwind_pool *open_pool(size_t bytes)
{
	struct unwind_pool *pool = unwind_pool_new(NULL, bytes, NULL);

	CHECK(pool != NULL);
	return pool;
}

static struct unwind_table pack(struct unwind_rows *rows)
{
	struct unwind_table table;

	CHECK_EQ(unwind_table_pack(&table, rows, EM_X86_64), 0);
	rows_free(rows);
	return table;
}

static struct unwind_table make_table(uint64_t seed, uint64_t start, size_t nr_rows)
{
	const struct row_wishes wishes = {.seed = seed,
					  .start = start,
					  .nr_rows = nr_rows,
					  .max_step = seed % 2 ? 40 : 3000,
					  .nr_rules = seed % 3 ? 300 : 4,
					  .wide_chance = (uint32_t)(seed % 5),
					  .gap_chance = 20};
	struct unwind_rows rows;

	rows_make(&rows, &wishes);
	return pack(&rows);
}

/* Compares at one offset; a wide rule must be equal as well. */
static void check_at(struct unwind_pool *pool, uint32_t number, const struct unwind_table *table,
		     uint64_t offset)
{
	const struct unwind_table_entry *entry = &unwind_pool_tables(pool)[number];
	struct unwind_memory memory = {pool};
	uint32_t packed = unwind_find_rule(&memory, entry, offset);
	struct unwind_rule rule;

	CHECK_EQ(packed, unwind_table_find(table, offset));
	if (UNWIND_PACKED_BASE(packed) != UNWIND_BASE_WIDE)
		return;
	CHECK_EQ(unwind_read_wide(&memory, entry, UNWIND_PACKED_NUMBER(packed), &rule), 0);
	CHECK(!memcmp(&rule, &table->wide[UNWIND_PACKED_NUMBER(packed)], sizeof(rule)));
}

static void check_everywhere(struct unwind_pool *pool, uint32_t number,
			     const struct unwind_table *table, uint64_t seed)
{
	const struct unwind_table_entry *entry = &unwind_pool_tables(pool)[number];
	uint64_t end = table->start + ((uint64_t)table->nr_pages << UNWIND_PAGE_SHIFT), i;
	uint64_t step = table->nr_pages / 4 + 1;
	struct unwind_memory memory = {pool};
	struct unwind_rule rule;

	CHECK_EQ(entry->state, UNWIND_TABLE_READY);
	for (i = table->start; i < end; i += 1 + fixture_random(&seed, (uint32_t)(20 * step)))
		check_at(pool, number, table, i);
	for (i = table->start; i <= end; i += 1 << UNWIND_PAGE_SHIFT) {
		check_at(pool, number, table, i - 1);
		check_at(pool, number, table, i);
	}
	for (i = 0; i < 63; i++)
		check_at(pool, number, table, i < 16 ? table->start >> i : end << (i - 16));
	CHECK(unwind_read_wide(&memory, entry, (uint32_t)table->nr_wide, &rule) < 0);
}

TEST(loaded_table_is_found_as_the_table_itself)
{
	uint64_t seed;

	for (seed = 1; seed <= 200; seed++) {
		uint64_t state = seed;
		uint32_t number = fixture_random(&state, UNWIND_MAX_TABLES);
		struct unwind_table table =
			make_table(seed, 0x10000 + fixture_random(&state, 1u << 26),
				   1 + fixture_random(&state, 3000));
		struct unwind_pool *pool = open_pool(POOL_BYTES);
		struct loaded_table loaded;

		CHECK_EQ(loaded_table_load(&loaded, pool, number, &table), 0);
		check_everywhere(pool, number, &table, seed);
		CHECK(unwind_pool_bytes(pool) >= loaded_table_bytes(&loaded));
		CHECK(unwind_pool_bytes(pool) <
		      loaded_table_bytes(&loaded) + 32 * loaded.nr_pieces);
		loaded_table_unload(&loaded, pool, UNWIND_TABLE_ABSENT);
		CHECK_EQ(unwind_pool_tables(pool)[number].state, UNWIND_TABLE_ABSENT);
		end_pool_epoch(pool);
		CHECK_EQ(unwind_pool_bytes(pool), 0);
		unwind_table_clear(&table);
		unwind_pool_free(pool);
	}
}

/* The middle of the large function is one shared page; the gap after it needs none. */
TEST(loaded_table_has_equal_pages_once_and_empty_ones_never)
{
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	struct loaded_table loaded;
	struct unwind_table table;
	struct unwind_rows rows;

	rows_make_large(&rows);
	table = pack(&rows);
	CHECK_EQ(loaded_table_load(&loaded, pool, NUMBER, &table), 0);
	CHECK_EQ(loaded.nr_pieces, 1 + 4); /* the directory; first, middle, last, after the gap */
	CHECK_EQ(loaded_table_bytes(&loaded), (table.nr_words + 0x151) * sizeof(uint32_t));
	check_everywhere(pool, NUMBER, &table, 1);
	loaded_table_clear(&loaded);
	unwind_table_clear(&table);
	unwind_pool_free(pool);
}

TEST(loaded_table_of_no_pages_says_nothing)
{
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	struct unwind_table table = {.machine = EM_X86_64};
	struct unwind_memory memory = {pool};
	struct loaded_table loaded;

	CHECK_EQ(loaded_table_load(&loaded, pool, NUMBER, &table), 0);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	CHECK(unwind_pool_allocate(pool, 1) != 0); /* so that there is a chunk */
	CHECK_EQ(unwind_find_rule(&memory, &unwind_pool_tables(pool)[NUMBER], 0),
		 UNWIND_PACKED_NONE);
	loaded_table_unload(&loaded, pool, UNWIND_TABLE_WANTED);
	unwind_pool_free(pool);
}

/* Running walks may still read it: all its bytes stay unchanged until the epoch ends. */
TEST(loaded_table_stays_readable_to_the_end_of_the_epoch)
{
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	struct unwind_table first = make_table(1, 0x1000, 2000),
			    other = make_table(2, 0x1000, 2000);
	struct loaded_table loaded, second;
	struct unwind_table_entry seen;
	struct unwind_memory memory = {pool};
	uint64_t offset;

	CHECK_EQ(loaded_table_load(&loaded, pool, NUMBER, &first), 0);
	seen = unwind_pool_tables(pool)[NUMBER];
	loaded_table_unload(&loaded, pool, UNWIND_TABLE_WANTED);
	CHECK_EQ(loaded_table_load(&second, pool, NUMBER + 1, &other), 0);
	for (offset = 0; offset < 0x30000; offset += 7)
		CHECK_EQ(unwind_find_rule(&memory, &seen, offset),
			 unwind_table_find(&first, offset));
	check_everywhere(pool, NUMBER + 1, &other, 1);
	loaded_table_clear(&second);
	unwind_table_clear(&first);
	unwind_table_clear(&other);
	unwind_pool_free(pool);
}

/* Fills a pool of one chunk; a table that does not fit leaves the loaded ones unchanged. */
TEST(loaded_table_without_room_changes_nothing)
{
	struct unwind_table table = make_table(7, 0x1000, 20000);
	struct unwind_pool *pool = open_pool(POOL_CHUNK_BYTES);
	struct loaded_table loaded[64];
	struct unwind_table_entry before;
	size_t nr = 0, bytes, i;
	int err = 0;

	while (err == 0 && nr < ARRAY_SIZE(loaded)) {
		end_pool_epoch(pool);
		bytes = unwind_pool_bytes(pool);
		unwind_pool_tables(pool)[nr].used_epoch = 42;
		before = unwind_pool_tables(pool)[nr];
		err = loaded_table_load(&loaded[nr], pool, (uint32_t)nr, &table);
		nr += err == 0;
	}
	CHECK_EQ(err, -ENOSPC);
	CHECK(nr >= 2 && nr < ARRAY_SIZE(loaded));
	CHECK(!memcmp(&before, &unwind_pool_tables(pool)[nr], sizeof(before)));
	CHECK(!loaded[nr].pieces && !loaded_table_bytes(&loaded[nr]));
	end_pool_epoch(pool);
	CHECK_EQ(unwind_pool_bytes(pool), bytes);
	for (i = 0; i < nr; i++) {
		check_everywhere(pool, (uint32_t)i, &table, i);
		loaded_table_unload(&loaded[i], pool, UNWIND_TABLE_WANTED);
	}
	end_pool_epoch(pool);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	unwind_table_clear(&table);
	unwind_pool_free(pool);
}

/* Sparse files may have code at any offset. */
TEST(loaded_table_of_code_too_far_behind)
{
	static const uint64_t starts[] = {1ULL << 34, 1ULL << 48, 1ULL << 62, UINT64_MAX << 20};
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct unwind_table table = make_table(3, starts[i], 10);
		struct loaded_table loaded;

		CHECK_EQ(loaded_table_load(&loaded, pool, NUMBER, &table), -E2BIG);
		CHECK_EQ(unwind_pool_tables(pool)[NUMBER].state, UNWIND_TABLE_WANTED);
		unwind_table_clear(&table);
	}
	end_pool_epoch(pool);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	unwind_pool_free(pool);
}

TEST(loaded_table_without_memory)
{
	struct unwind_table table = make_table(4, 0x1000, 20000);
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	struct loaded_table loaded;
	size_t nth;
	int err = -1;

	for (nth = 1; err; nth++) {
		(void)test_fail_allocation(nth);
		err = loaded_table_load(&loaded, pool, NUMBER, &table);
		(void)test_fail_allocation(0);
		CHECK(!err || ((err == -ENOMEM || err == -ENOSPC) && !loaded.pieces));
		CHECK_EQ(unwind_pool_tables(pool)[NUMBER].state,
			 err ? UNWIND_TABLE_WANTED : UNWIND_TABLE_READY);
		end_pool_epoch(pool);
		CHECK(!err || !unwind_pool_bytes(pool));
	}
	CHECK(nth > 3);
	check_everywhere(pool, NUMBER, &table, 1);
	loaded_table_clear(&loaded);
	unwind_table_clear(&table);
	unwind_pool_free(pool);
}
