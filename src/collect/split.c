/*
 * Shares are sorted by group when an epoch ends. A nanosecond is never divided: each stack gets the difference between
 * two rounded sums, and the last sum is the pot.
 */
#include "collect/split.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

#define MOST_WALKED 0.75 /* of a wait */

void split_clear(struct split *split)
{
	u64_map_clear(&split->groups);
	free(split->pots);
	free(split->shares);
	*split = (struct split){0};
}

static void increase(struct wait_amount *sum, const struct wait_amount *more)
{
	sum->waited_ns += more->waited_ns;
	sum->queued_ns += more->queued_ns;
	sum->nr_waited += more->nr_waited;
	sum->nr_queued += more->nr_queued;
}

int split_add_time(struct split *split, uint64_t group, const struct wait_amount *amount)
{
	const uint64_t *number = u64_map_find(&split->groups, group);

	if (!number) {
		if (ARRAY_ADD(split->pots, split->nr_pots, split->cap_pots,
			      (struct split_pot){group, *amount}) < 0)
			return -ENOMEM;
		return u64_map_set(&split->groups, group, split->nr_pots - 1);
	}
	increase(&split->pots[*number].amount, amount);
	return 0;
}

int split_add_share(struct split *split, const struct split_share *share)
{
	return ARRAY_ADD(split->shares, split->nr_shares, split->cap_shares, *share);
}

static int compare_shares(const void *a, const void *b)
{
	const struct split_share *x = a, *y = b;

	return COMPARE(x->group, y->group) ?: COMPARE(x->sample, y->sample);
}

/* Joins the shares of one sample, sorted. */
static void join_shares(struct split *split)
{
	size_t nr = 0, i;

	if (split->nr_shares)
		qsort(split->shares, split->nr_shares, sizeof(*split->shares), compare_shares);
	for (i = 0; i < split->nr_shares; i++) {
		const struct split_share *share = &split->shares[i];
		struct split_share *last = nr ? &split->shares[nr - 1] : NULL;

		if (!last || compare_shares(last, share) != 0) {
			split->shares[nr++] = *share;
			continue;
		}
		increase(&last->amount, &share->amount);
		last->variance += share->variance;
	}
	split->nr_shares = nr;
}

static uint64_t part_of(uint64_t whole, uint64_t part, uint64_t all)
{
	return (uint64_t)((unsigned __int128)whole * part / all);
}

static uint64_t both(const struct wait_amount *amount)
{
	return amount->waited_ns + amount->queued_ns;
}

/*
 * Returns what some stacks get of a pot, who stand for `part` of `all`. If all that stand for others were woken at
 * once, or ran at once, both times are divided alike.
 */
static struct wait_amount portion(const struct wait_amount *pot, const struct wait_amount *part,
				  const struct wait_amount *all)
{
#define PORTION(field)                                             \
	(all->field ? part_of(pot->field, part->field, all->field) \
		    : part_of(pot->field, both(part), both(all)))
	return (struct wait_amount){PORTION(waited_ns), PORTION(queued_ns), PORTION(nr_waited),
				    PORTION(nr_queued)};
#undef PORTION
}

/*
 * The estimate of a stack is its part p of the time R for which all stand, times the pot. If its waits have the
 * variance v, and all of the group V, then the one of the estimate of p R is (1 - 2 p) v + p² V.
 */
static double variance_of(const struct split_share *shares, size_t nr, double pot, double all)
{
	double sum = 0, total = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		total += (double)shares[i].variance;
	for (i = 0; i < nr; i++) {
		const double part = (double)both(&shares[i].amount) / all;

		sum += (1 - 2 * part) * (double)shares[i].variance + part * part * total;
	}
	return sum * 1024 * 1024 * pot * pot / (all * all);
}

/* Returns the time of waits without their walks, which are at most MOST_WALKED of it. */
static double without_walks(const struct wait_amount *amount, double walk_ns)
{
	const uint64_t nr =
		amount->nr_waited > amount->nr_queued ? amount->nr_waited : amount->nr_queued;
	const double ns = (double)both(amount), walks_ns = (double)nr * walk_ns;

	return walks_ns < ns * MOST_WALKED ? ns - walks_ns : ns * (1 - MOST_WALKED);
}

/* Returns how much of the pot would go to other stacks if no walk was part of its wait. */
static double bias_of(const struct split_share *shares, size_t nr, double pot, double all,
		      double walk_ns)
{
	double whole = 0, bias = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		whole += without_walks(&shares[i].amount, walk_ns);
	for (i = 0; i < nr; i++)
		bias += fabs((double)both(&shares[i].amount) / all -
			     without_walks(&shares[i].amount, walk_ns) / whole);
	return bias / 2 * pot;
}

/* Divides a pot among the stacks of its group. */
static int divide(struct split *split, const struct split_pot *pot,
		  const struct split_share *shares, size_t nr, split_add_fn *add, void *context)
{
	struct wait_amount sum = {0}, before = {0}, given = {0};
	size_t i;
	int err = 0;

	for (i = 0; i < nr; i++)
		increase(&sum, &shares[i].amount);
	for (i = 0; i < nr && !err; i++) {
		struct wait_amount so_far;

		increase(&before, &shares[i].amount);
		so_far = portion(&pot->amount, &before, &sum);
		err = add(context, pot->group, shares[i].sample,
			  &(struct wait_amount){so_far.waited_ns - given.waited_ns,
						so_far.queued_ns - given.queued_ns,
						so_far.nr_waited - given.nr_waited,
						so_far.nr_queued - given.nr_queued});
		given = so_far;
	}
	split->divided_ns += both(&pot->amount);
	split->variance += variance_of(shares, nr, (double)both(&pot->amount), (double)both(&sum));
	split->bias_ns +=
		bias_of(shares, nr, (double)both(&pot->amount), (double)both(&sum), split->walk_ns);
	return err;
}

int split_close(struct split *split, split_add_fn *add, void *context)
{
	size_t i;
	int err = 0;

	join_shares(split);
	for (i = 0; i < split->nr_pots && !err; i++) {
		const struct split_pot *pot = &split->pots[i];
		const struct split_share *shares = split->shares;
		const size_t first =
			array_first(split->nr_shares, k, shares[k].group >= pot->group);
		uint64_t all = 0;
		size_t nr = 0;

		for (; first + nr < split->nr_shares && shares[first + nr].group == pot->group;
		     nr++)
			all += both(&shares[first + nr].amount);
		if (all) {
			err = divide(split, pot, &shares[first], nr, add, context);
		} else {
			err = add(context, pot->group, SPLIT_NO_SAMPLE, &pot->amount);
		}
	}
	u64_map_clear(&split->groups);
	split->nr_pots = split->nr_shares = 0;
	return err;
}

double split_error_ns(const struct split *split)
{
	return (split->variance > 0 ? 2 * sqrt(split->variance) : 0) + split->bias_ns;
}
