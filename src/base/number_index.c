/*
 * Open addressing with linear probing, at most 3/4 full. A bucket keeps half of the hash beside
 * the number, so that nearly every candidate handed out is the right one.
 */
#include "base/number_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
