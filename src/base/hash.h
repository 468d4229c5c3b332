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

/* One more word into a running hash. */
static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
	return hash_u64(hash ^ word) + 0x9e3779b97f4a7c15ULL;
}

uint64_t hash_bytes(const void *bytes, size_t nr);

#endif
