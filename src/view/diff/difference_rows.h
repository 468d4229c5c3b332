/*
 * What changed, function by function; or by module, or by thread's name.
 *
 * A function is known by its name alone, so that two builds of a program, and files of formats that
 * have no modules, can be compared.
 *
 * Many rows are looked at, and of many some are far off by chance. So the least sigma is such that in
 * all but the given part of cases no row at all is wrongly taken for a change; or what was asked for.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_ROWS_H
#define STOOK_VIEW_DIFF_DIFFERENCE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

enum difference_group {
	DIFFERENCE_BY_FUNCTION,
	DIFFERENCE_BY_MODULE,
	DIFFERENCE_BY_COMM,
};

enum difference_order {
	DIFFERENCE_SELF,
	DIFFERENCE_TOTAL,
};

/* When a change is believed. */
struct difference_trust {
	double chance; /* that any of all is none */
	double sigma;  /* instead, of each; 0: not */
};

struct difference_pair {
	uint64_t before, after;
	struct difference is;
};

struct difference_row {
	uint32_t name;	   /* of the rows' names */
	uint32_t module;   /* of a function: the profile's, where it was first seen */
	uint32_t function; /* the profile's string; 0: no name, or no function */
	enum word_kind kind;
	struct difference_pair self, total;
	uint32_t last_stack; /* for counting: number + 1 of the last stack that had it */
};

struct difference_rows {
	struct strings *names;
	struct difference_row *rows; /* by the change of what they are ordered by, largest first */
	size_t nr, cap;
	struct difference_scale scale; /* its least sigma is theirs */
	double nr_tests;	       /* comparisons that could tell something */
	enum difference_order order;
};

/* The stacks have the value "before" as their other one. 0 or -ENOMEM. */
int difference_rows_init(struct difference_rows *rows, const struct profile *profile,
			 const struct named_stacks *stacks, const struct difference_scale *scale,
			 const struct difference_spread *spread,
			 const struct difference_trust *trust, enum difference_group group,
			 enum difference_order order);
void difference_rows_clear(struct difference_rows *rows);

const char *difference_rows_name(const struct difference_rows *rows,
				 const struct difference_row *row);

/* The pair that rows are ordered by. */
const struct difference_pair *difference_rows_pair(const struct difference_rows *rows,
						   const struct difference_row *row);

/* --- call paths ------------------------------------------------------------------------------- */

/*
 * What changed, call path by call path: a tree from callers, of the branches that changed.
 *
 * A change of a function is a change of all its callers, too. To report it once, a caller gets a line
 * of its own only where something happens that no single callee explains: where changes fork, or
 * where the caller itself changed. All other callers share a line with the callee that explains
 * them, and the line's numbers are the callee's. A branch whose parts all changed alike is not
 * opened.
 */

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
