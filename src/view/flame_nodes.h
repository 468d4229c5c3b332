/*
 * The boxes of a flame graph: the call tree of a set of named stacks, laid out from left to right.
 *
 * Nodes are in preorder, callers before callees; siblings are sorted by text, so that functions
 * have the same order in any two graphs. Nodes narrower than the least width are left out with all
 * their callees; their callers keep their width.
 */
#ifndef STOOK_VIEW_FLAME_NODES_H
#define STOOK_VIEW_FLAME_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"

struct flame_node {
	uint32_t word;	/* of the named stacks; 0: the root */
	uint32_t depth; /* 0: the root */
	uint32_t end;	/* number of the next node that is not below this one */
	double start;	/* total width to the left */
	double width;	/* see flame_shape */
	uint64_t count; /* of the node and all below it */
	uint64_t self;	/* of stacks that end in it */
	uint64_t other; /* like count, but of other_value; 0 without it */
	uint64_t other_self;
};

struct flame_nodes {
	struct flame_node *nodes; /* the root first */
	size_t nr, cap;
	uint32_t nr_depths; /* depth of the deepest node + 1 */
	double least_width; /* of all nodes; raised above the shape's if there were too many */
};

struct flame_shape {
	/* A node's width is its count + other_weight * its other value. */
	double other_weight;
	double least_width; /* narrower nodes are left out */
	size_t max_nodes;   /* approximate limit; 0: none */
	bool flamechart;    /* keep the order of stacks; only adjacent ones share nodes */
};

/* 0 or -ENOMEM. */
int flame_nodes_init(struct flame_nodes *nodes, const struct named_stacks *stacks,
		     const struct flame_shape *shape);
void flame_nodes_clear(struct flame_nodes *nodes);

#endif
