/*
 * Builds the nodes of a flame graph. Words are ranked by text once, and stacks sorted as sequences
 * of ranks, so that all stacks of a node are adjacent. One sweep over the stacks closes the nodes
 * that a stack is not in, and opens nodes where it differs from the one before. A node that is too
 * narrow when it is closed is removed from the end of the array with all nodes below it, so only
 * kept and open nodes are in memory.
 *
 * If there are still too many nodes, the least width is raised during the sweep: the widths of all
 * closed nodes are known by then, and later nodes are checked against the new limit. No second
 * sweep is needed.
 */
#include "view/flame_nodes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/sort.h"

/* --- the order of stacks --------------------------------------------------------------------- */

struct word_order {
	const struct named_stacks *stacks;
	const uint32_t *ranks; /* by word; 0 for word 0, which is in no stack */
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

/*
 * Returns the numbers of all stacks, sorted by the texts of their words unless as_they_are; NULL
 * when out of memory.
 */
static uint32_t *order_stacks(const struct named_stacks *stacks, bool as_they_are)
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

/* --- the sweep ------------------------------------------------------------------------------- */

struct sweep {
	const struct named_stacks *stacks;
	const struct flame_shape *shape;
	struct flame_nodes *nodes;
	uint32_t *open; /* nodes of the last stack, by depth */
	size_t nr_open, cap_open;
	uint64_t count, other; /* of all stacks so far */
};

/* Grows with both arguments, so that no node is wider than its parent. */
static double width_of(const struct sweep *sweep, uint64_t count, uint64_t other)
{
	return (double)count + sweep->shape->other_weight * (double)other;
}

/*
 * While a node is open, its count and other are the sums of all stacks before it, and its width is
 * infinite.
 */
static int open_node(struct sweep *sweep, uint32_t word)
{
	struct flame_nodes *nodes = sweep->nodes;

	if (nodes->nr == UINT32_MAX ||
	    array_reserve(&nodes->nodes, &nodes->cap, nodes->nr + 1, sizeof(*nodes->nodes)) < 0 ||
	    array_reserve(&sweep->open, &sweep->cap_open, sweep->nr_open + 1,
			  sizeof(*sweep->open)) < 0)
		return -ENOMEM;
	nodes->nodes[nodes->nr] = (struct flame_node){
		.word = word,
		.depth = (uint32_t)sweep->nr_open,
		.start = width_of(sweep, sweep->count, sweep->other),
		.width = INFINITY,
		.count = sweep->count,
		.other = sweep->other,
	};
	sweep->open[sweep->nr_open++] = (uint32_t)nodes->nr++;
	return 0;
}

/* Closes all open nodes at this depth and deeper. */
static void close_nodes(struct sweep *sweep, size_t depth)
{
	struct flame_nodes *nodes = sweep->nodes;

	while (sweep->nr_open > depth) {
		uint32_t number = sweep->open[--sweep->nr_open];
		struct flame_node *node = &nodes->nodes[number];

		node->count = sweep->count - node->count;
		node->other = sweep->other - node->other;
		node->width = width_of(sweep, node->count, node->other);
		if (node->width < nodes->least_width && node->depth)
			nodes->nr = number;
	}
}

static int add_stack(struct sweep *sweep, uint32_t stack)
{
	uint64_t count = sweep->stacks->counts[stack];
	uint64_t other = sweep->stacks->others ? sweep->stacks->others[stack] : 0;
	size_t nr, same = 0;
	const uint32_t *words = named_stacks_get(sweep->stacks, stack, &nr);
	struct flame_node *last;

	while (same < nr && same + 1 < sweep->nr_open &&
	       sweep->nodes->nodes[sweep->open[same + 1]].word == words[same])
		same++;
	close_nodes(sweep, same + 1);
	for (; same < nr; same++)
		if (open_node(sweep, words[same]) < 0)
			return -ENOMEM;
	last = &sweep->nodes->nodes[sweep->open[sweep->nr_open - 1]];
	last->self += count;
	last->other_self += other;
	sweep->count += count;
	sweep->other += other;
	return 0;
}

/* --- limiting the number of nodes ------------------------------------------------------------ */

/*
 * Classes of widths, by the leading bits of the double, which sort positive doubles by value. There
 * are 16 classes per power of two.
 */
#define WIDTH_SHIFT   48
#define WIDTH_CLASSES (1U << 15)

static uint32_t width_class(double width)
{
	uint64_t bits;

	memcpy(&bits, &width, sizeof(bits));
	return (uint32_t)(bits >> WIDTH_SHIFT) % WIDTH_CLASSES;
}

static double class_begin(uint32_t class)
{
	uint64_t bits = (uint64_t) class << WIDTH_SHIFT;
	double width;

	memcpy(&width, &bits, sizeof(width));
	return width;
}

/* Drops narrower nodes. Open nodes have infinite width and stay; sweep->open is renumbered. */
static void drop_narrow(struct sweep *sweep, double least_width)
{
	struct flame_nodes *nodes = sweep->nodes;
	size_t i, nr = 0;

	for (i = 0; i < nodes->nr; i++) {
		struct flame_node node = nodes->nodes[i];

		if (node.width < least_width && node.depth)
			continue;
		if (node.depth < sweep->nr_open && sweep->open[node.depth] == i)
			sweep->open[node.depth] = (uint32_t)nr;
		nodes->nodes[nr++] = node;
	}
	nodes->nr = nr;
	nodes->least_width = least_width;
}

/* Raises the least width to leave about max_nodes. 0 or -ENOMEM. */
static int drop_to(struct sweep *sweep, size_t max_nodes)
{
	cleanup_free size_t *nr_in_class = calloc(WIDTH_CLASSES, sizeof(*nr_in_class));
	uint32_t class = WIDTH_CLASSES;
	size_t i, nr = 0;

	if (!nr_in_class)
		return -ENOMEM;
	for (i = 0; i < sweep->nodes->nr; i++)
		nr_in_class[width_class(sweep->nodes->nodes[i].width)]++;
	while (class && nr + nr_in_class[class - 1] <= max_nodes)
		nr += nr_in_class[--class];
	if (class < WIDTH_CLASSES)
		drop_narrow(sweep, class_begin(class));
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int sweep_all(struct sweep *sweep, const uint32_t *order)
{
	size_t nr = named_stacks_nr(sweep->stacks);
	size_t max = sweep->shape->max_nodes;
	size_t i;
	int err = open_node(sweep, 0);

	for (i = 0; i < nr && !err; i++) {
		err = add_stack(sweep, order[i]);
		if (!err && max && sweep->nodes->nr - sweep->nr_open > 2 * max)
			err = drop_to(sweep, max + sweep->nr_open);
	}
	if (err)
		return err;
	close_nodes(sweep, 0);
	return max && sweep->nodes->nr > max ? drop_to(sweep, max) : 0;
}

/* Sets each node's end: the next node that is not deeper. */
static void set_ends(struct sweep *sweep)
{
	struct flame_nodes *nodes = sweep->nodes;
	uint32_t nr = (uint32_t)nodes->nr;
	size_t nr_open = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		uint32_t depth = nodes->nodes[i].depth;

		while (nr_open > depth)
			nodes->nodes[sweep->open[--nr_open]].end = i;
		sweep->open[nr_open++] = i;
		if (depth >= nodes->nr_depths)
			nodes->nr_depths = depth + 1;
	}
	while (nr_open)
		nodes->nodes[sweep->open[--nr_open]].end = nr;
}

int flame_nodes_init(struct flame_nodes *nodes, const struct named_stacks *stacks,
		     const struct flame_shape *shape)
{
	cleanup_free uint32_t *order = order_stacks(stacks, shape->flamechart);
	struct sweep sweep = {.stacks = stacks, .shape = shape, .nodes = nodes};
	int err = -ENOMEM;

	*nodes = (struct flame_nodes){.least_width = shape->least_width};
	if (order)
		err = sweep_all(&sweep, order);
	if (err < 0) {
		flame_nodes_clear(nodes);
	} else {
		set_ends(&sweep);
		array_shrink(&nodes->nodes, &nodes->cap, nodes->nr, sizeof(*nodes->nodes));
	}
	free(sweep.open);
	return err;
}

void flame_nodes_clear(struct flame_nodes *nodes)
{
	free(nodes->nodes);
	*nodes = (struct flame_nodes){0};
}
