/* sym/code_map, compared with an array that stores the range of each address. */
#include "sym/code_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

#define BASE  0x7f0000000000ULL
#define SPACE 256

/* For each address: its range (0: none), and the start of that range. */
struct model {
	uint32_t owner[SPACE];
	uint64_t start[SPACE];
	uint32_t nr;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static int add(struct code_map *map, uint64_t start, uint64_t bytes, const char *name)
{
	return code_map_add(map, start, bytes, name, strlen(name));
}

static const char *name_at(const struct code_map *map, uint64_t address)
{
	const char *name = code_map_find(map, address, NULL);

	return name ? name : "";
}

/* --- lookups ------------------------------------------------------------------------------- */

TEST(code_map_later_ranges_win)
{
	struct code_map *map = code_map_new();
	uint64_t start = 0;

	CHECK_EQ(add(map, 0x100, 0x100, "outer"), 0);
	CHECK_EQ(add(map, 0x140, 0x40, "inner"), 0);
	CHECK_EQ(add(map, 0x1f0, 0x20, "tail"), 0);
	CHECK_EQ(add(map, 0x300, 0, "empty"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), 4);
	CHECK_STR(name_at(map, 0xff), "");
	CHECK_STR(name_at(map, 0x100), "outer");
	CHECK_STR(name_at(map, 0x13f), "outer");
	CHECK_STR(code_map_find(map, 0x140, &start), "inner");
	CHECK_EQ(start, 0x140);
	CHECK_STR(code_map_find(map, 0x180, &start), "outer");
	CHECK_EQ(start, 0x100);
	CHECK_STR(name_at(map, 0x1ef), "outer");
	CHECK_STR(name_at(map, 0x1f0), "tail");
	CHECK_STR(name_at(map, 0x20f), "tail");
	CHECK_STR(name_at(map, 0x210), "");
	CHECK_STR(name_at(map, 0x300), "");
	code_map_free(map);
	code_map_free(NULL);
}

TEST(code_map_settles_again)
{
	struct code_map *map = code_map_new();
	uint64_t start = 0;

	CHECK_EQ(code_map_settle(map), 0);
	CHECK(!code_map_find(map, 0, NULL));
	CHECK_EQ(add(map, 0x100, 0x100, "first"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(add(map, 0x110, 0x10, "second"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(add(map, 0x118, 0x10, "third"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x10f), "first");
	CHECK_STR(name_at(map, 0x117), "second");
	CHECK_STR(name_at(map, 0x127), "third");
	CHECK_STR(code_map_find(map, 0x128, &start), "first");
	CHECK_EQ(start, 0x100);
	CHECK_EQ(add(map, 0, UINT64_MAX, "all"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), 1);
	code_map_free(map);
}

TEST(code_map_at_the_ends)
{
	struct code_map *map = code_map_new();

	CHECK_EQ(add(map, UINT64_MAX - 0x10, UINT64_MAX, "last"), 0);
	CHECK_EQ(add(map, UINT64_MAX, 1, "none"), 0);
	CHECK_EQ(add(map, 0, 0x10, "first"), 0);
	CHECK_EQ(add(map, 0x1000, UINT64_MAX, "long"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0), "first");
	CHECK_STR(name_at(map, 0x10), "");
	CHECK_STR(name_at(map, UINT64_MAX - 0x11), "");
	CHECK_STR(name_at(map, UINT64_MAX - 0x10), "last");
	CHECK_STR(name_at(map, UINT64_MAX - 1), "last");
	CHECK_STR(name_at(map, UINT64_MAX), "");
	CHECK_STR(name_at(map, 0x1000 + 0xfffffffeULL), "long");
	CHECK_STR(name_at(map, 0x1000 + 0xffffffffULL), "");
	code_map_free(map);
}

TEST(code_map_names)
{
	struct code_map *map = code_map_new();
	char *guarded = test_guarded("cut", 3);

	CHECK_EQ(code_map_add(map, 0x100, 0x10, "a\0b\0", 4), 0);
	CHECK_EQ(code_map_add(map, 0x200, 0x10, guarded, 3), 0);
	CHECK_EQ(code_map_add(map, 0x300, 0x20, guarded, 3), 0);
	CHECK_EQ(add(map, 0x310, 0x20, ""), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x100), "a?b?");
	CHECK_STR(name_at(map, 0x200), "cut");
	CHECK_STR(name_at(map, 0x30f), "cut");
	CHECK(!code_map_find(map, 0x310, NULL));
	CHECK(!code_map_find(map, 0x320, NULL));
	code_map_free(map);
}

/* --- compared with the model --------------------------------------------------------------- */

static void add_random(struct code_map *map, struct model *model, uint64_t *random)
{
	uint64_t start = next_random(random) % SPACE;
	uint64_t bytes = next_random(random) % (next_random(random) % 4 ? 16 : SPACE);
	char name[16];
	uint64_t i;

	if (bytes > SPACE - start)
		bytes = SPACE - start;
	snprintf(name, sizeof(name), "%u", ++model->nr);
	CHECK_EQ(add(map, BASE + start, bytes, name), 0);
	for (i = start; i < start + bytes; i++) {
		model->owner[i] = model->nr;
		model->start[i] = BASE + start;
	}
}

static void compare(const struct code_map *map, const struct model *model)
{
	size_t i, nr_pieces = 0;

	for (i = 0; i < SPACE; i++) {
		uint64_t start = 0;
		const char *name = code_map_find(map, BASE + i, &start);

		CHECK_EQ(name ? strtoul(name, NULL, 10) : 0, model->owner[i]);
		CHECK_EQ(start, model->start[i]);
		nr_pieces += model->owner[i] && (!i || model->owner[i - 1] != model->owner[i]);
	}
	CHECK_EQ(code_map_nr(map), nr_pieces);
	CHECK(!code_map_find(map, BASE - 1, NULL));
	CHECK(!code_map_find(map, BASE + SPACE, NULL));
}

TEST(code_map_as_the_model_has_it)
{
	uint64_t random = 7;
	size_t round;

	for (round = 0; round < 5000; round++) {
		struct code_map *map = code_map_new();
		struct model model = {0};
		size_t nr_settles = 1 + next_random(&random) % 3;

		while (nr_settles--) {
			size_t nr = next_random(&random) % (round % 10 ? 20 : 200);

			while (nr--)
				add_random(map, &model, &random);
			CHECK_EQ(round % 3 ? code_map_settle(map) : code_map_compact(map), 0);
			compare(map, &model);
		}
		code_map_free(map);
	}
}

/* --- limits -------------------------------------------------------------------------------- */

TEST(code_map_full)
{
	struct code_map *map = code_map_new();
	size_t nr;

	for (nr = 0; nr < CODE_MAP_MAX_RANGES; nr++)
		if (add(map, (CODE_MAP_MAX_RANGES - nr) * 16, 24, "same") < 0)
			break;
	CHECK_EQ(nr, CODE_MAP_MAX_RANGES);
	CHECK_EQ(add(map, 0, 16, "more"), -ENOSPC);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), CODE_MAP_MAX_RANGES);
	CHECK_STR(name_at(map, 16), "same");
	CHECK(code_map_bytes(map) < CODE_MAP_MAX_RANGES * 24ULL + 1000);
	code_map_free(map);
}

TEST(code_map_full_of_names)
{
	static char name[1 << 20];
	struct code_map *map = code_map_new();
	uint64_t nr = 0;
	int err;

	memset(name, 'n', sizeof(name));
	do {
		name[nr % 16] ^= 1; /* differs from the previous name */
		err = code_map_add(map, nr * 16, 16, name, sizeof(name) - 1);
	} while (err == 0 && ++nr < 1000);
	CHECK_EQ(err, -ENOSPC);
	CHECK_EQ(nr, CODE_MAP_MAX_NAME_BYTES / sizeof(name));
	CHECK_EQ(code_map_settle(map), 0);
	CHECK(code_map_find(map, 16 * nr - 1, NULL));
	CHECK(!code_map_find(map, 16 * nr, NULL));
	code_map_free(map);
}

/* Adds one more round of functions that a program compiles again at the same addresses. */
static int add_round(struct code_map *map, unsigned int round, uint64_t nr)
{
	uint64_t i;
	int err = 0;

	for (i = 0; i < nr && err == 0; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%u of round %u", (unsigned int)i, round);
		err = add(map, BASE + i * 16, 16, name);
	}
	return err;
}

#define CHURN_BYTES  (4u << 20)
#define CHURN_RANGES 20000
#define CHURN_ROUNDS 40

TEST(code_map_stays_small_when_overwritten)
{
	struct code_map *map = code_map_new();
	unsigned int round;

	code_map_limit(map, CHURN_BYTES);
	for (round = 0; round < CHURN_ROUNDS; round++) {
		CHECK_EQ(add_round(map, round, CHURN_RANGES), 0);
		CHECK(round % 3 || code_map_settle(map) == 0);
		CHECK(code_map_bytes(map) <= CHURN_BYTES);
	}
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), CHURN_RANGES);
	CHECK_STR(name_at(map, BASE), "f0 of round 39");
	CHECK_STR(name_at(map, BASE + 17777 * 16 + 5), "f17777 of round 39");
	CHECK_EQ(code_map_compact(map), 0);
	CHECK(code_map_bytes(map) < CHURN_RANGES * (24 + sizeof("f17777 of round 39")) + 1000);
	CHECK_STR(name_at(map, BASE + 19999 * 16 + 15), "f19999 of round 39");
	code_map_free(map);
}

/* Live ranges are not dropped: the map is full, and takes new ranges once its limit is raised. */
TEST(code_map_limited)
{
	struct code_map *map = code_map_new();
	size_t nr;

	code_map_limit(map, 1 << 20);
	CHECK_EQ(add_round(map, 0, 100000), -ENOSPC);
	CHECK_EQ(add_round(map, 1, 10), -ENOSPC);
	nr = code_map_nr(map);
	CHECK(nr > (1 << 20) / 80 && nr < (1 << 20) / 48);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), nr);
	CHECK_STR(name_at(map, BASE), "f0 of round 0");
	code_map_limit(map, 2 << 20);
	CHECK_EQ(add_round(map, 1, 10), 0);
	CHECK_EQ(code_map_compact(map), 0);
	CHECK_STR(name_at(map, BASE), "f0 of round 1");
	CHECK_STR(name_at(map, BASE + 160), "f10 of round 0");
	code_map_free(map);
}

/* A name that several pieces share is stored once, and the last name stays the last. */
TEST(code_map_compacts_names)
{
	struct code_map *map = code_map_new();
	size_t bytes;

	CHECK_EQ(code_map_compact(map), 0);
	CHECK_EQ(add(map, 0x500, 0x10, "gone"), 0);
	CHECK_EQ(add(map, 0x100, 0x100, "outer"), 0);
	CHECK_EQ(add(map, 0x140, 0x10, "inner"), 0);
	CHECK_EQ(add(map, 0x500, 0x10, "last"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	bytes = code_map_bytes(map);
	CHECK_EQ(code_map_compact(map), 0);
	CHECK_EQ(code_map_bytes(map), bytes - sizeof("gone"));
	CHECK_EQ(add(map, 0x600, 0x10, "last"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x13f), "outer");
	CHECK_STR(name_at(map, 0x140), "inner");
	CHECK_STR(name_at(map, 0x150), "outer");
	CHECK_STR(name_at(map, 0x500), "last");
	CHECK_STR(name_at(map, 0x600), "last");
	code_map_free(map);
}

/* Nested ranges, and a separate start for each piece: the heap must not grow or be searched. */
TEST(code_map_deeply_nested)
{
	const uint64_t depth = 200000;
	struct code_map *map = code_map_new();
	uint64_t i;

	for (i = 0; i < depth; i++)
		CHECK_EQ(add(map, i, 2 * (depth - i), i % 2 ? "odd" : "even"), 0);
	for (i = 0; i < depth; i++)
		CHECK_EQ(add(map, 4 * depth - i, 2 * i + 1, i % 2 ? "odd" : "even"), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0), "even");
	CHECK_STR(name_at(map, depth), "odd");
	CHECK_STR(name_at(map, 2 * depth - 1), "even");
	CHECK_STR(name_at(map, 4 * depth), "odd");
	code_map_free(map);
}

#define STEPS 200

/* Start of the i-th range of 20 bytes: each address is in up to three ranges. */
static uint64_t start_of(size_t i)
{
	return i * 37 % STEPS * 8;
}

static size_t owner_of(uint64_t address)
{
	size_t i, owner = 0;

	for (i = 0; i < STEPS; i++)
		if (address - start_of(i) < 20)
			owner = i;
	return owner;
}

/* Repeats failed additions until all are in; settled ranges are found after each failure. */
static size_t build_with_failures(size_t nth)
{
	struct code_map *map;
	size_t i, nr_failures = 0;

	test_fail_allocation(nth);
	while (!(map = code_map_new()))
		nr_failures++;
	for (i = 0; i < STEPS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%zu", i);
		while (add(map, start_of(i), 20, name) < 0)
			nr_failures++;
		while (i % 50 == 49 && code_map_settle(map) < 0) {
			CHECK(i < 50 || code_map_find(map, start_of(1), NULL));
			nr_failures++;
		}
	}
	test_fail_allocation(0);
	for (i = 0; i < STEPS * 8; i++)
		CHECK_EQ(strtoul(name_at(map, i), NULL, 10), owner_of(i));
	code_map_free(map);
	return nr_failures;
}

TEST(code_map_out_of_memory)
{
	size_t nth, nr_failures = 0;

	for (nth = 1; nth < 100; nth++)
		nr_failures += build_with_failures(nth);
	CHECK(nr_failures > 20);
}
