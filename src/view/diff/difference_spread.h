/*
 * How much the numbers of functions vary by themselves: from run to run, or from one slice of time to
 * the next, while nothing was changed.
 *
 * Were samples drawn each by itself, a function's numbers in several parts of a profile would scatter
 * as sampling alone has it. How much more they do is its *dispersion*, a factor of the variance. Parts
 * are few, so the estimate of one function is uncertain; it is drawn towards what all functions say
 * together, as if that were a few more parts of its own.
 */
#ifndef STOOK_VIEW_DIFF_DIFFERENCE_SPREAD_H
#define STOOK_VIEW_DIFF_DIFFERENCE_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "view/diff/difference.h"

/* Parts are values of the profile (a file each), or slices of time of a value. */
struct difference_part {
	bool is_after;
	size_t value;	/* profile_values.h */
	uint32_t slice; /* 0: whenever it was */
	double seconds; /* for rates */
};

struct function_spread {
	double self, total; /* dispersions, at least 1 */
};

struct difference_spread {
	struct function_spread *functions; /* by the profile's string, 0: without a name; or NULL */
	size_t nr;
	struct function_spread all; /* of all functions together */
	double freedom;		    /* degrees of it, of each estimate; 0: nothing is known */
	size_t nr_before, nr_after; /* parts */
};

/* The slices of both sides as parts, with *ret to be freed; none if either has less than three. */
int difference_slices(const struct profile *profile, size_t before, struct difference_part **ret,
		      size_t *ret_nr);

/* 0 or -ENOMEM. Without two parts on one side nothing is known: all dispersions are 1. */
int difference_spread_init(struct difference_spread *spread, const struct profile *profile,
			   const struct difference_scale *scale,
			   const struct difference_part *parts, size_t nr_parts);
void difference_spread_clear(struct difference_spread *spread);

#endif
