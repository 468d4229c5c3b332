/*
 * All texts lie one after the other, NUL-ended, in one growing block; a number indexes an array of
 * offsets into it, and an open-addressing table of numbers finds a text's number by its hash.
 */
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define FIRST_BUCKETS 256

struct strings {
	char *block;
	size_t nr_bytes, cap_bytes;
	size_t *offsets; /* by number; a string ends where its NUL is */
	size_t nr, cap_offsets;
	uint32_t *buckets; /* number + 1; 0 is free */
	size_t nr_buckets; /* a power of two */
};

static size_t length_of(const struct strings *strings, uint32_t number)
{
	size_t end = number + 1 < strings->nr ? strings->offsets[number + 1] : strings->nr_bytes;

	return end - strings->offsets[number] - 1;
}

static size_t bucket_of(const struct strings *strings, const char *bytes, size_t nr)
{
	size_t mask = strings->nr_buckets - 1;
	size_t i = hash_key(bytes, nr) & mask;

	for (; strings->buckets[i]; i = (i + 1) & mask) {
		uint32_t number = strings->buckets[i] - 1;

		if (length_of(strings, number) == nr &&
		    !memcmp(strings->block + strings->offsets[number], bytes, nr))
			break;
	}
	return i;
}

static int grow_buckets(struct strings *strings)
{
	size_t nr_buckets = strings->nr_buckets ? strings->nr_buckets * 2 : FIRST_BUCKETS;
	uint32_t *buckets = calloc(nr_buckets, sizeof(*buckets));
	uint32_t number;

	if (!buckets)
		return -ENOMEM;
	free(strings->buckets);
	strings->buckets = buckets;
	strings->nr_buckets = nr_buckets;
	for (number = 0; number < strings->nr; number++) {
		const char *text = strings_get(strings, number);

		buckets[bucket_of(strings, text, length_of(strings, number))] = number + 1;
	}
	return 0;
}

int64_t strings_add_bytes(struct strings *strings, const char *bytes, size_t nr)
{
	size_t bucket;

	if (strings->nr + 1 > strings->nr_buckets / 2 && grow_buckets(strings) < 0)
		return -ENOMEM;
	bucket = bucket_of(strings, bytes, nr);
	if (strings->buckets[bucket])
		return strings->buckets[bucket] - 1;
	if (strings->nr >= UINT32_MAX - 1 ||
	    array_reserve(&strings->block, &strings->cap_bytes, strings->nr_bytes + nr + 1, 1) <
		    0 ||
	    array_reserve(&strings->offsets, &strings->cap_offsets, strings->nr + 1,
			  sizeof(*strings->offsets)) < 0)
		return -ENOMEM;
	memcpy(strings->block + strings->nr_bytes, bytes, nr);
	strings->block[strings->nr_bytes + nr] = '\0';
	strings->offsets[strings->nr] = strings->nr_bytes;
	strings->nr_bytes += nr + 1;
	strings->buckets[bucket] = (uint32_t)++strings->nr;
	return (int64_t)strings->nr - 1;
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
	free(strings->buckets);
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
	       strings->nr_buckets * sizeof(*strings->buckets);
}
