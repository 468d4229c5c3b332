/*
 * collect/unwind/loaded_table and bpf/unwind_lookup.h: what the kernel side finds in the pool is what
 * unwind_table_find() finds in the table.
 */
#include "collect/unwind/loaded_table.h"

#include <errno.h>
#include <string.h>

#include "unit/test.h"
#include "unit/unwind_fixture.h"

struct unwind_memory {
	struct unwind_pool *pool;
};

static char *unwind_chunk(const struct unwind_memory *memory, uint32_t place)
{
	return unwind_pool_chunk(memory->pool, place);
}

/* Stricter than the kernel's: nothing that is asked for is out of bounds or not aligned. */
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

/* Compares at one offset; a wide rule has to be the same as well. */
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
		unwind_pool_epoch_ended(pool);
		CHECK_EQ(unwind_pool_bytes(pool), 0);
		unwind_table_clear(&table);
		unwind_pool_free(pool);
	}
}

/* The large function's middle is one page, the gap behind it is none. */
TEST(loaded_table_has_equal_pages_once_and_empty_ones_never)
{
	struct unwind_pool *pool = open_pool(POOL_BYTES);
	struct loaded_table loaded;
	struct unwind_table table;
	struct unwind_rows rows;

	rows_make_large(&rows);
	table = pack(&rows);
	CHECK_EQ(loaded_table_load(&loaded, pool, NUMBER, &table), 0);
	CHECK_EQ(loaded.nr_pieces, 1 + 4); /* the directory; first, middle, last, behind the gap */
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

/* Walks that run may still read it: all its bytes are as they were until the epoch ends. */
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

/* Fills a pool of one chunk; what does not fit changes nothing of what did. */
TEST(loaded_table_without_room_changes_nothing)
{
	struct unwind_table table = make_table(7, 0x1000, 20000);
	struct unwind_pool *pool = open_pool(POOL_CHUNK_BYTES);
	struct loaded_table loaded[64];
	struct unwind_table_entry before;
	size_t nr = 0, bytes, i;
	int err = 0;

	while (err == 0 && nr < ARRAY_SIZE(loaded)) {
		unwind_pool_epoch_ended(pool);
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
	unwind_pool_epoch_ended(pool);
	CHECK_EQ(unwind_pool_bytes(pool), bytes);
	for (i = 0; i < nr; i++) {
		check_everywhere(pool, (uint32_t)i, &table, i);
		loaded_table_unload(&loaded[i], pool, UNWIND_TABLE_WANTED);
	}
	unwind_pool_epoch_ended(pool);
	CHECK_EQ(unwind_pool_bytes(pool), 0);
	unwind_table_clear(&table);
	unwind_pool_free(pool);
}

/* Sparse files may have code anywhere. */
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
	unwind_pool_epoch_ended(pool);
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
		unwind_pool_epoch_ended(pool);
		CHECK(!err || !unwind_pool_bytes(pool));
	}
	CHECK(nth > 3);
	check_everywhere(pool, NUMBER, &table, 1);
	loaded_table_clear(&loaded);
	unwind_table_clear(&table);
	unwind_pool_free(pool);
}
