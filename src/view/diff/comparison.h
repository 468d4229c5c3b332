/*
 * Two profiles compared: what changed, function by function and call path by call path, and how that is
 * shown.
 *
 * A function is known by its name and its home (view/homes.h), so that two builds of a program, and files
 * of formats that have no modules, can be compared, here as in pictures and pages.
 *
 * Many numbers are looked at, and of many some are far off by chance. So the least sigma is such that in
 * all but the given part of cases no number at all is wrongly taken for a change; or what was asked for.
 */
#ifndef STOOK_VIEW_DIFF_COMPARISON_H
#define STOOK_VIEW_DIFF_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "view/diff/difference.h"
#include "view/flame_nodes.h"
#include "view/named_stacks.h"

struct sheet;

enum difference_group {
	DIFFERENCE_BY_FUNCTION,
	DIFFERENCE_BY_MODULE,
	DIFFERENCE_BY_COMM,
};

enum difference_order {
	DIFFERENCE_SELF,
	DIFFERENCE_TOTAL,
};

/* How to compare. A style of zeros is the default. */
struct comparison_style {
	const char *before_name, *after_name; /* of the files, for the heading; NULL: none */
	double before_seconds, after_seconds; /* 0: not known */
	const struct difference_part *parts;  /* several files a side; NULL: slices of time */
	size_t nr_parts;
	bool no_modules;   /* one side knows none: functions without a name are not told apart */
	bool by_time;	   /* rates, which takes both times; else shares */
	double confidence; /* percent; 0: 95 */
	double sigma;	   /* instead, of each change; 0: not */
	unsigned max_rows; /* of a table; 0: 20 */
	enum difference_group group;
	enum difference_order order;
	unsigned labels;  /* enum label bits: they head the call paths */
	const char *note; /* a sentence for whoever reads the comparison; NULL: none */
	bool no_user;	  /* user stacks were not asked for: none is "missed" */
	bool no_kernel;
};

/* --- rows ------------------------------------------------------------------------------------- */

struct difference_pair {
	uint64_t before, after;
	struct difference is;
};

struct difference_row {
	uint32_t name;	   /* of the rows' names */
	uint32_t module;   /* of a function: its home */
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

/* --- call paths ------------------------------------------------------------------------------- */

/*
 * Changes by call path: a tree from callers, of the branches that changed.
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

/* --- all of it -------------------------------------------------------------------------------- */

struct comparison {
	struct comparison_style style; /* with its defaults */
	const struct profile *profile; /* not owned */
	size_t before;		       /* the value */
	struct named_stacks stacks;
	struct difference_scale scale; /* of samples drawn each by itself */
	struct difference_spread spread;
	struct difference_rows rows;
	struct difference_paths paths;
};

/* The number of the value "before"; 0 if the profile is of one side only. */
size_t comparison_value(const struct profile *profile);

/*
 * How numbers of the profile are to be compared where a number is all that there is: in a picture. The
 * scale's dispersion and least sigma are those of all functions. 0, or -ENOMEM.
 */
int comparison_scale(struct difference_scale *ret, const struct profile *profile,
		     const struct comparison_style *style);

/* Threads whose names one side alone has. */
struct comparison_threads {
	uint32_t before, after; /* the heaviest such names: the profile's strings; 0: none */
	double common_before,
		common_after; /* shares of samples whose thread's name both sides have */
	bool are_all;	      /* nothing changed but these names; only looked for with LABEL_COMM */
};

/* 0, -ENOMEM, or -EINVAL if there is no value "before". */
int comparison_threads_find(struct comparison_threads *ret, const struct profile *profile,
			    const struct comparison_style *style);

/* The profile must outlive it. 0, -ENOMEM, or -EINVAL if there is no value "before". */
int comparison_init(struct comparison *comparison, const struct profile *profile,
		    const struct comparison_style *style);
void comparison_clear(struct comparison *comparison);

const char *difference_rows_name(const struct difference_rows *rows,
				 const struct difference_row *row);

/* The pair that rows are ordered by. */
const struct difference_pair *difference_rows_pair(const struct difference_rows *rows,
						   const struct difference_row *row);

/*
 * Compares, and fills a sheet that can be written as any medium: text has the rows and paths that changed
 * and a few doubtful ones, Markdown the ones that changed, CSV all rows, JSON all rows and paths:
 *
 *	{"before": {"name": "a.pb.gz", "count": 10012, "seconds": 20.0}, "after": {…},
 *	 "by_time": false, "least_sigma": 4.1, "paths_least_sigma": 4.4, "comparisons": 812,
 *	 "dispersion": 1.3, "note": null,
 *	 "rows": [{"name": "crc64", "module": "redis-server",
 *	   "self": {"before": 1235, "after": 1499, "before_share": 0.1234, "after_share": 0.1501,
 *		    "change": 0.0267, "error": 0.0048, "sigma": 5.4, "kind": "more"},
 *	   "total": {…}}, …],
 *	 "paths": [{"path": ["redis-server", "main", …], "besides": false, "before": …}, …]}
 *
 * dispersion is that of all functions, see difference.h. by_time has before_rate and after_rate.
 * kind: more, less, new, gone, or null for changes that may be chance.
 *
 * The profile must outlive the sheet. 0, -ENOMEM, or -EINVAL if there is no value "before".
 */
#define COMPARISON_WIDTH 100 /* of the text, unless somebody knows better */
int comparison_sheet_fill(struct sheet *sheet, const struct profile *profile,
			  const struct comparison_style *style);

#endif
