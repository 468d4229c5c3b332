/*
 * A call tree over sorted stacks. Sorting by word numbers instead of texts is sufficient for
 * ranges, and cheap. The end of a child's range is found by doubling steps and bisection, its count
 * by one subtraction, so the cost of visiting a node depends on its children, not on the stacks
 * below them.
 */
#include "view/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int compare_words(const void *a, const void *b, void *context)
{
	const struct call_tree *tree = context;
	size_t nr_a, nr_b, i;
	const uint32_t *words_a = named_stacks_get(tree->stacks, *(const uint32_t *)a, &nr_a);
	const uint32_t *words_b = named_stacks_get(tree->stacks, *(const uint32_t *)b, &nr_b);

	for (i = 0; i < nr_a && i < nr_b; i++)
		if (words_a[i] != words_b[i])
			return words_a[i] < words_b[i] ? -1 : 1;
	return (nr_a > nr_b) - (nr_a < nr_b);
}

int call_tree_init(struct call_tree *tree, const struct named_stacks *stacks)
{
	size_t nr = named_stacks_nr(stacks);
	size_t i;

	*tree = (struct call_tree){.stacks = stacks};
	tree->order = malloc((nr + 1) * sizeof(*tree->order));
	tree->counts_before = malloc((nr + 1) * sizeof(*tree->counts_before));
	if (!tree->order || !tree->counts_before) {
		call_tree_clear(tree);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		tree->order[i] = (uint32_t)i;
	qsort_r(tree->order, nr, sizeof(*tree->order), compare_words, tree);
	tree->counts_before[0] = 0;
	for (i = 0; i < nr; i++)
		tree->counts_before[i + 1] =
			tree->counts_before[i] + stacks->counts[tree->order[i]];
	return 0;
}

void call_tree_clear(struct call_tree *tree)
{
	free(tree->order);
	free(tree->counts_before);
	*tree = (struct call_tree){0};
}

static uint64_t range_count(const struct call_tree *tree, size_t first, size_t end)
{
	return tree->counts_before[end] - tree->counts_before[first];
}

struct call_node call_tree_root(const struct call_tree *tree)
{
	size_t nr = named_stacks_nr(tree->stacks);

	return (struct call_node){.end = nr, .count = range_count(tree, 0, nr)};
}

/* Returns the word at a depth of the stack at an index in order; 0 if the stack ends above it. */
static uint32_t word_at(const struct call_tree *tree, size_t place, size_t depth)
{
	size_t nr;
	const uint32_t *words = named_stacks_get(tree->stacks, tree->order[place], &nr);

	return depth < nr ? words[depth] : 0;
}

/* Returns the end of the run of stacks from `first` with the same word at this depth. */
static size_t run_end(const struct call_tree *tree, size_t first, size_t end, size_t depth)
{
	uint32_t word = word_at(tree, first, depth);
	size_t same = first; /* has the word */
	size_t step = 1;

	while (same + step < end && word_at(tree, same + step, depth) == word) {
		same += step;
		step *= 2;
	}
	if (same + step < end)
		end = same + step; /* has another word */
	while (end - same > 1) {
		size_t middle = same + (end - same) / 2;

		if (word_at(tree, middle, depth) == word)
			same = middle;
		else
			end = middle;
	}
	return end;
}

static int add_child(struct call_children *children, const struct call_node *child,
		     uint64_t least_count)
{
	if (child->count < least_count) {
		children->others_count += child->count;
		children->nr_others++;
		return 0;
	}
	if (array_reserve(&children->nodes, &children->cap, children->nr + 1,
			  sizeof(*children->nodes)) < 0)
		return -ENOMEM;
	children->nodes[children->nr++] = *child;
	return 0;
}

/* Heaviest first; equal weights by name, so that equal profiles have equal output. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct call_tree *tree = context;
	const struct call_node *node_a = a, *node_b = b;

	if (node_a->count != node_b->count)
		return node_a->count > node_b->count ? -1 : 1;
	return strcmp(named_stacks_word(tree->stacks, node_a->word),
		      named_stacks_word(tree->stacks, node_b->word));
}

int call_tree_children(const struct call_tree *tree, const struct call_node *node,
		       uint64_t least_count, struct call_children *ret)
{
	struct call_children children = {0};
	struct call_node child = {.depth = node->depth + 1};
	int result = 0;

	for (child.first = node->first; child.first < node->end && !result;
	     child.first = child.end) {
		child.end = run_end(tree, child.first, node->end, node->depth);
		child.word = word_at(tree, child.first, node->depth);
		child.count = range_count(tree, child.first, child.end);
		if (!child.word)
			children.self_count = child.count;
		else
			result = add_child(&children, &child, least_count);
	}
	if (result < 0) {
		call_children_clear(&children);
		return result;
	}
	if (children.nr)
		qsort_r(children.nodes, children.nr, sizeof(*children.nodes), compare_nodes,
			(void *)tree);
	*ret = children;
	return 0;
}

void call_children_clear(struct call_children *children)
{
	free(children->nodes);
	*children = (struct call_children){0};
}
