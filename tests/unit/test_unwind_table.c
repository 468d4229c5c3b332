/*
 * elf/unwind/unwind_table: every address must have the rule of its row. Rows are handmade or
 * pseudo-random with a fixed seed.
 */
#include "elf/unwind/unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/test.h"
#include "unit/unwind_fixture.h"
#include "unit/unwind_reading.h"

/* --- single rules -------------------------------------------------------------------------- */

#define X86   EM_X86_64
#define ARM64 EM_AARCH64

#define SAME                      \
	{                         \
		UNWIND_SAME, 0, 0 \
	}
#define LOST                      \
	{                         \
		UNWIND_LOST, 0, 0 \
	}
#define AT(bytes)                       \
	{                               \
		UNWIND_AT_CFA, 0, bytes \
	}
#define RULE(reg, offset, ra, fp)                                 \
	{                                                         \
		UNWIND_CFA_REGISTER, reg, 0, 0, offset, 0, ra, fp \
	}

struct form {
	uint16_t machine;
	struct unwind_rule rule;
	uint32_t packed;
};

TEST(unwind_pack_forms)
{
	static const struct form forms[] = {
		{X86, {.cfa = UNWIND_CFA_NONE}, UNWIND_PACKED_NONE},
		{X86, {.cfa = UNWIND_CFA_END}, UNWIND_PACKED_END},
		{X86, RULE(7, 8, AT(-8), SAME),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 1, 0)},
		{X86, RULE(7, 4095 * 8, AT(-8), SAME),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 4095, 0)},
		{X86, RULE(6, 16, AT(-8), AT(-16)),
		 UNWIND_PACK(UNWIND_BASE_FP, UNWIND_SAVED_TOP_FP, 2, 2)},
		{X86, RULE(7, 2000, AT(-8), AT(-127 * 8)),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP_FP, 250, 127)},
		{ARM64, RULE(31, 0, SAME, SAME),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_LR, 0, 0)},
		{ARM64, RULE(31, 32, AT(-24), AT(-32)),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_PAIR, 4, 4)},
		{ARM64, RULE(29, 32, AT(-8), AT(-16)),
		 UNWIND_PACK(UNWIND_BASE_FP, UNWIND_SAVED_PAIR, 4, 2)},
		{ARM64, RULE(31, 4096, AT(-4088), AT(-4096)),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_AT_BASE, 512, 0)},
		{ARM64, RULE(31, 32, AT(-16), SAME),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_RA, 4, 2)},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		struct unwind_rule expanded;
		uint32_t packed = 0;

		CHECK(unwind_pack_rule(&forms[i].rule, forms[i].machine, &packed));
		CHECK_EQ(packed, forms[i].packed);
		CHECK(unwind_pack_is_sound(packed, forms[i].machine, 0));
		expanded = unwind_pack_expand(packed, forms[i].machine);
		CHECK(!memcmp(&expanded, &forms[i].rule, sizeof(expanded)));
	}
}

TEST(unwind_pack_leaves_the_odd_to_wide_rules)
{
	static const struct form odd[] = {
		{X86, RULE(7, 12, AT(-8), SAME), 0},
		{X86, RULE(7, -8, AT(-8), SAME), 0},
		{X86, RULE(7, 4096 * 8, AT(-8), SAME), 0},
		{X86, RULE(7, INT32_MIN, AT(-8), SAME), 0},
		{X86, RULE(10, 8, AT(-8), SAME), 0},
		{X86, RULE(31, 8, AT(-8), SAME), 0},
		{X86, RULE(7, 8, SAME, SAME), 0},
		{X86, RULE(7, 8, LOST, SAME), 0},
		{X86, RULE(7, 8, AT(-16), SAME), 0},
		{X86, RULE(7, 16, AT(-8), AT(-12)), 0},
		{X86, RULE(7, 16, AT(-8), AT(8)), 0},
		{X86, RULE(7, 16, AT(-8), AT(-128 * 8)), 0},
		{X86, RULE(7, 16, AT(-8), AT(INT32_MIN)), 0},
		{X86, {UNWIND_CFA_REGISTER, 7, 1, 0, 8, 0, AT(-8), SAME}, 0},
		{X86, {UNWIND_CFA_REGISTER, 7, 0, 0, 8, 0, AT(-8), {UNWIND_IN_REGISTER, 3, 0}}, 0},
		{X86, {UNWIND_CFA_MEMORY, 7, 0, 0, 8, 0, AT(-8), SAME}, 0},
		{X86, {UNWIND_CFA_PLT, 0, 0, 0, 0, 11, AT(-8), SAME}, 0},
		{X86, {.cfa = UNWIND_CFA_SIGNAL}, 0},
		{ARM64, RULE(7, 8, AT(-8), SAME), 0},
		{ARM64, RULE(31, 16, SAME, AT(-16)), 0},
		{ARM64, RULE(31, 16, LOST, SAME), 0},
		{ARM64, RULE(31, 32, AT(-32), AT(-24)), 0},
		{ARM64, RULE(31, 4096, AT(-4080), AT(-4088)), 0},
		{ARM64, RULE(31, INT32_MIN, AT(INT32_MIN), AT(INT32_MAX)), 0},
		{EM_RISCV, RULE(7, 8, AT(-8), SAME), 0},
	};
	uint32_t packed = 42;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(odd); i++)
		CHECK(!unwind_pack_rule(&odd[i].rule, odd[i].machine, &packed));
	CHECK_EQ(packed, 42);
}

/* Any valid 24 bits encode a rule, and packing it again gives an equivalent encoding. */
TEST(unwind_pack_of_every_sound_rule)
{
	static const uint16_t known[] = {X86, ARM64};
	size_t i, nr_sound = 0;
	uint32_t packed, again;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		for (packed = 0; packed < 1 << 25; packed += 7) {
			struct unwind_rule rule = unwind_pack_expand(packed, known[i]), same;

			if (!unwind_pack_is_sound(packed, known[i], 0)) {
				CHECK_EQ(rule.cfa, UNWIND_CFA_NONE);
				continue;
			}
			CHECK(rule.cfa > UNWIND_CFA_SIGNAL || unwind_pack_wide_is_sound(&rule));
			CHECK(unwind_pack_rule(&rule, known[i], &again));
			same = unwind_pack_expand(again, known[i]);
			CHECK(!memcmp(&same, &rule, sizeof(rule)));
			nr_sound++;
		}
	CHECK(nr_sound > 100000);
}

TEST(unwind_pack_of_a_lost_frame_pointer)
{
	static const struct unwind_rule lost = RULE(7, 8, AT(-8), LOST),
					same = RULE(7, 8, AT(-8), SAME);
	uint32_t a = 1, b = 2;

	CHECK(unwind_pack_rule(&lost, X86, &a) && unwind_pack_rule(&same, X86, &b));
	CHECK_EQ(a, b);
}

/* --- tables -------------------------------------------------------------------------------- */

/* Compares at both ends of each row. */
static void check_rows(const struct unwind_table *table, const struct unwind_rows *rows)
{
	uint64_t page_bytes = 1 << UNWIND_PAGE_SHIFT;
	size_t i;

	for (i = 0; i < rows->nr_rows; i++) {
		const struct unwind_row *row = &rows->rows[i];
		uint64_t end = i + 1 < rows->nr_rows ? row[1].address : row->address + 1;
		const uint64_t places[] = {
			row->address,
			row->address + (end - row->address) / 2,
			end - 1,
			/* The last byte of a page, and the first of the next one. */
			(row->address | (page_bytes - 1)) < end ? row->address | (page_bytes - 1)
								: row->address,
			(row->address | (page_bytes - 1)) + 1 < end
				? (row->address | (page_bytes - 1)) + 1
				: row->address,
		};
		size_t place;

		for (place = 0; place < ARRAY_SIZE(places); place++) {
			struct unwind_rule found =
				unwind_table_unpack(table, unwind_table_find(table, places[place]));

			CHECK(!memcmp(&found, &rows->rules[row->rule], sizeof(found)));
		}
	}
}

static void check_outside(const struct unwind_table *table)
{
	uint64_t end = table->start + ((uint64_t)table->nr_pages << UNWIND_PAGE_SHIFT);

	CHECK_EQ(unwind_table_find(table, table->start - 1), UNWIND_PACKED_NONE);
	CHECK_EQ(unwind_table_find(table, end), UNWIND_PACKED_NONE);
	CHECK_EQ(unwind_table_find(table, end + (1ULL << 33)), UNWIND_PACKED_NONE);
	CHECK_EQ(unwind_table_find(table, UINT64_MAX), UNWIND_PACKED_NONE);
}

/* Packs and checks the rows, and frees them; the caller owns the table. */
static struct unwind_table pack(struct unwind_rows *rows)
{
	struct unwind_table table;

	CHECK_EQ(unwind_table_pack(&table, rows, X86), 0);
	CHECK_EQ(unwind_table_check(&table), 0);
	CHECK_EQ(table.nr_rows, rows->nr_rows);
	CHECK_EQ(table.nr_rows_dropped, 0);
	check_rows(&table, rows);
	rows_free(rows);
	return table;
}

TEST(unwind_table_of_random_rows)
{
	uint32_t seed;

	for (seed = 0; seed < 3000; seed++) {
		uint64_t state = seed;
		const struct row_wishes wishes = {
			.seed = seed,
			.start = fixture_random(&state, 1u << 30),
			.nr_rows = 1 + fixture_random(&state, 500),
			.max_step = 1 + fixture_random(&state, seed % 2 ? 40 : 3000),
			.nr_rules = 2 + fixture_random(&state, seed % 3 ? 300 : 4),
			.wide_chance = seed % 16,
			.gap_chance = 20,
		};
		struct unwind_table table;
		struct unwind_rows rows;

		rows_make(&rows, &wishes);
		table = pack(&rows);
		check_outside(&table);
		unwind_table_clear(&table);
	}
}

TEST(unwind_table_without_rows)
{
	struct unwind_table table;
	struct unwind_rows rows;

	rows_init(&rows);
	table = pack(&rows);
	CHECK_EQ(table.nr_pages, 0);
	CHECK_EQ(unwind_table_bytes(&table), 0);
	CHECK_EQ(unwind_table_find(&table, 0), UNWIND_PACKED_NONE);
	unwind_table_clear(&table);

	/* Rows, but none with a rule. */
	rows_init(&rows);
	rows_add(&rows, 0x1000, 0);
	table = pack(&rows);
	CHECK_EQ(table.nr_pages, 0);
	unwind_table_clear(&table);
	unwind_table_clear(&table);
}

/* One row per byte, all different; identical buckets are stored once. */
TEST(unwind_table_of_full_buckets)
{
	struct unwind_table table;
	struct unwind_rows rows;
	uint32_t i;

	rows_init(&rows);
	for (i = 1; i <= 256; i++)
		(void)rows_add_rule(&rows, fixture_packable(i));
	for (i = 0; i < 1 << UNWIND_PAGE_SHIFT; i++)
		rows_add(&rows, 0x20000 + i, 1 + i % 256);
	rows_add(&rows, 0x20000 + i, 0);
	table = pack(&rows);
	CHECK_EQ(table.nr_pages, 1);
	CHECK_EQ(table.nr_words, 256 + 256);
	unwind_table_clear(&table);

	rows_init(&rows);
	for (i = 1; i <= 1 << UNWIND_PAGE_SHIFT; i++) {
		(void)rows_add_rule(&rows, fixture_packable(i));
		rows_add(&rows, 0x20000 + i - 1, i);
	}
	rows_add(&rows, 0x20000 + i - 1, 0);
	table = pack(&rows);
	CHECK_EQ(table.nr_words, 256 + UNWIND_PAGE_MAX_ROWS);
	unwind_table_clear(&table);
}

/* Rows that begin and end at, just before, and just after the ends of buckets and pages. */
TEST(unwind_table_at_the_edges)
{
	static const uint64_t edges[] = {0x100, 0x10000, 0x20000};
	int64_t from, to;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		for (from = -2; from <= 2; from++)
			for (to = from + 1; to <= 3; to++) {
				struct unwind_table table;
				struct unwind_rows rows;

				rows_init(&rows);
				(void)rows_add_rule(&rows, fixture_packable(8));
				rows_add(&rows, edges[i] + (uint64_t)from, 1);
				rows_add(&rows, edges[i] + (uint64_t)to, 0);
				rows_add(&rows, edges[i] + 4, 1);
				rows_add(&rows, edges[i] + 5, 0);
				table = pack(&rows);
				check_outside(&table);
				unwind_table_clear(&table);
			}
}

/* The pages in the middle of the large function are shared. */
TEST(unwind_table_of_a_large_function_and_a_large_gap)
{
	struct unwind_table table;
	struct unwind_rows rows;

	rows_make_large(&rows);
	table = pack(&rows);
	CHECK_EQ(table.start, 0x400000);
	CHECK_EQ(table.nr_pages, 0x111);
	/* First, middle, last, and the page after the gap; the rows of two buckets. */
	CHECK_EQ(table.nr_words, 4 * 256 + 3 + 2);
	CHECK_EQ(table.pages[1], table.pages[15]);
	CHECK_EQ(table.pages[0x20], UNWIND_NO_PAGE);
	unwind_table_clear(&table);
}

/* Addresses at the very end of the address space; the last row has no end row. */
TEST(unwind_table_at_the_end_of_all_addresses)
{
	struct unwind_table table;
	struct unwind_rows rows;

	rows_init(&rows);
	(void)rows_add_rule(&rows, fixture_packable(8));
	rows_add(&rows, UINT64_MAX - 0x10010, 1);
	rows_add(&rows, UINT64_MAX - 0x10000, 0);
	rows_add(&rows, UINT64_MAX - 1, 1);
	CHECK_EQ(unwind_table_pack(&table, &rows, X86), 0);
	CHECK_EQ(unwind_table_check(&table), 0);
	CHECK_EQ(table.nr_pages, 2);
	CHECK_EQ(unwind_table_find(&table, UINT64_MAX - 2), UNWIND_PACKED_NONE);
	CHECK(unwind_table_find(&table, UINT64_MAX - 1) != UNWIND_PACKED_NONE);
	CHECK(unwind_table_find(&table, UINT64_MAX) != UNWIND_PACKED_NONE);
	CHECK_EQ(unwind_table_find(&table, 0), UNWIND_PACKED_NONE);
	unwind_table_clear(&table);
	rows_free(&rows);
}

TEST(unwind_table_too_far_apart)
{
	uint64_t limit = (uint64_t)UNWIND_TABLE_MAX_PAGES << UNWIND_PAGE_SHIFT;
	struct unwind_table table;
	struct unwind_rows rows;

	rows_init(&rows);
	(void)rows_add_rule(&rows, fixture_packable(8));
	rows_add(&rows, 0, 0); /* rows before the first rule are ignored */
	rows_add(&rows, limit * 2, 1);
	rows_add(&rows, limit * 2 + 1, 0);
	rows_add(&rows, limit * 3 - 1, 1);
	rows_add(&rows, limit * 3, 0);
	CHECK_EQ(unwind_table_pack(&table, &rows, X86), 0);
	CHECK_EQ(table.nr_pages, UNWIND_TABLE_MAX_PAGES);
	CHECK_EQ(unwind_table_check(&table), 0);
	unwind_table_clear(&table);
	rows.rows[4].address++;
	CHECK_EQ(unwind_table_pack(&table, &rows, X86), -E2BIG);
	unwind_table_clear(&table);
	rows.rows[3].address = UINT64_MAX - 1;
	rows.rows[4].address = UINT64_MAX;
	CHECK_EQ(unwind_table_pack(&table, &rows, X86), -E2BIG);
	unwind_table_clear(&table);
	rows_free(&rows);
}

/* Wide rules past the limit, and rules with an invalid register, become "no rule". */
TEST(unwind_table_drops_wide_rules)
{
	struct unwind_rule broken = fixture_wide(1);
	struct unwind_table table;
	struct unwind_rows rows;
	uint32_t i;

	rows_init(&rows);
	broken.fp.reg = UNWIND_NR_REGS;
	(void)rows_add_rule(&rows, broken);
	for (i = 0; i < UNWIND_MAX_WIDE + 10; i++)
		rows_add(&rows, 16 + 8 * i, rows_add_rule(&rows, fixture_wide(i)));
	rows_add(&rows, 16 + 8 * i, 1);
	rows_add(&rows, 24 + 8 * i, 0);
	CHECK_EQ(unwind_table_pack(&table, &rows, X86), 0);
	CHECK_EQ(table.nr_wide, UNWIND_MAX_WIDE);
	CHECK_EQ(table.nr_rows_dropped, 11);
	CHECK_EQ(unwind_table_check(&table), 0);
	rows.nr_rows = UNWIND_MAX_WIDE;
	check_rows(&table, &rows);
	for (; i > UNWIND_MAX_WIDE; i--)
		CHECK_EQ(unwind_table_find(&table, 16 + 8 * i), UNWIND_PACKED_NONE);
	unwind_table_clear(&table);
	rows_free(&rows);
}

/* The same rows for another machine: other rules fit into 24 bits, but lookups give the same. */
TEST(unwind_table_of_another_machine)
{
	static const uint16_t others[] = {ARM64, EM_RISCV};
	const struct row_wishes wishes = {1, 0x1000, 1000, 40, 100, 0, 20};
	struct unwind_table table;
	struct unwind_rows rows;
	size_t i;

	rows_make(&rows, &wishes);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		CHECK_EQ(unwind_table_pack(&table, &rows, others[i]), 0);
		CHECK_EQ(table.nr_wide, 99);
		check_rows(&table, &rows);
		CHECK_EQ(unwind_table_check(&table), others[i] == ARM64 ? 0 : -EINVAL);
		unwind_table_clear(&table);
	}
	rows_free(&rows);
}

TEST(unwind_table_out_of_memory)
{
	const struct row_wishes wishes = {1, 0x1000, 20000, 40, 100, 10, 20};
	struct unwind_table table;
	struct unwind_rows rows;
	size_t nth;
	int err;

	rows_make(&rows, &wishes);
	for (nth = 1;; nth++) {
		(void)test_fail_allocation(nth);
		err = unwind_table_pack(&table, &rows, X86);
		(void)test_fail_allocation(0);
		if (!err && nth > 8)
			break;
		CHECK(err == 0 || err == -ENOMEM);
		unwind_table_clear(&table);
	}
	check_rows(&table, &rows);
	unwind_table_clear(&table);
	rows_free(&rows);
}

/* --- malformed tables ---------------------------------------------------------------------- */

/*
 * Checks a copy with exact-size arrays, so that AddressSanitizer sees every access past their ends.
 * A damaged table is either refused, or lookups stay inside it.
 */
static bool survives(const struct unwind_table *table)
{
	uint64_t address, end = table->start + ((uint64_t)table->nr_pages << UNWIND_PAGE_SHIFT);

	if (unwind_table_check(table) < 0)
		return false;
	for (address = table->start; address < end; address += 61) {
		uint32_t packed = unwind_table_find(table, address);

		CHECK(unwind_pack_is_sound(packed, table->machine, table->nr_wide));
		(void)unwind_table_unpack(table, packed);
	}
	return true;
}

TEST(unwind_table_check_refuses)
{
	const struct row_wishes wishes = {1, 0x1000, 6000, 40, 100, 10, 20};
	struct unwind_table table, copy;
	struct unwind_rows rows;
	uint32_t saved;

	rows_make(&rows, &wishes);
	table = pack(&rows);
	CHECK(table.nr_pages > 1 && table.nr_wide > 1 && table.pages[1] != UNWIND_NO_PAGE);
	CHECK(survives(&table));

#define REFUSES(change)                           \
	do {                                      \
		copy = table;                     \
		change;                           \
		CHECK(unwind_table_check(&copy)); \
	} while (0)
#define REFUSES_WORD(word, change)                 \
	do {                                       \
		saved = word;                      \
		word = change;                     \
		CHECK(unwind_table_check(&table)); \
		word = saved;                      \
	} while (0)

	REFUSES(copy.machine = EM_386);
	REFUSES(copy.start += 0x100);
	REFUSES(copy.start = UINT64_MAX - 0xffff);
	REFUSES(copy.nr_pages--);
	REFUSES(copy.nr_words--);
	REFUSES(copy.nr_wide = UNWIND_MAX_WIDE + 1);
	REFUSES(copy.nr_wide = 0);
	REFUSES_WORD(table.pages[0], 1);
	REFUSES_WORD(table.pages[1], 0);
	REFUSES_WORD(table.pages[1], UNWIND_NO_PAGE);
	REFUSES_WORD(table.page_words[0], table.page_words[0] - 1);
	REFUSES_WORD(table.page_words[0], 255);
	REFUSES_WORD(table.page_words[1], UINT32_MAX);
	REFUSES_WORD(table.words[9], 0);
	REFUSES_WORD(table.words[9], UNWIND_INDEX(0, 257));
	REFUSES_WORD(table.words[9], UNWIND_INDEX(table.page_words[0] - 256, 1));
	REFUSES_WORD(table.words[9], UNWIND_INDEX(1, 1)); /* starts after byte 0 */
	REFUSES_WORD(table.words[9], UNWIND_INDEX_RULE | 1 << 24);
	REFUSES_WORD(table.words[9],
		     UNWIND_INDEX_RULE | UNWIND_PACK_NUMBER(UNWIND_BASE_WIDE, table.nr_wide));
	REFUSES_WORD(table.words[9],
		     UNWIND_INDEX_RULE | UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, UNWIND_CFA_PLT));
	REFUSES_WORD(table.words[257],
		     UNWIND_ROW(9, UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_PAIR, 1, 1)));
	REFUSES_WORD(table.wide[1].cfa, UNWIND_CFA_SIGNAL + 1);
	REFUSES_WORD(table.wide[1].reg, UNWIND_NR_REGS);
	REFUSES_WORD(table.wide[1].ra.where, UNWIND_LOST + 1);
	REFUSES_WORD(table.wide[1].fp.reg, 255);
	CHECK(survives(&table));
	unwind_table_clear(&table);
}

TEST(unwind_table_damaged)
{
	const struct row_wishes wishes = {2, 0x1000, 3000, 30, 100, 10, 20};
	size_t round, nr_survived = 0;
	struct unwind_table table;
	struct unwind_rows rows;
	uint64_t state = 3;

	rows_make(&rows, &wishes);
	table = pack(&rows);
	for (round = 0; round < 4000; round++) {
		uint32_t at = fixture_random(&state, (uint32_t)table.nr_words);
		uint32_t bit = 1u << fixture_random(&state, 32);

		table.words[at] ^= bit;
		nr_survived += survives(&table);
		table.words[at] ^= bit;
	}
	/* Damage may turn a rule into another valid one. */
	CHECK(nr_survived > 0 && nr_survived < round);
	unwind_table_clear(&table);
}
