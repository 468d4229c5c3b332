/*
 * base/hash: keys that differ in anything get other values, in the bits that tables use. The map,
 * against an array that is indexed by the key.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

#define MOST_BYTES 70

TEST(hash_key_reads_no_more_than_there_is)
{
	char text[MOST_BYTES];
	size_t nr;

	memset(text, 'x', sizeof(text));
	for (nr = 0; nr <= MOST_BYTES; nr++)
		CHECK_EQ(hash_key(test_guarded(text, nr), nr), hash_key(text, nr));
	CHECK_EQ(hash_key(NULL, 0), hash_key("", 0));
}

TEST(hash_key_sees_every_bit)
{
	uint8_t bytes[MOST_BYTES] = {0};
	size_t nr, bit;

	for (nr = 1; nr <= MOST_BYTES; nr++) {
		uint64_t zeros = hash_key(bytes, nr);

		CHECK(zeros != hash_key(bytes, nr - 1));
		for (bit = 0; bit < 8 * nr; bit++) {
			uint64_t changed;

			bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			changed = zeros ^ hash_key(bytes, nr);
			CHECK(__builtin_popcountll(changed) >= 10);
			CHECK((uint32_t)changed != 0);
			bytes[bit / 8] = 0;
		}
	}
}

/*
 * A fair hash puts 100,000 keys into 83,139 of 2^18 buckets, with a standard deviation of 101. The
 * secret is another one in each run: the bounds are almost six of these away.
 */
static void check_spread(uint64_t (*hash)(uint32_t i))
{
	enum { NR_KEYS = 100000, NR_BUCKETS = 1 << 18 };
	uint8_t *seen = calloc(NR_BUCKETS, 1);
	size_t nr = 0;
	uint32_t i;

	CHECK(seen != NULL);
	for (i = 0; i < NR_KEYS; i++) {
		uint8_t *bucket = &seen[hash(i) % NR_BUCKETS];

		nr += !*bucket;
		*bucket = 1;
	}
	CHECK(nr > 82550 && nr < 83730);
	free(seen);
}

static uint64_t hash_of_text(uint32_t i)
{
	char text[32];

	return hash_key(text, (size_t)snprintf(text, sizeof(text), "scope::function_%u", i));
}

static uint64_t hash_of_stack(uint32_t i)
{
	const uint32_t frames[] = {i % 10, i / 10 % 100, 7, 8, 9, i / 1000};

	return hash_key(frames, sizeof(frames));
}

static uint64_t hash_of_number(uint32_t i)
{
	return hash_key(&i, sizeof(i));
}

static uint64_t hash_of_high_bits(uint32_t i)
{
	return hash_u64((uint64_t)i << 32);
}

static uint64_t hash_of_pair(uint32_t i)
{
	return hash_add(i % 300, i / 300);
}

TEST(numbers_spread)
{
	check_spread(hash_of_high_bits);
	check_spread(hash_of_pair);
}

TEST(hash_key_spreads)
{
	check_spread(hash_of_text);
	check_spread(hash_of_stack);
	check_spread(hash_of_number);
}

/* Unwind tables on disk are checked by it, and colours of flame graphs are made of it. */
TEST(hash_stable_bytes_stays_what_it_is)
{
	CHECK_EQ(hash_stable_bytes("", 0), 0x9e3779b97f4a7c15ULL);
	CHECK_EQ(hash_stable_bytes("tcp_sendmsg", 11), 73682476599223395);
}

/* --- a map from u64 to u64 -------------------------------------------------------------------- */

#define MAX_KEYS 5000

struct model {
	bool there[MAX_KEYS];
	uint64_t value[MAX_KEYS];
	size_t nr;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Spreads the model's keys over the whole range; 0 and the largest key are among them. */
static uint64_t key_of(size_t index)
{
	return index ? UINT64_MAX / index : 0;
}

static void compare(const struct u64_map *map, const struct model *model, size_t nr_keys)
{
	const struct u64_map_slot *slot;
	size_t position = 0, seen = 0;
	size_t i;

	CHECK_EQ(map->nr, model->nr);
	for (i = 0; i < nr_keys; i++) {
		const uint64_t *value = u64_map_find(map, key_of(i));

		CHECK_EQ(value != NULL, model->there[i]);
		CHECK(!value || *value == model->value[i]);
	}
	while ((slot = u64_map_next(map, &position)))
		seen++;
	CHECK_EQ(seen, model->nr);
}

static void change(struct u64_map *map, struct model *model, size_t i, uint64_t *random)
{
	if (next_random(random) % 2) {
		uint64_t value = next_random(random);

		CHECK_EQ(u64_map_set(map, key_of(i), value), 0);
		model->nr += !model->there[i];
		model->there[i] = true;
		model->value[i] = value;
	} else {
		CHECK_EQ(u64_map_remove(map, key_of(i)), model->there[i]);
		model->nr -= model->there[i];
		model->there[i] = false;
	}
}

/* Few keys keep the table small and crowded, where moving back on removal is put to the test. */
static void run_model(size_t nr_keys, size_t nr_changes, size_t compare_every)
{
	struct u64_map map = {0};
	struct model *model = calloc(1, sizeof(*model));
	uint64_t random = nr_keys;
	size_t i;

	for (i = 0; i < nr_changes; i++) {
		change(&map, model, next_random(&random) % nr_keys, &random);
		if (i % compare_every == 0)
			compare(&map, model, nr_keys);
	}
	compare(&map, model, nr_keys);
	u64_map_clear(&map);
	CHECK(!map.slots && !map.nr);
	free(model);
}

TEST(u64_map_crowded)
{
	run_model(1, 100, 1);
	run_model(60, 20000, 1);
	run_model(95, 20000, 1); /* about 48 of 64 slots in use */
}

TEST(u64_map_large)
{
	run_model(MAX_KEYS, 100000, 10000);
}

TEST(u64_map_empty)
{
	struct u64_map map = {0};
	size_t position = 0;

	CHECK(!u64_map_find(&map, 0));
	CHECK(!u64_map_remove(&map, 0));
	CHECK(!u64_map_next(&map, &position));
	u64_map_clear(&map);
}

TEST(u64_map_without_memory)
{
	struct u64_map map = {0};
	uint64_t failures = 0;
	uint64_t key;

	for (key = 0; key < 2000; key++) {
		size_t nth = 1;

		while (!u64_map_find(&map, key)) {
			int result;

			CHECK_EQ(map.nr, key);
			(void)test_fail_allocation(nth++);
			result = u64_map_set(&map, key, key + 1);
			(void)test_fail_allocation(0);
			CHECK_EQ(result, u64_map_find(&map, key) ? 0 : -ENOMEM);
			failures += result < 0;
		}
	}
	CHECK(failures > 10);
	for (key = 0; key < 2000; key++)
		CHECK_EQ(*u64_map_find(&map, key), key + 1);
	u64_map_clear(&map);
}
