/*
 * All texts are stored one after the other, NUL-terminated, in one growing block. An array of
 * offsets into it is indexed by number; numbers are found by the hash of their text.
 */
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct strings {
	char *block;
	size_t nr_bytes, cap_bytes;
	size_t *offsets; /* by number; a string ends at its NUL */
	size_t nr, cap_offsets;
	struct number_index index;
};

static size_t length_of(const struct strings *strings, uint32_t number)
{
	size_t end = number + 1 < strings->nr ? strings->offsets[number + 1] : strings->nr_bytes;

	return end - strings->offsets[number] - 1;
}

static bool is_text(const struct strings *strings, uint32_t number, const char *bytes, size_t nr)
{
	return length_of(strings, number) == nr &&
	       !memcmp(strings->block + strings->offsets[number], bytes, nr);
}

int64_t strings_add_bytes(struct strings *strings, const char *bytes, size_t nr)
{
	const uint64_t hash = hash_key(bytes, nr);
	/* Part of one of ours? It then moves with the others. */
	const uintptr_t own = (uintptr_t)bytes - (uintptr_t)strings->block;
	const bool is_own = own < strings->nr_bytes;
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&strings->index, hash, &probe, &number))
		if (is_text(strings, number, bytes, nr))
			return number;
	if (strings->nr >= UINT32_MAX - 1 ||
	    ARRAY_RESERVE(strings->block, strings->cap_bytes, strings->nr_bytes + nr + 1) < 0 ||
	    ARRAY_RESERVE(strings->offsets, strings->cap_offsets, strings->nr + 1) < 0 ||
	    number_index_reserve(&strings->index) < 0)
		return -ENOMEM;
	memcpy(strings->block + strings->nr_bytes, is_own ? strings->block + own : bytes, nr);
	strings->block[strings->nr_bytes + nr] = '\0';
	strings->offsets[strings->nr] = strings->nr_bytes;
	strings->nr_bytes += nr + 1;
	number_index_add(&strings->index, hash, (uint32_t)strings->nr);
	return (int64_t)strings->nr++;
}

int64_t strings_add(struct strings *strings, const char *text)
{
	return strings_add_bytes(strings, text, strlen(text));
}

struct strings *strings_new(void)
{
	struct strings *strings = calloc(1, sizeof(*strings));

	if (!strings)
		return NULL;
	if (strings_add(strings, "") < 0) {
		strings_free(strings);
		return NULL;
	}
	return strings;
}

void strings_free(struct strings *strings)
{
	if (!strings)
		return;
	free(strings->block);
	free(strings->offsets);
	number_index_clear(&strings->index);
	free(strings);
}

const char *strings_get(const struct strings *strings, uint32_t number)
{
	return number < strings->nr ? strings->block + strings->offsets[number] : "";
}

uint32_t strings_nr(const struct strings *strings)
{
	return (uint32_t)strings->nr;
}

size_t strings_bytes(const struct strings *strings)
{
	return strings->cap_bytes + strings->cap_offsets * sizeof(*strings->offsets) +
	       number_index_bytes(&strings->index);
}
