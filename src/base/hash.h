/* Mixing functions for hash tables. Not for anything an attacker may gain from. */
#ifndef STOOK_BASE_HASH_H
#define STOOK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A bijection whose every output bit depends on every input bit (two xor-shift-multiply rounds). */
static inline uint64_t hash_u64(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
	return x ^ (x >> 32);
}

/*
 * One more word into a running hash. The first one has to be mixed already, by hash_u64(): of two
 * small numbers, many pairs would come to the same.
 */
static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	return hash_u64(hash ^ word) + 0x9e3779b97f4a7c15ULL;
}

/* Its values are kept: files are checked by it, and names have their colours of it. */
uint64_t hash_bytes(const void *bytes, size_t nr);

/* For keys of tables in memory: cheaper, and free to change. */
uint64_t hash_key(const void *bytes, size_t nr);

#endif
