/*
 * Words are ranked by their texts once; then stacks are sorted as sequences of ranks, which looks at
 * no more words of them than it takes to tell them apart.
 */
#include "view/stack_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

struct word_order {
	const struct named_stacks *stacks;
	const uint32_t *ranks; /* by word: 0 for word 0, which is in no stack */
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

static uint32_t rank_at(const void *context, uint32_t stack, size_t depth)
{
	const struct word_order *order = context;
	size_t nr;
	const uint32_t *words = named_stacks_get(order->stacks, stack, &nr);

	return depth < nr ? order->ranks[words[depth]] : 0;
}

uint32_t *stack_order(const struct named_stacks *stacks, bool as_they_are)
{
	size_t nr = named_stacks_nr(stacks), i;
	cleanup_free uint32_t *order = malloc((nr + 1) * sizeof(*order));
	cleanup_free struct sort_item *items = malloc((nr + 1) * sizeof(*items));
	cleanup_free uint32_t *ranks = NULL;

	if (!order || !items)
		return NULL;
	for (i = 0; i < nr; i++)
		items[i] = (struct sort_item){.number = (uint32_t)i};
	if (!as_they_are) {
		ranks = sort_ranks(stacks->nr_words, compare_words, stacks);
		if (!ranks)
			return NULL;
		sort_sequences(items, nr, rank_at, &(struct word_order){stacks, ranks});
	}
	for (i = 0; i < nr; i++)
		order[i] = items[i].number;
	return take_pointer(&order);
}
