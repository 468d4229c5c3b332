/* hash_bytes(): eight bytes at a time, the tail padded with zeros, the length mixed in. */
#include "base/hash.h"

#include <string.h>

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
