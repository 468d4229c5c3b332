/*
 * Two profiles compared: all that there is to say of it, found in one call, for whoever writes it down
 * in whatever form.
 */
#ifndef STOOK_VIEW_DIFF_COMPARISON_H
#define STOOK_VIEW_DIFF_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "view/diff/difference.h"
#include "view/diff/difference_rows.h"
#include "view/named_stacks.h"

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
};

struct comparison {
	struct comparison_style style; /* with its defaults */
	const struct profile *profile; /* not owned */
	size_t before;		       /* the value */
	struct named_stacks stacks;
	struct difference_scale scale; /* of samples drawn each by itself */
	struct difference_spread spread;
	bool parts_are_slices;
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

/* names: how stacks are named. 0, -ENOMEM, or -EINVAL if there is no value "before". */
int comparison_init(struct comparison *comparison, const struct profile *profile,
		    const struct named_stacks_style *names, const struct comparison_style *style);
void comparison_clear(struct comparison *comparison);

#endif
