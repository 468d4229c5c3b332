/*
 * The rate follows the samples' part of the cost at once, downwards, and after some cheap windows upwards. The rest is
 * averaged over about a minute before it is believed: the symbols of a new program are read once, in one window.
 */
#include "agent/governor.h"

#include <math.h>

#define AIM	  0.9 /* of the budget */
#define MOST_STEP 2.0 /* a burst, as at the start, should not cost all samples */
#define SLACK	  0.9 /* of the aim: a step up goes to this, so that the next one is not down */
#define CHEAP_FOR 2   /* windows */

/* Whatever the rest costs, samples may have this share of the budget: without them it would be spent for nothing. */
#define LEAST_FOR_SAMPLES 0.1

#define MEAN_NS	  60e9
#define SETTLE_NS 90e9 /* after something was shed, until the mean shows it */
#define DEAR_FOR  3    /* windows */
#define LIGHT	  0.6  /* of the aim */
#define LIGHT_FOR 12   /* windows: what was shed is missing in the cost */

#define RUNAWAY	    4.0 /* times the budget */
#define RUNAWAY_FOR 6	/* windows */

/*
 * Names do not count here: an epoch's are found to the end, also in a pause, and paid for afterwards. Neither does a
 * cost that is small though the budget is much smaller.
 */
#define EXTREME	       10.0 /* times the budget */
#define EXTREME_LEAST  0.05 /* share of the machine */
#define EXTREME_FOR    2    /* windows, … */
#define EXTREME_FOR_NS 15e9 /* … if they are that long; a burst, as at the start, is over by then */

#define SHRINK_AT	  0.85 /* of the memory's limit */
#define OVER_FOR_NS	  180e9
#define EXTREME_MEMORY	  2.0	/* times the limit */
#define EXTREME_MEMORY_NS 1.5e9 /* a parser may read a large file for a moment */

static const struct {
	bool by_rate, ends;
} costs[] = {
#define X(id, by_rate, ends, name) {by_rate, ends},
	GOVERNOR_COSTS(X)
#undef X
};

void governor_init(struct governor *governor, const struct governor_limits *limits,
		   const struct governor_reading *first)
{
	*governor = (struct governor){
		.limits = *limits, .last = *first, .one_of = 1, .settled_ns = SETTLE_NS};
}

void governor_resume(struct governor *governor, const struct governor_reading *first)
{
	governor->last = *first;
	governor->fixed_mean = 0;
	governor->nr_cheap = governor->nr_dear = governor->nr_light = 0;
	governor->nr_runaway = governor->nr_extreme = 0;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

double governor_share(const struct governor *governor)
{
	return governor->by_rate + governor->fixed;
}

static void measure(struct governor *governor, const struct governor_reading *now, double window_ns)
{
	const double all_ns = window_ns * (double)now->nr_cpus;
	unsigned i;

	governor->by_rate = governor->fixed = 0;
	for (i = 0; i < NR_COSTS; i++) {
		const double share =
			(double)growth(governor->last.cost_ns[i], now->cost_ns[i]) / all_ns;

		governor->shares[i] = share;
		*(costs[i].by_rate ? &governor->by_rate : &governor->fixed) += share;
	}
	governor->fixed_mean +=
		(governor->fixed - governor->fixed_mean) * (1 - exp(-window_ns / MEAN_NS));
	governor->settled_ns += window_ns;
	governor->last = *now;
}

/* Rounded up: the lower rate. */
static uint32_t stepped(const struct governor *governor, double ratio)
{
	const double step = fmin(fmax(ratio, 1 / MOST_STEP), MOST_STEP);
	const uint32_t one_of = (uint32_t)ceil((double)governor->one_of * step);

	return one_of < governor->limits.most ? one_of : governor->limits.most;
}

static void choose_rate(struct governor *governor)
{
	const double budget = governor->limits.budget;
	const double room = fmax(AIM * budget - governor->fixed_mean, LEAST_FOR_SAMPLES * budget);
	const double ratio = governor->by_rate / room;
	const uint32_t wanted = stepped(governor, ratio > 1 ? ratio : ratio / SLACK);

	if (ratio <= 1 && wanted >= governor->one_of) {
		governor->nr_cheap = 0;
		return;
	}
	if (ratio <= 1 && ++governor->nr_cheap < CHEAP_FOR)
		return;
	governor->one_of = wanted;
	governor->nr_cheap = 0;
}

/* Also if samples cost too much at the lowest rate. */
static bool is_dear(const struct governor *governor)
{
	const double aim = AIM * governor->limits.budget;

	return governor->fixed_mean > aim || (governor->one_of == governor->limits.most &&
					      governor->fixed_mean + governor->by_rate > aim);
}

static void choose_shed(struct governor *governor)
{
	const bool is_light =
		!is_dear(governor) && governor->fixed_mean < LIGHT * AIM * governor->limits.budget;

	governor->nr_dear =
		is_dear(governor) && governor->settled_ns >= SETTLE_NS ? governor->nr_dear + 1 : 0;
	governor->nr_light = is_light ? governor->nr_light + 1 : 0;
	if (governor->nr_dear >= DEAR_FOR && governor->shed + 1 < NR_SHEDS) {
		governor->shed++;
		governor->settled_ns = 0;
		governor->nr_dear = 0;
	} else if (governor->nr_light >= LIGHT_FOR && governor->shed) {
		governor->shed--;
		governor->nr_light = 0;
	}
}

static void watch_extremes(struct governor *governor, double window_ns)
{
	const double most = fmax(EXTREME * governor->limits.budget, EXTREME_LEAST);
	double share = 0;
	unsigned i;

	for (i = 0; i < NR_COSTS; i++)
		share += costs[i].ends ? governor->shares[i] : 0;
	if (share <= most)
		governor->nr_extreme = 0;
	else if (!governor->nr_extreme++)
		governor->extreme_ns = 0;
	governor->extreme_ns += window_ns;
}

void governor_judge(struct governor *governor, const struct governor_reading *now)
{
	const double window_ns = (double)growth(governor->last.now_ns, now->now_ns);
	const bool had_shed_all = governor->shed + 1 == NR_SHEDS;

	if (window_ns <= 0)
		return;
	measure(governor, now, window_ns);
	if (!(governor->limits.budget > 0))
		return;
	governor->nr_runaway =
		had_shed_all && governor_share(governor) > RUNAWAY * governor->limits.budget
			? governor->nr_runaway + 1
			: 0;
	watch_extremes(governor, window_ns);
	choose_rate(governor);
	choose_shed(governor);
}

bool governor_is_extreme(const struct governor *governor)
{
	return governor->nr_extreme >= EXTREME_FOR && governor->extreme_ns >= EXTREME_FOR_NS;
}

bool governor_is_runaway(const struct governor *governor)
{
	return governor->nr_runaway >= RUNAWAY_FOR || governor_is_extreme(governor);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Notes since when something is true without a break. Returns for how long. */
static double lasting_ns(uint64_t *since_ns, bool is_true, uint64_t now_ns)
{
	if (!is_true)
		*since_ns = 0;
	else if (!*since_ns)
		*since_ns = now_ns;
	return *since_ns ? (double)growth(*since_ns, now_ns) : 0;
}

enum memory_verdict memory_judge(struct memory *memory, uint64_t bytes, uint64_t limit,
				 uint64_t now_ns)
{
	const double share = limit ? (double)bytes / (double)limit : 0;
	const double over_ns = lasting_ns(&memory->over_since_ns, share > 1, now_ns);
	const double extreme_ns =
		lasting_ns(&memory->extreme_since_ns, share > EXTREME_MEMORY, now_ns);

	memory->bytes = bytes;
	if (bytes > memory->most_bytes)
		memory->most_bytes = bytes;
	if (extreme_ns >= EXTREME_MEMORY_NS)
		return MEMORY_EXTREME;
	if (over_ns >= OVER_FOR_NS)
		return MEMORY_PAUSE;
	return share > SHRINK_AT ? MEMORY_SHRINK : MEMORY_FITS;
}

void memory_resume(struct memory *memory)
{
	memory->over_since_ns = memory->extreme_since_ns = 0;
}
