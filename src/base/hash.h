/*
 * Hashes for tables in memory, stable hashes for data written to files, and the two tables that
 * most modules use: a map from u64 to u64, and an index that finds the numbers of items in the
 * caller's array.
 */
#ifndef STOOK_BASE_HASH_H
#define STOOK_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys come from programs and files of other users, who could choose them so that all fall into one
 * bucket. hash_u64(), hash_add() and hash_key() depend on a secret that is chosen at random for
 * each process, so nobody can compute such keys in advance. Their values must not be written to a
 * file, nor decide the order of an output. They are not cryptographic: someone who sees many values
 * could find the secret.
 *
 * hash_stable_*() use no secret and always return the same values. The checksum of an unwind table
 * on disk and the colour of a function depend on them.
 */

/* Chosen at random before main() begins, then constant. */
extern uint64_t hash_secret[4];

/*
 * Combines both halves of a product, so that every bit of the result depends on every bit of both
 * factors. The factors are mixed in once more, since a product with 0 would lose the other factor.
 */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

/* Adds a word to a running hash. */
static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	return hash_fold(hash_fold(word ^ hash_secret[0], hash_secret[1]), hash ^ hash_secret[2]);
}

static inline uint64_t hash_u64(uint64_t x)
{
	return hash_add(0, x);
}

uint64_t hash_key(const void *bytes, size_t nr);

/* A bijection whose every output bit depends on every input bit. */
static inline uint64_t hash_stable_u64(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
	return x ^ (x >> 32);
}

/*
 * The first word must already be mixed by hash_stable_u64(); otherwise many pairs of small numbers
 * would have the same hash.
 */
static inline uint64_t hash_stable_add(uint64_t hash, uint64_t word)
{
	return hash_stable_u64(hash ^ word) + 0x9e3779b97f4a7c15ULL;
}

uint64_t hash_stable_bytes(const void *bytes, size_t nr);

/* Depends on a secret that the caller keeps with the data. */
uint64_t hash_stable_keyed(uint64_t secret, const void *bytes, size_t nr);

/* --- a map from u64 to u64 -------------------------------------------------------------------- */

/*
 * Any key is allowed, including 0.
 *
 *	struct u64_map map = {0};        an empty map needs no init
 *	u64_map_set(&map, key, value);
 *	uint64_t *value = u64_map_find(&map, key);
 *	u64_map_clear(&map);             frees its memory; the map is empty again
 *
 * A pointer from u64_map_find() is valid until the next set or remove.
 */
struct u64_map_slot {
	uint64_t key;
	uint64_t value;
};

struct u64_map {
	struct u64_map_slot *slots;
	uint8_t *used; /* one byte per slot: 0 free, 1 used */
	size_t nr;
	size_t capacity; /* a power of two, or 0 */
};

uint64_t *u64_map_find(const struct u64_map *map, uint64_t key);

/* Inserts or overwrites. 0 or -ENOMEM. */
int u64_map_set(struct u64_map *map, uint64_t key, uint64_t value);

/* Removes key; false if it was not present. */
bool u64_map_remove(struct u64_map *map, uint64_t key);

/* Empties the map and frees its memory. */
void u64_map_clear(struct u64_map *map);

/*
 * Iterates over the map: `for (size_t i = 0; (slot = u64_map_next(&map, &i));)`. Don't modify it
 * meanwhile.
 */
const struct u64_map_slot *u64_map_next(const struct u64_map *map, size_t *position);

/* --- an index of an array --------------------------------------------------------------------- */

/*
 * The search half of an interning table: finds the number of an item by the item's hash, while the
 * items stay in the caller's array. No key is stored twice, and growing doesn't access the items.
 *
 *	size_t probe = 0;
 *	uint32_t number;
 *
 *	while (number_index_next(&index, hash, &probe, &number))
 *		if (items[number] is the one)
 *			return number;
 *	if (number_index_reserve(&index) < 0)
 *		return -ENOMEM;
 *	number_index_add(&index, hash, nr_items);
 *
 * A zero-initialised index is empty and needs no init. Numbers can't be removed.
 */
struct number_index_bucket {
	uint32_t hash;
	uint32_t number_plus_one; /* 0: free */
};

struct number_index {
	struct number_index_bucket *buckets;
	size_t nr;
	size_t nr_buckets; /* a power of two, or 0 */
};

/* Average memory of one number, for callers that keep a budget. */
#define NUMBER_INDEX_BYTES_EACH (2 * sizeof(struct number_index_bucket))

/* Returns the next candidate for the hash in *ret_number; false if there are no more. */
bool number_index_next(const struct number_index *index, uint64_t hash, size_t *probe,
		       uint32_t *ret_number);

/* Makes room for one more number, so that number_index_add() can't fail. 0 or -ENOMEM. */
int number_index_reserve(struct number_index *index);
void number_index_add(struct number_index *index, uint64_t hash, uint32_t number);

/* Removes all numbers but keeps the memory. */
void number_index_reset(struct number_index *index);
void number_index_clear(struct number_index *index);

size_t number_index_bytes(const struct number_index *index); /* memory held */

#endif
