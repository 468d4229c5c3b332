/*
 * A step assumes that the whole cost depends on the rate. Where it does not, a step down is repeated in the next window,
 * and one up stops too early, which is the better side to err on.
 */
#include "agent/governor.h"

#include <math.h>

#define AIM	  0.9 /* of the budget */
#define MOST_STEP 2.0 /* a burst, as at the start, should not cost all samples */
#define SLACK	  0.9 /* of the aim: a step up goes to this, so that the next one is not down */
#define CHEAP_FOR 2   /* windows */

#define RUNAWAY	    4.0 /* times the budget */
#define RUNAWAY_FOR 6	/* windows */

void governor_init(struct governor *governor, const struct governor_limits *limits,
		   const struct governor_reading *first)
{
	*governor = (struct governor){.limits = *limits, .last = *first, .one_of = 1};
}

void governor_resume(struct governor *governor, const struct governor_reading *first)
{
	governor->last = *first;
	governor->nr_cheap = governor->nr_runaway = 0;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/* Rounded up: the lower rate. */
static uint32_t stepped(const struct governor *governor, double ratio)
{
	const double step = fmin(fmax(ratio, 1 / MOST_STEP), MOST_STEP);
	const uint32_t one_of = (uint32_t)ceil((double)governor->one_of * step);

	return one_of < governor->limits.most ? one_of : governor->limits.most;
}

void governor_judge(struct governor *governor, const struct governor_reading *now)
{
	const double window_ns = (double)growth(governor->last.now_ns, now->now_ns);
	const double all_ns = window_ns * (double)governor->limits.nr_cpus;
	double share, ratio;
	uint32_t wanted;

	if (window_ns <= 0)
		return;
	governor->own = (double)growth(governor->last.own_ns, now->own_ns) / all_ns;
	governor->bpf = (double)growth(governor->last.bpf_ns, now->bpf_ns) / all_ns;
	governor->last = *now;
	if (!(governor->limits.budget > 0))
		return;
	share = governor->own + governor->bpf;
	ratio = share / (AIM * governor->limits.budget);
	governor->nr_runaway = share > RUNAWAY * governor->limits.budget &&
					       governor->one_of == governor->limits.most
				       ? governor->nr_runaway + 1
				       : 0;
	wanted = stepped(governor, ratio > 1 ? ratio : ratio / SLACK);
	if (ratio <= 1 && wanted >= governor->one_of) {
		governor->nr_cheap = 0;
		return;
	}
	if (ratio <= 1 && ++governor->nr_cheap < CHEAP_FOR)
		return;
	governor->one_of = wanted;
	governor->nr_cheap = 0;
}

bool governor_is_runaway(const struct governor *governor)
{
	return governor->nr_runaway >= RUNAWAY_FOR;
}
