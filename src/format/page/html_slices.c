/*
 * Stacks have counts by slice, and the page has nodes: each stack is followed down the tree to the
 * node that it ends in, or to what stands for all that was left out on its way. The counts are then
 * sorted by node and slice.
 *
 * The page has slices in the order of time, from 0; samples of no slice are in none.
 */
#include "format/page/html_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "profile/profile.h"

struct slice_count {
	uint32_t node;
	uint32_t slice;
	uint64_t count;
};

struct slices {
	const struct profile *profile;
	const struct html_tree *tree;
	struct u64_map children; /* parent << 32 | word to node */
	uint32_t *node_of;	 /* by stack */
	uint32_t *place_of;	 /* by the number of a slice: where it is in time */
	uint32_t *in_order;	 /* the numbers of slices */
	struct slice_count *counts;
	size_t nr_counts;
};

/* --- slices ---------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b, void *context)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	struct time_slice slice = profile_slice(context, one);
	struct time_slice other_slice = profile_slice(context, other);

	if (slice.start_ns != other_slice.start_ns)
		return slice.start_ns < other_slice.start_ns ? -1 : 1;
	return (one > other) - (one < other);
}

static int order_slices(struct slices *slices)
{
	size_t nr = profile_nr_slices(slices->profile);
	uint32_t i;

	slices->place_of = calloc(nr + 1, sizeof(*slices->place_of));
	slices->in_order = calloc(nr + 1, sizeof(*slices->in_order));
	if (!slices->place_of || !slices->in_order)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		slices->in_order[i] = i + 1;
	qsort_r(slices->in_order, nr, sizeof(*slices->in_order), compare_starts,
		(void *)slices->profile);
	for (i = 0; i < nr; i++)
		slices->place_of[slices->in_order[i]] = i;
	return 0;
}

static void put_slices(const struct slices *slices, struct html_columns *columns)
{
	size_t start = html_columns_add(columns, "slice.start");
	size_t length = html_columns_add(columns, "slice.length");
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < profile_nr_slices(slices->profile); i++) {
		struct time_slice slice = profile_slice(slices->profile, slices->in_order[i]);

		html_columns_put(columns, start, i ? slice.start_ns - last : 0);
		html_columns_put(columns, length,
				 slice.end_ns > slice.start_ns ? slice.end_ns - slice.start_ns : 0);
		last = slice.start_ns;
	}
}

/* --- nodes of stacks ------------------------------------------------------------------------- */

static uint64_t child_key(uint32_t parent, uint32_t word)
{
	return (uint64_t)parent << 32 | word;
}

static int map_children(struct slices *slices)
{
	const struct html_tree *tree = slices->tree;
	uint32_t i;

	for (i = 1; i < tree->nr; i++)
		if (u64_map_set(&slices->children, child_key(tree->parents[i], tree->words[i]), i))
			return -ENOMEM;
	return 0;
}

static uint32_t find_node(const struct slices *slices, uint32_t stack)
{
	const struct html_tree *tree = slices->tree;
	size_t nr, i;
	const uint32_t *words = named_stacks_get(tree->stacks, stack, &nr);
	uint32_t node = 0;

	for (i = 0; i < nr; i++) {
		uint32_t word = tree->word_of[words[i]];
		const uint64_t *child = NULL;

		if (word) /* some node has it */
			child = u64_map_find(&slices->children, child_key(node, word));
		if (!child)
			child = u64_map_find(&slices->children, child_key(node, HTML_WORD_REST));
		if (!child)
			break; /* it has no count */
		node = (uint32_t)*child;
		if (tree->words[node] == HTML_WORD_REST)
			break;
	}
	return node;
}

static int find_nodes(struct slices *slices)
{
	size_t nr = named_stacks_nr(slices->tree->stacks);
	uint32_t i;

	slices->node_of = calloc(nr + 1, sizeof(*slices->node_of));
	if (!slices->node_of || map_children(slices) < 0)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		slices->node_of[i] = find_node(slices, i);
	u64_map_clear(&slices->children);
	return 0;
}

/* --- counts ---------------------------------------------------------------------------------- */

static int compare_counts(const void *a, const void *b)
{
	const struct slice_count *one = a, *other = b;

	if (one->node != other->node)
		return one->node < other->node ? -1 : 1;
	return (one->slice > other->slice) - (one->slice < other->slice);
}

static int collect_counts(struct slices *slices)
{
	const struct u64_map *by_stack = &slices->tree->stacks->slices;
	const struct u64_map_slot *slot;
	size_t i;

	slices->counts = calloc(by_stack->nr + 1, sizeof(*slices->counts));
	if (!slices->counts)
		return -ENOMEM;
	for (i = 0; (slot = u64_map_next(by_stack, &i));) {
		uint32_t number = (uint32_t)slot->key;

		if (number && slot->value)
			slices->counts[slices->nr_counts++] = (struct slice_count){
				.node = slices->node_of[slot->key >> 32],
				.slice = slices->place_of[number],
				.count = slot->value,
			};
	}
	qsort(slices->counts, slices->nr_counts, sizeof(*slices->counts), compare_counts);
	return 0;
}

/* Stacks that were left out may meet in one node. */
static void add_up_counts(struct slices *slices)
{
	size_t nr = 0, i;

	for (i = 0; i < slices->nr_counts; i++) {
		if (nr && !compare_counts(&slices->counts[nr - 1], &slices->counts[i]))
			slices->counts[nr - 1].count += slices->counts[i].count;
		else
			slices->counts[nr++] = slices->counts[i];
	}
	slices->nr_counts = nr;
}

static void put_counts(const struct slices *slices, struct html_columns *columns)
{
	size_t nr_column = html_columns_add(columns, "node.slices");
	size_t step = html_columns_add(columns, "node.slice");
	size_t count = html_columns_add(columns, "node.count");
	size_t at = 0, first;
	uint32_t node, last;

	for (node = 0; node < slices->tree->nr; node++) {
		last = 0;
		for (first = at; at < slices->nr_counts && slices->counts[at].node == node; at++) {
			html_columns_put(columns, step, slices->counts[at].slice - last);
			html_columns_put(columns, count, slices->counts[at].count);
			last = slices->counts[at].slice;
		}
		html_columns_put(columns, nr_column, at - first);
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static void clear(struct slices *slices)
{
	u64_map_clear(&slices->children);
	free(slices->node_of);
	free(slices->place_of);
	free(slices->in_order);
	free(slices->counts);
}

int html_slices_put(const struct profile *profile, const struct html_tree *tree,
		    struct html_columns *columns)
{
	cleanup(clear) struct slices slices = {.profile = profile, .tree = tree};

	if (order_slices(&slices) < 0 || find_nodes(&slices) < 0 || collect_counts(&slices) < 0)
		return -ENOMEM;
	add_up_counts(&slices);
	put_slices(&slices, columns);
	put_counts(&slices, columns);
	return 0;
}
