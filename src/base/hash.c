/*
 * hash_key() reads sixteen bytes per multiplication and uses both halves of the product. The last
 * sixteen bytes overlap the ones before, so there is no loop for the tail: interning hashes
 * hundreds of megabytes, mostly names of twenty bytes. Each factor includes a part of the secret,
 * so that no key can make it 0. hash_stable_bytes() reads eight bytes at a time, with the tail
 * zero-padded and the length mixed in.
 *
 * Both tables use open addressing with linear probing, at most 3/4 full. The map removes a key by
 * moving the entries after it back instead of leaving tombstones, so it does not degrade over days.
 * A bucket of the index stores half of the hash beside the number, so that nearly every candidate
 * returned is a match.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

uint64_t hash_secret[4];

/*
 * The kernel gives each process sixteen random bytes at exec (AT_RANDOM). They are used if
 * getrandom() would have to wait, early after boot.
 */
__attribute__((constructor)) static void draw_secret(void)
{
	const void *given = (const void *)getauxval(AT_RANDOM); // NOLINT(performance-no-int-to-ptr)
	size_t i;

	if (getrandom(hash_secret, sizeof(hash_secret), GRND_NONBLOCK) == sizeof(hash_secret))
		return;
	if (given)
		memcpy(hash_secret, given, 16);
	for (i = 2; i < 4; i++)
		hash_secret[i] = hash_stable_u64(hash_secret[i - 2]);
}

static uint64_t load_8(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint64_t load_4(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

uint64_t hash_key(const void *bytes, size_t nr)
{
	const unsigned char *at = bytes;
	uint64_t hash = hash_secret[3] ^ nr, first = 0, last = 0;
	size_t left;

	for (left = nr; left > 16; left -= 16, at += 16)
		hash = hash_fold(load_8(at) ^ hash_secret[0], load_8(at + 8) ^ hash);
	if (nr >= 16) {
		first = load_8(at + left - 16);
		last = load_8(at + left - 8);
	} else if (nr >= 8) {
		first = load_8(at);
		last = load_8(at + nr - 8);
	} else if (nr >= 4) {
		first = load_4(at);
		last = load_4(at + nr - 4);
	} else if (nr) {
		first = at[0] | (uint64_t)at[nr / 2] << 8 | (uint64_t)at[nr - 1] << 16;
	}
	return hash_fold(hash_fold(first ^ hash_secret[1], last ^ hash), hash_secret[2]);
}

uint64_t hash_stable_keyed(uint64_t secret, const void *bytes, size_t nr)
{
	const unsigned char *at = bytes;
	uint64_t hash = nr ^ hash_stable_u64(secret);
	uint64_t word;

	for (; nr >= sizeof(word); nr -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_stable_add(hash, word);
	}
	word = 0;
	memcpy(&word, at, nr);
	return hash_stable_add(hash, word);
}

uint64_t hash_stable_bytes(const void *bytes, size_t nr)
{
	return hash_stable_keyed(0, bytes, nr);
}

/* --- a map from u64 to u64 -------------------------------------------------------------------- */

#define FIRST_CAPACITY 64

static size_t home_of(const struct u64_map *map, uint64_t key)
{
	return hash_u64(key) & (map->capacity - 1);
}

/* The slot that holds key, or the free one where it would be inserted. */
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

		/* It may move back only if its home is not between the hole and its slot. */
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

/* --- an index of an array --------------------------------------------------------------------- */

#define FIRST_BUCKETS 64

bool number_index_next(const struct number_index *index, uint64_t hash, size_t *probe,
		       uint32_t *ret_number)
{
	size_t mask = index->nr_buckets - 1;

	if (!index->nr_buckets)
		return false;
	for (;;) {
		const struct number_index_bucket *bucket =
			&index->buckets[((uint32_t)hash + (*probe)++) & mask];

		if (!bucket->number_plus_one)
			return false;
		if (bucket->hash == (uint32_t)hash) {
			*ret_number = bucket->number_plus_one - 1;
			return true;
		}
	}
}

static void put(struct number_index *index, struct number_index_bucket bucket)
{
	size_t mask = index->nr_buckets - 1;
	size_t i = bucket.hash & mask;

	while (index->buckets[i].number_plus_one)
		i = (i + 1) & mask;
	index->buckets[i] = bucket;
	index->nr++;
}

int number_index_reserve(struct number_index *index)
{
	struct number_index bigger = {0};
	size_t i;

	if (index->nr + 1 <= index->nr_buckets / 4 * 3)
		return 0;
	bigger.nr_buckets = index->nr_buckets ? index->nr_buckets * 2 : FIRST_BUCKETS;
	bigger.buckets = calloc(bigger.nr_buckets, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return -ENOMEM;
	for (i = 0; i < index->nr_buckets; i++)
		if (index->buckets[i].number_plus_one)
			put(&bigger, index->buckets[i]);
	free(index->buckets);
	*index = bigger;
	return 0;
}

void number_index_add(struct number_index *index, uint64_t hash, uint32_t number)
{
	put(index, (struct number_index_bucket){(uint32_t)hash, number + 1});
}

void number_index_reset(struct number_index *index)
{
	if (index->nr)
		memset(index->buckets, 0, number_index_bytes(index));
	index->nr = 0;
}

void number_index_clear(struct number_index *index)
{
	free(index->buckets);
	memset(index, 0, sizeof(*index));
}

size_t number_index_bytes(const struct number_index *index)
{
	return index->nr_buckets * sizeof(*index->buckets);
}
