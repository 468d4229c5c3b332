/*
 * A flame graph's boxes: the tree of calls in a set of named stacks, laid out from left to right.
 *
 * Nodes stand in the order of a walk that visits callers before callees (preorder), siblings by the
 * text of their words, so that the same functions lie side by side in any two graphs. Lighter nodes
 * than asked for are left out, with all that they call; their callers are as wide as before.
 */
#ifndef STOOK_VIEW_FLAME_NODES_H
#define STOOK_VIEW_FLAME_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"

struct flame_node {
	uint32_t word;	/* of the named stacks; 0: the root, which is all */
	uint32_t depth; /* of the root 0 */
	uint32_t end;	/* the number of the first node that is not below it */
	double start;	/* the width of all that is left of it */
	double width;	/* see flame_shape */
	uint64_t count; /* its own and all below it */
	uint64_t self;	/* of stacks that end in it */
	uint64_t other; /* of the other value, its own and all below it; 0 without one */
	uint64_t other_self;
};

struct flame_nodes {
	struct flame_node *nodes; /* the root first */
	size_t nr, cap;
	uint32_t nr_depths; /* the deepest node's depth, and one */
	double least_width; /* that nodes have; more than was asked for if they were too many */
};

struct flame_shape {
	/* A node is as wide as its count, and so many times its other value. 0: count alone. */
	double other_weight;
	double least_width; /* lighter nodes are left out */
	size_t max_nodes;   /* about; 0: any number */
	bool flamechart;    /* stacks stay in their order, only neighbours become one node */
};

/* 0 or -ENOMEM. */
int flame_nodes_init(struct flame_nodes *nodes, const struct named_stacks *stacks,
		     const struct flame_shape *shape);
void flame_nodes_clear(struct flame_nodes *nodes);

#endif
