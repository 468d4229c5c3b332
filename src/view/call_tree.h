/*
 * The call tree of a set of named stacks: labels at the top, then callers, callees below.
 *
 * Nodes are not stored. The stacks are sorted, so that all stacks below a node are adjacent: a node
 * is a range of stacks, and its children are computed on request.
 */
#ifndef STOOK_VIEW_CALL_TREE_H
#define STOOK_VIEW_CALL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "view/named_stacks.h"
#include "view/table.h"

struct call_tree {
	const struct named_stacks *stacks; /* not owned; must outlive the tree */
	uint32_t *order;		   /* numbers of the stacks, sorted by their words */
	uint64_t *counts_before;	   /* by index in order: the sum of the counts before it */
};

struct call_node {
	size_t first, end; /* range of indices in the tree's `order` */
	size_t depth;	   /* words from the root to this node, its own included */
	uint32_t word;	   /* 0: the root */
	uint64_t count;
};

struct call_children {
	struct call_node *nodes; /* the ones with at least least_count, heaviest first */
	size_t nr, cap;
	uint64_t others_count; /* sum of the others */
	size_t nr_others;
	uint64_t self_count; /* stacks that end at the parent */
};

/* 0 or -ENOMEM. */
int call_tree_init(struct call_tree *tree, const struct named_stacks *stacks);
void call_tree_clear(struct call_tree *tree);

struct call_node call_tree_root(const struct call_tree *tree);

/* Computes the children of a node; the caller clears *ret. 0 or -ENOMEM. */
int call_tree_children(const struct call_tree *tree, const struct call_node *node,
		       uint64_t least_count, struct call_children *ret);
void call_children_clear(struct call_children *children);

/* --- in reports ------------------------------------------------------------------------------- */

enum report_order {
	REPORT_CALLER, /* callers above callees: perf's `caller` */
	REPORT_CALLEE, /* leaf functions on top, their callers below */
};

/* How paths are shown, named as in `perf report -g`. */
enum report_form {
	REPORT_GRAPH,	/* a tree, with percentages of the total */
	REPORT_FRACTAL, /* a tree, with percentages of the branch above */
	REPORT_FLAT,	/* the heaviest whole stacks */
	REPORT_FOLDED,	/* the heaviest whole stacks, one per line */
	REPORT_NONE,	/* no paths */
};

struct call_paths_style {
	enum report_order order;
	enum report_form form;
	double threshold;      /* percent below which a branch is left out */
	bool has_threshold;    /* else it is chosen to fit */
	unsigned max_branches; /* limit on branches per fork, or on stacks; 0: no limit */
	unsigned labels;       /* enum label bits: labels at the top of paths */
	bool lines;	       /* source lines after names, if known */
	bool no_user;	       /* user stacks were not requested: none is "missed" */
	bool no_kernel;
};

/*
 * Adds the heaviest paths to a sheet for this medium: a tree or stacks in text, the heaviest path
 * in Markdown, nothing in others. The sheet does not use the profile afterwards. 0 or -ENOMEM.
 */
int call_tree_sheet_add(struct sheet *sheet, enum media medium, const struct profile *profile,
			const struct call_paths_style *style);

#endif
