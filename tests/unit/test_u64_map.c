/* base/u64_map, against an array that is indexed by the key. */
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64_map.h"

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
