/*
 * Sequences are sorted by multikey quicksort (Bentley and Sedgewick): a range of items is
 * partitioned into those with a smaller, an equal, and a larger key at one depth, and only those
 * with an equal key are compared one level deeper. So common prefixes of sequences are read once
 * per sequence, not once per comparison. Call stacks are deep, and most of them have a common
 * prefix.
 */
#include "profile/sort.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* --- numbers ---------------------------------------------------------------------------------- */

uint32_t *sort_numbers(size_t nr, sort_compare_fn *compare, const void *context)
{
	uint32_t *numbers = malloc((nr + 1) * sizeof(*numbers));
	size_t i;

	if (!numbers)
		return NULL;
	for (i = 0; i < nr; i++)
		numbers[i] = (uint32_t)i;
	qsort_r(numbers, nr, sizeof(*numbers), compare, (void *)context);
	return numbers;
}

uint32_t *sort_ranks(size_t nr, sort_compare_fn *compare, const void *context)
{
	cleanup_free uint32_t *sorted = sort_numbers(nr, compare, context);
	uint32_t *ranks = sorted ? malloc((nr + 1) * sizeof(*ranks)) : NULL;
	size_t i;

	for (i = 0; ranks && i < nr; i++)
		ranks[sorted[i]] = (uint32_t)i;
	return ranks;
}

/* --- sequences -------------------------------------------------------------------------------- */

/* Smaller ranges are sorted by insertion sort. */
#define FEW_ITEMS 12

struct sorter {
	sort_key_fn *key_at;
	const void *context;
	struct sort_item *items;
};

/* Items with equal keys above the depth; their keys at this depth have been read. */
struct range {
	size_t first, end;
	size_t depth;
};

static size_t range_nr(const struct range *range)
{
	return range->end - range->first;
}

/* Compares items whose keys are equal above this depth. */
static int compare(const struct sorter *sorter, const struct sort_item *a,
		   const struct sort_item *b, size_t depth)
{
	uint32_t key_a = a->key, key_b = b->key;

	while (key_a == key_b && key_a) {
		depth++;
		key_a = sorter->key_at(sorter->context, a->number, depth);
		key_b = sorter->key_at(sorter->context, b->number, depth);
	}
	return (key_a > key_b) - (key_a < key_b);
}

static void sort_few(const struct sorter *sorter, const struct range *range)
{
	struct sort_item *items = sorter->items;
	size_t i, hole;

	for (i = range->first + 1; i < range->end; i++) {
		struct sort_item item = items[i];
		int order = 1;

		for (hole = i; hole > range->first; hole--) {
			order = compare(sorter, &item, &items[hole - 1], range->depth);
			if (order >= 0)
				break;
			items[hole] = items[hole - 1];
		}
		item.is_same = order == 0;
		items[hole] = item;
	}
}

static void swap_items(struct sort_item *a, struct sort_item *b)
{
	struct sort_item kept = *a;

	*a = *b;
	*b = kept;
}

/*
 * The median of three keys, two of them at random positions, so that no input can make all pivots
 * bad.
 */
static uint32_t choose_pivot(const struct sort_item *items, const struct range *range)
{
	uint64_t nr = range_nr(range), drawn = hash_add(range->first, range->end);
	uint32_t a = items[range->first + (drawn >> 8) % nr].key;
	uint32_t b = items[range->first + nr / 2].key;
	uint32_t c = items[range->first + (drawn >> 24) % nr].key;
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	if (c < low)
		return low;
	return c < high ? c : high;
}

/* Partitions a range by smaller, equal and larger keys; for the equal ones the next key is read. */
static void partition(const struct sorter *sorter, const struct range *range, struct range parts[3])
{
	struct sort_item *items = sorter->items;
	uint32_t pivot = choose_pivot(items, range);
	size_t less = range->first, at = range->first, more = range->end;

	while (at < more) {
		if (items[at].key < pivot)
			swap_items(&items[less++], &items[at++]);
		else if (items[at].key > pivot)
			swap_items(&items[at], &items[--more]);
		else
			at++;
	}
	parts[0] = (struct range){range->first, less, range->depth};
	parts[1] = (struct range){less, more, range->depth + 1};
	parts[2] = (struct range){more, range->end, range->depth};
	if (!pivot) { /* these sequences end here, so they are equal */
		for (at = less + 1; at < more; at++)
			items[at].is_same = true;
		parts[1].end = parts[1].first;
	}
	for (at = parts[1].first; at < parts[1].end; at++)
		items[at].key = sorter->key_at(sorter->context, items[at].number, parts[1].depth);
}

/* Moves the largest part to the end of the array. */
static void move_largest_last(struct range parts[3])
{
	size_t largest = 2, i;
	struct range kept;

	for (i = 0; i < 2; i++)
		if (range_nr(&parts[i]) > range_nr(&parts[largest]))
			largest = i;
	kept = parts[largest];
	parts[largest] = parts[2];
	parts[2] = kept;
}

/*
 * Recurses into the smaller parts only, so the recursion depth is at most the logarithm of the
 * number of items, however long the sequences are.
 */
static void sort_range(const struct sorter *sorter, struct range range)
{
	struct range parts[3];

	while (range_nr(&range) > FEW_ITEMS) {
		partition(sorter, &range, parts);
		move_largest_last(parts);
		sort_range(sorter, parts[0]);
		sort_range(sorter, parts[1]);
		range = parts[2];
	}
	sort_few(sorter, &range);
}

void sort_sequences(struct sort_item *items, size_t nr, sort_key_fn *key_at, const void *context)
{
	const struct sorter sorter = {.key_at = key_at, .context = context, .items = items};
	size_t i;

	for (i = 0; i < nr; i++) {
		items[i].key = key_at(context, items[i].number, 0);
		items[i].is_same = false;
	}
	sort_range(&sorter, (struct range){.first = 0, .end = nr});
}
