/*
 * Compares two profiles by function and by call path, and fills a sheet with the changes.
 *
 * A function is identified by its name and its home (view/homes.h), so that two builds of a
 * program, and files in formats without modules, can be compared. Pictures and pages do the same.
 *
 * Among many comparisons, some are far off by chance. The least sigma limits the family-wise error
 * rate: with a confidence of 95 %, at least 95 of 100 comparisons of unchanged programs report no
 * change at all. The user may set the least sigma instead.
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

/* How to compare. A zero-initialised style is the default. */
struct comparison_style {
	const char *before_name, *after_name; /* of the files, for the heading; NULL: none */
	double before_seconds, after_seconds; /* 0: not known */
	const struct difference_part *parts;  /* several files per side; NULL: use time slices */
	size_t nr_parts;
	bool no_modules;   /* a side has no modules: unnamed functions are not distinguished */
	bool by_time;	   /* compare rates, which needs both durations; else shares */
	double confidence; /* family-wise, percent; 0: 95 */
	double sigma;	   /* least sigma of each change, instead of confidence; 0: not set */
	unsigned max_rows; /* of a table; 0: 20 */
	enum difference_group group;
	enum difference_order order;
	unsigned labels;  /* enum label bits: labels at the top of call paths */
	const char *note; /* a sentence to show with the comparison; NULL: none */
	bool no_user;	  /* user stacks were not requested: none is "missed" */
	bool no_kernel;
};

/* --- rows ------------------------------------------------------------------------------------- */

struct difference_pair {
	uint64_t before, after;
	struct difference is;
};

struct difference_row {
	uint32_t name;	   /* number in the rows' names */
	uint32_t module;   /* of a function: its home */
	uint32_t function; /* the profile's string; 0: no name, or no function */
	enum word_kind kind;
	struct difference_pair self, total;
	uint32_t last_stack; /* used while counting: number + 1 of the last stack with it */
};

struct difference_rows {
	struct strings *names;
	struct difference_row *rows; /* significant ones first, then by size of the change */
	size_t nr, cap;
	struct difference_scale scale; /* with the least sigma of rows */
	double nr_tests;	       /* number of comparisons that can be significant */
	enum difference_order order;
};

/* --- call paths ------------------------------------------------------------------------------- */

/*
 * Changes by call path: a tree of the branches that changed, callers first.
 *
 * A change of a function is also a change of all its callers. To report it once, a caller has a
 * line of its own only if no single callee explains its change: where several callees changed, or
 * the caller itself. All other callers share a line with the callee that explains them; the line's
 * numbers are the callee's. A branch whose callees all changed in proportion is not expanded.
 */

struct difference_line {
	uint32_t first, last; /* nodes: the line is the path from first down to last */
	uint32_t level;	      /* number of forks above */
	bool is_rest;	      /* the change of node `first` without its callees that have lines */
	bool has_more;	      /* more lines of the same fork follow */
	struct difference_pair pair;
};

struct difference_paths {
	struct flame_nodes nodes; /* the ones with enough samples to be significant */
	uint32_t *parents;	  /* by node */
	struct difference_line *lines;
	size_t nr, cap;
	struct difference_scale scale; /* with the least sigma of paths */
	double nr_tests;	       /* number of comparisons that can be significant */
	double least_change; /* smaller changes are left out to limit the lines; 0: none */
};

/* --- all of it -------------------------------------------------------------------------------- */

struct comparison {
	struct comparison_style style; /* with its defaults */
	const struct profile *profile; /* not owned */
	size_t before;		       /* number of the value "before" */
	struct named_stacks stacks;
	struct difference_scale scale; /* for independent samples */
	struct difference_spread spread;
	struct difference_rows rows;
	struct difference_paths paths;
};

/* Returns the number of the value "before"; 0 if the profile has one side only. */
size_t comparison_value(const struct profile *profile);

/*
 * Returns the scale for comparing numbers of the profile without further context, as in a picture:
 * its dispersion and least sigma are for all functions together. 0, -ENOMEM, or -EINVAL if there is
 * no value "before".
 */
int comparison_scale(struct difference_scale *ret, const struct profile *profile,
		     const struct comparison_style *style);

/* Threads with names on one side only. */
struct comparison_threads {
	uint32_t before, after; /* heaviest such name per side: the profile's strings; 0: none */
	double common_before,
		common_after; /* shares of samples in threads with names on both sides */
	bool are_all;	      /* only these names changed; checked only with LABEL_COMM */
};

/* 0, -ENOMEM, or -EINVAL if there is no value "before". */
int comparison_threads_find(struct comparison_threads *ret, const struct profile *profile,
			    const struct comparison_style *style);

/* The profile must outlive the comparison. 0, -ENOMEM, or -EINVAL if there is no value "before". */
int comparison_init(struct comparison *comparison, const struct profile *profile,
		    const struct comparison_style *style);
void comparison_clear(struct comparison *comparison);

const char *difference_rows_name(const struct difference_rows *rows,
				 const struct difference_row *row);

/* Returns the pair by which rows are sorted. */
const struct difference_pair *difference_rows_pair(const struct difference_rows *rows,
						   const struct difference_row *row);

/*
 * Compares, and fills a sheet for all media: text has the rows and paths that changed and a few
 * rows within noise, Markdown the ones that changed, CSV all rows, JSON all rows and paths:
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
 * dispersion is for all functions together, see difference.h. With by_time there are before_rate
 * and after_rate instead of shares. kind: more, less, new, gone, or null for changes within noise.
 *
 * The profile must outlive the sheet. 0, -ENOMEM, or -EINVAL if there is no value "before".
 */
#define COMPARISON_WIDTH 100 /* default width of the text */
int comparison_sheet_fill(struct sheet *sheet, const struct profile *profile,
			  const struct comparison_style *style);

#endif
