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
#ifndef STOOK_BASE_NUMBER_INDEX_H
#define STOOK_BASE_NUMBER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_index_bucket {
	uint32_t hash;
	uint32_t number_plus_one; /* 0: free */
};

struct number_index {
	struct number_index_bucket *buckets;
	size_t nr;
	size_t nr_buckets; /* a power of two, or 0 */
};

/* What one more number costs on average, for those who keep a budget. */
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
