/*
 * Off-CPU time under a budget: divides the time of waits that were not walked among the stacks of the thread's other
 * waits in the same state and place. Pure arithmetic: sums stay exact, to the nanosecond; what each stack gets is an
 * estimate, whose error is estimated, too.
 *
 * A group is a thread in a state and a place, in one epoch. What was not walked is its pot. A wait that was walked by a
 * choice with the probability 1/n stands for n - 1 others of its length: the stacks of a group share its pot in
 * proportion to the time for which their waits stand, and the number of waits in proportion to the number. So it does
 * not matter how n was chosen, nor that it changes.
 *
 * A walk is due when its wait has begun. If the wait ends by what the same CPU does next, the walk makes it longer, which
 * the waits for which it stands are not: stacks with short waits get too much. Whether it was so is not known for any one
 * wait, so this is not corrected, but part of the error.
 */
#ifndef STOOK_COLLECT_SPLIT_H
#define STOOK_COLLECT_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/waits.h"

/* Groups are any numbers of the caller's, samples those of the profile. */
struct split_share {
	uint64_t group;
	uint32_t sample;
	struct wait_amount amount; /* for which it stands */
	uint64_t variance;	   /* see wire_variance() */
};

struct split_pot {
	uint64_t group;
	struct wait_amount amount;
};

struct split {
	struct u64_map groups; /* to the number of the pot */
	struct split_pot *pots;
	size_t nr_pots, cap_pots;
	struct split_share *shares;
	size_t nr_shares, cap_shares;

	double walk_ns; /* of a walk, on average; may change */

	uint64_t divided_ns; /* since the start */
	double variance;     /* likewise: sum of the stacks' variances, in ns² */
	double bias_ns;	     /* likewise: what walks may have moved to other stacks */
};

/* Accepts {0}. */
void split_clear(struct split *split);

/* Add time to a pot; what a stack's waits stand for. 0 or -ENOMEM. */
int split_add_time(struct split *split, uint64_t group, const struct wait_amount *amount);
int split_add_share(struct split *split, const struct split_share *share);

#define SPLIT_NO_SAMPLE UINT32_MAX /* no wait of the group was walked */

/* Adds time of a group to a sample, or SPLIT_NO_SAMPLE. 0 or a negative errno. */
typedef int split_add_fn(void *context, uint64_t group, uint32_t sample,
			 const struct wait_amount *amount);

/*
 * Call at the end of each epoch: divides all pots, and forgets them. Returns 0 or a negative errno, including
 * add()'s.
 */
int split_close(struct split *split, split_add_fn *add, void *context);

/*
 * Returns the error of the time of any set of stacks, such as those with a function, with a probability of 95 %: twice
 * the standard error of all stacks together (groups are independent; within one, what a stack has too much another
 * has too little), and what walks may have moved.
 */
double split_error_ns(const struct split *split);

#endif
