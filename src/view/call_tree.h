/*
 * The tree of calls in a set of named stacks: callers above, callees below, the labels on top.
 *
 * No node is stored. The stacks are sorted, so that all stacks below a node lie side by side, and
 * a node is a range of them; its children are found when somebody asks.
 */
#ifndef STOOK_VIEW_CALL_TREE_H
#define STOOK_VIEW_CALL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"
#include "view/table.h"

struct call_tree {
	const struct named_stacks *stacks; /* not owned; must outlive the tree */
	uint32_t *order;		   /* the stacks, sorted by their words */
	uint64_t *counts_before;	   /* by place in order: the sum of all counts before it */
};

struct call_node {
	size_t first, end; /* in order */
	size_t depth;	   /* words from the root down to here, its own included */
	uint32_t word;	   /* 0: the root of all */
	uint64_t count;
};

struct call_children {
	struct call_node *nodes; /* those with the count asked for or more, heaviest first */
	size_t nr, cap;
	uint64_t others_count; /* all others together */
	size_t nr_others;
	uint64_t self_count; /* stacks that end at the parent */
};

/* 0 or -ENOMEM. */
int call_tree_init(struct call_tree *tree, const struct named_stacks *stacks);
void call_tree_clear(struct call_tree *tree);

struct call_node call_tree_root(const struct call_tree *tree);

/* The children of a node, to be cleared by the caller. 0 or -ENOMEM. */
int call_tree_children(const struct call_tree *tree, const struct call_node *node,
		       uint64_t least_count, struct call_children *ret);
void call_children_clear(struct call_children *children);

/* --- in reports ------------------------------------------------------------------------------- */

enum report_order {
	REPORT_CALLER, /* callers above callees: perf's `caller` */
	REPORT_CALLEE, /* leaf functions on top, their callers below */
};

/* How paths are shown: perf's words for it. */
enum report_form {
	REPORT_GRAPH,	/* a tree, with percentages of all */
	REPORT_FRACTAL, /* a tree, with percentages of the branch above */
	REPORT_FLAT,	/* the heaviest whole stacks */
	REPORT_FOLDED,	/* likewise, a line each */
	REPORT_NONE,	/* not at all */
};

struct call_paths_style {
	enum report_order order;
	enum report_form form;
	double threshold;      /* percent below which a branch is left out; 0: what fits */
	unsigned max_branches; /* of a fork, or so many stacks; 0: any number */
	unsigned labels;       /* enum label bits: how samples are headed */
	bool lines;	       /* source lines behind names, where they are known */
	bool no_user;	       /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
};

/*
 * Adds the heaviest paths to a sheet that will be written as this medium: text has a tree or stacks,
 * Markdown the heaviest path, others nothing. The profile is not needed any more afterwards.
 * 0 or -ENOMEM.
 */
int call_tree_sheet_add(struct sheet *sheet, enum media medium, const struct profile *profile,
			const struct call_paths_style *style);

#endif
