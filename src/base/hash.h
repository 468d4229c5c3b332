/*
 * Hashes for tables in memory, stable ones for what is written down, and the two tables that most
 * modules use: a map from u64 to u64, and an index that finds the numbers of items in the caller's
 * array.
 */
#ifndef STOOK_BASE_HASH_H
#define STOOK_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys of tables come from programs and files of other users, who could choose them so that all
 * meet in one bucket. hash_u64(), hash_add() and hash_key() depend on a secret that is drawn anew
 * for each process, so nobody can compute such keys beforehand. Their values must not be written
 * to a file, nor decide the order of an output. They are no cryptography: who could see many
 * values could find the secret.
 *
 * hash_stable_*() always have the same values, and no secret: the checksum of an unwind table on
 * disk and the colour of a function are made of them.
 */

/* Drawn before main() begins, and constant from then on. */
extern uint64_t hash_secret[4];

/*
 * Both halves of a product, so that every bit of the result depends on every bit of both factors.
 * The factors are mixed in once more: a product with 0 would forget the other one.
 */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

/* One more word into a running hash. */
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
 * The first word has to be mixed already, by hash_stable_u64(): many pairs of small numbers would
 * have the same hash.
 */
static inline uint64_t hash_stable_add(uint64_t hash, uint64_t word)
{
	return hash_stable_u64(hash ^ word) + 0x9e3779b97f4a7c15ULL;
}

uint64_t hash_stable_bytes(const void *bytes, size_t nr);

/* --- a map from u64 to u64 -------------------------------------------------------------------- */

/*
 * Any key is allowed, 0 too.
 *
 *	struct u64_map map = {0};        an empty map needs no init
 *	u64_map_set(&map, key, value);
 *	uint64_t *value = u64_map_find(&map, key);
 *	u64_map_clear(&map);             frees what it holds; empty again
 *
 * A pointer from u64_map_find() is good until the next set or remove.
 */
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

/* --- an index of an array --------------------------------------------------------------------- */

/*
 * The search half of an interning table: finds the number of an item by the item's hash, while
 * the item itself stays where it is, in the caller's array. No key is kept twice, and growing
 * needs no look at the items.
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
 * An index of zeros is empty and needs no init. Nothing can be taken out of it.
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

/* The next number that may be the one looked for; false when there is none. */
bool number_index_next(const struct number_index *index, uint64_t hash, size_t *probe,
		       uint32_t *ret_number);

/* Makes room for one more number, which then can be added without failing. 0 or -ENOMEM. */
int number_index_reserve(struct number_index *index);
void number_index_add(struct number_index *index, uint64_t hash, uint32_t number);

/* Forgets all numbers and keeps the memory for the next ones. */
void number_index_reset(struct number_index *index);
void number_index_clear(struct number_index *index);

size_t number_index_bytes(const struct number_index *index); /* memory held */

#endif
