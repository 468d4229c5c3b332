/*
 * hash_bytes(): eight bytes at a time, the tail padded with zeros, the length mixed in.
 *
 * hash_key(): sixteen bytes for one multiplication, of which both halves count. The last sixteen
 * overlap those before, so there is no loop over a tail: interning reads hundreds of megabytes
 * through this, mostly names of twenty bytes.
 */
#include "base/hash.h"

#include <string.h>

#define KEY_WORD  0x9e3779b97f4a7c15ULL
#define KEY_START 0xd6e8feb86659fd93ULL

uint64_t hash_bytes(const void *bytes, size_t nr)
{
	const unsigned char *at = bytes;
	uint64_t hash = nr;
	uint64_t word;

	for (; nr >= sizeof(word); nr -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_add(hash, word);
	}
	word = 0;
	memcpy(&word, at, nr);
	return hash_add(hash, word);
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

/* Both factors are mixed in once more: a product with 0 would forget the other one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ a ^ b;
}

uint64_t hash_key(const void *bytes, size_t nr)
{
	const unsigned char *at = bytes;
	uint64_t hash = KEY_START ^ nr, first = 0, last = 0;
	size_t left;

	for (left = nr; left > 16; left -= 16, at += 16)
		hash = fold(load_8(at) ^ KEY_WORD, load_8(at + 8) ^ hash);
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
	return fold(fold(first ^ KEY_WORD, last ^ hash), KEY_START);
}
