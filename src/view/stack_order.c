/*
 * Words are ranked by their texts once; then stacks are compared by ranks. The sort looks at one
 * word of each stack at a time, and at the next one only among stacks that are the same so far, so
 * it reads no more of them than is needed to tell them apart.
 */
#include "view/stack_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A sort goes on by insertion below this many stacks. */
#define FEW_STACKS 12

struct sort_item {
	uint32_t stack;
	uint32_t key; /* the rank of its word at the depth looked at; 0: it has ended */
};

struct stack_sort {
	const struct named_stacks *stacks;
	const uint32_t *ranks; /* by word, from 1 */
	struct sort_item *items;
};

static int compare_words(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t word_a = *(const uint32_t *)a, word_b = *(const uint32_t *)b;
	const struct word_info *info_a = named_stacks_info(stacks, word_a);
	const struct word_info *info_b = named_stacks_info(stacks, word_b);
	int order = strcmp(named_stacks_word(stacks, word_a), named_stacks_word(stacks, word_b));

	if (order)
		return order;
	if (info_a->kind != info_b->kind)
		return info_a->kind < info_b->kind ? -1 : 1;
	return (word_a > word_b) - (word_a < word_b);
}

/* The place of each word in the order of their texts, from 1; NULL when out of memory. */
static uint32_t *rank_words(const struct named_stacks *stacks)
{
	size_t nr = stacks->nr_words;
	cleanup_free uint32_t *sorted = malloc((nr + 1) * sizeof(*sorted));
	uint32_t *ranks = calloc(nr + 1, sizeof(*ranks));
	uint32_t i;

	if (!sorted || !ranks) {
		free(ranks);
		return NULL;
	}
	for (i = 1; i < nr; i++)
		sorted[i - 1] = i;
	if (nr > 1)
		qsort_r(sorted, nr - 1, sizeof(*sorted), compare_words, (void *)stacks);
	for (i = 1; i < nr; i++)
		ranks[sorted[i - 1]] = i;
	return ranks;
}

static uint32_t key_at(const struct stack_sort *sort, uint32_t stack, size_t depth)
{
	size_t nr;
	const uint32_t *words = named_stacks_get(sort->stacks, stack, &nr);

	return depth < nr ? sort->ranks[words[depth]] : 0;
}

/* Whether a stands before b, which have the same words above this depth. */
static bool is_before(const struct stack_sort *sort, const struct sort_item *a,
		      const struct sort_item *b, size_t depth)
{
	uint32_t key_a = a->key, key_b = b->key;

	while (key_a == key_b && key_a) {
		depth++;
		key_a = key_at(sort, a->stack, depth);
		key_b = key_at(sort, b->stack, depth);
	}
	return key_a < key_b;
}

static void sort_few(const struct stack_sort *sort, size_t first, size_t end, size_t depth)
{
	struct sort_item *items = sort->items;
	size_t i, hole;

	for (i = first + 1; i < end; i++) {
		struct sort_item item = items[i];

		for (hole = i; hole > first && is_before(sort, &item, &items[hole - 1], depth);
		     hole--)
			items[hole] = items[hole - 1];
		items[hole] = item;
	}
}

static void swap_items(struct sort_item *a, struct sort_item *b)
{
	struct sort_item kept = *a;

	*a = *b;
	*b = kept;
}

static uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	if (c < low)
		return low;
	return c < high ? c : high;
}

/* Of three items at scattered places: no order of the input that occurs makes all choices bad. */
static uint32_t choose_pivot(const struct sort_item *items, size_t first, size_t end)
{
	uint64_t nr = end - first;
	uint64_t scatter = nr * 0x9e3779b97f4a7c15ULL;

	return middle_of(items[first + (scatter >> 8) % nr].key, items[first + nr / 2].key,
			 items[first + (scatter >> 24) % nr].key);
}

struct sort_range {
	size_t first, end;
	size_t depth;
};

/* Cuts a range into smaller, equal and larger keys; the equal ones go on with their next word. */
static void partition(const struct stack_sort *sort, const struct sort_range *range,
		      struct sort_range parts[3])
{
	struct sort_item *items = sort->items;
	uint32_t pivot = choose_pivot(items, range->first, range->end);
	size_t less = range->first, at = range->first, more = range->end;

	while (at < more) {
		if (items[at].key < pivot)
			swap_items(&items[less++], &items[at++]);
		else if (items[at].key > pivot)
			swap_items(&items[at], &items[--more]);
		else
			at++;
	}
	parts[0] = (struct sort_range){range->first, less, range->depth};
	parts[1] = (struct sort_range){less, more, range->depth + 1};
	parts[2] = (struct sort_range){more, range->end, range->depth};
	if (!pivot) /* they have ended: it is one stack */
		parts[1].end = parts[1].first;
	for (at = parts[1].first; at < parts[1].end; at++)
		items[at].key = key_at(sort, items[at].stack, parts[1].depth);
}

static size_t range_nr(const struct sort_range *range)
{
	return range->end - range->first;
}

/* The largest part comes last in the array. */
static void move_largest_last(struct sort_range parts[3])
{
	size_t largest = 2, i;
	struct sort_range kept;

	for (i = 0; i < 2; i++)
		if (range_nr(&parts[i]) > range_nr(&parts[largest]))
			largest = i;
	kept = parts[largest];
	parts[largest] = parts[2];
	parts[2] = kept;
}

/*
 * A quicksort that takes up words one after the other. It calls itself for the smaller parts only,
 * so it never goes deeper than the logarithm of the number of stacks, however deep these are.
 */
static void sort_range(const struct stack_sort *sort, struct sort_range range)
{
	struct sort_range parts[3];

	while (range_nr(&range) > FEW_STACKS) {
		partition(sort, &range, parts);
		move_largest_last(parts);
		sort_range(sort, parts[0]);
		sort_range(sort, parts[1]);
		range = parts[2];
	}
	sort_few(sort, range.first, range.end, range.depth);
}

/* By text. 0 or -ENOMEM. */
static int sort_stacks(const struct named_stacks *stacks, uint32_t *order, size_t nr)
{
	cleanup_free struct sort_item *items = malloc((nr + 1) * sizeof(*items));
	cleanup_free uint32_t *ranks = rank_words(stacks);
	const struct stack_sort sort = {.stacks = stacks, .ranks = ranks, .items = items};
	uint32_t i;

	if (!items || !ranks)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		items[i] = (struct sort_item){.stack = i, .key = key_at(&sort, i, 0)};
	sort_range(&sort, (struct sort_range){.first = 0, .end = nr});
	for (i = 0; i < nr; i++)
		order[i] = items[i].stack;
	return 0;
}

uint32_t *stack_order(const struct named_stacks *stacks, bool as_they_are)
{
	size_t nr = named_stacks_nr(stacks);
	cleanup_free uint32_t *order = malloc((nr + 1) * sizeof(*order));
	uint32_t i;

	if (!order)
		return NULL;
	for (i = 0; i < nr; i++)
		order[i] = i;
	if (!as_they_are && sort_stacks(stacks, order, nr) < 0)
		return NULL;
	return take_pointer(&order);
}
