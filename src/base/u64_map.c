/*
 * Open addressing with linear probing, at most 3/4 full. Removal moves the following run back
 * instead of leaving tombstones, so a map that lives for days does not decay.
 */
#include "base/u64_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_CAPACITY 64

static size_t home_of(const struct u64_map *map, uint64_t key)
{
	return hash_u64(key) & (map->capacity - 1);
}

/* The slot that holds key, or the free one where it would go. */
static size_t slot_of(const struct u64_map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return i;
}

uint64_t *u64_map_find(const struct u64_map *map, uint64_t key)
{
	size_t i;

	if (!map->nr)
		return NULL;
	i = slot_of(map, key);
	return map->used[i] ? &map->slots[i].value : NULL;
}

static int grow(struct u64_map *map)
{
	struct u64_map bigger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY};
	size_t i;

	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	bigger.used = calloc(bigger.capacity, 1);
	if (!bigger.slots || !bigger.used) {
		u64_map_clear(&bigger);
		return -ENOMEM;
	}
	for (i = 0; i < map->capacity; i++) {
		size_t to;

		if (!map->used[i])
			continue;
		to = slot_of(&bigger, map->slots[i].key);
		bigger.slots[to] = map->slots[i];
		bigger.used[to] = 1;
	}
	bigger.nr = map->nr;
	u64_map_clear(map);
	*map = bigger;
	return 0;
}

int u64_map_set(struct u64_map *map, uint64_t key, uint64_t value)
{
	uint64_t *known = u64_map_find(map, key);
	size_t i;

	if (known) {
		*known = value;
		return 0;
	}
	if (map->nr + 1 > map->capacity / 4 * 3 && grow(map) < 0)
		return -ENOMEM;
	i = slot_of(map, key);
	map->slots[i] = (struct u64_map_slot){key, value};
	map->used[i] = 1;
	map->nr++;
	return 0;
}

bool u64_map_remove(struct u64_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t hole, i;

	if (!map->nr)
		return false;
	hole = slot_of(map, key);
	if (!map->used[hole])
		return false;
	for (i = (hole + 1) & mask; map->used[i]; i = (i + 1) & mask) {
		size_t home = home_of(map, map->slots[i].key);

		/* It may move back only if its home is not between the hole and itself. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->used[hole] = 0;
	map->nr--;
	return true;
}

void u64_map_clear(struct u64_map *map)
{
	free(map->slots);
	free(map->used);
	memset(map, 0, sizeof(*map));
}

const struct u64_map_slot *u64_map_next(const struct u64_map *map, size_t *position)
{
	while (*position < map->capacity) {
		size_t i = (*position)++;

		if (map->used[i])
			return &map->slots[i];
	}
	return NULL;
}
