/*
 * What changed, call path by call path: a tree from callers, of the branches that changed.
 *
 * A change of a function is a change of all its callers, too. To tell it once, a caller is a line of
 * its own only where something happens that no single callee explains: where changes fork, or it
 * changed besides. All others stand in one line with the callee that explains them, whose numbers are
 * the line's. A branch all of whose parts changed alike is not opened.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_PATHS_H
#define STOOK_VIEW_DIFF_DIFFERENCE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/diff/difference_rows.h"
#include "view/flame_nodes.h"

struct difference_line {
	uint32_t first, last; /* nodes: the way down from the one to the other */
	uint32_t level;	      /* forks above it */
	bool is_rest;	      /* what changed of the line above `first` is of besides those below */
	bool has_more;	      /* lines of the same fork follow */
	struct difference_pair pair;
};

struct difference_paths {
	struct flame_nodes nodes; /* those that could tell something */
	uint32_t *parents;	  /* of nodes */
	struct difference_line *lines;
	size_t nr, cap;
	struct difference_scale scale; /* its least sigma is theirs */
	double nr_tests;
	double least_change; /* smaller changes are left out, as there were too many; 0: none were */
};

/* max_lines: about so many; 0: all. 0 or -ENOMEM. */
int difference_paths_init(struct difference_paths *paths, const struct named_stacks *stacks,
			  const struct difference_scale *scale,
			  const struct difference_spread *spread,
			  const struct difference_trust *trust, size_t max_lines);
void difference_paths_clear(struct difference_paths *paths);

#endif
