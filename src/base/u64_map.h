/*
 * A hash map from a 64-bit key to a 64-bit value. Any key is allowed, 0 too.
 *
 *	struct u64_map map = {0};        an empty map needs no init
 *	u64_map_set(&map, key, value);
 *	uint64_t *value = u64_map_find(&map, key);
 *	u64_map_clear(&map);             frees what it holds; empty again
 *
 * A pointer from u64_map_find() is good until the next set or remove.
 */
#ifndef STOOK_BASE_U64_MAP_H
#define STOOK_BASE_U64_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct u64_map_slot {
	uint64_t key;
	uint64_t value;
};

struct u64_map {
	struct u64_map_slot *slots;
	uint8_t *used; /* one byte a slot: 0 free, 1 used */
	size_t nr;
	size_t capacity; /* a power of two, or 0 */
};

uint64_t *u64_map_find(const struct u64_map *map, uint64_t key);

/* Inserts or overwrites. 0 or -ENOMEM. */
int u64_map_set(struct u64_map *map, uint64_t key, uint64_t value);

/* Takes key out; false if it was not there. */
bool u64_map_remove(struct u64_map *map, uint64_t key);

/* Empties the map and frees its memory. */
void u64_map_clear(struct u64_map *map);

/* Walks all slots: `for (size_t i = 0; (slot = u64_map_next(&map, &i));)`; no changes meanwhile. */
const struct u64_map_slot *u64_map_next(const struct u64_map *map, size_t *position);

#endif
