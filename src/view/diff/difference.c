/*
 * Differences of two numbers of samples, their errors and their significance.
 *
 * The error that is shown with a change is that of two independent draws: variance p(1-p)/n per
 * share, or the square root of the count for rates. The significance test is different: it assumes
 * that there is no change. Then each of the n samples of a function, before and after together, is
 * on its side by chance alone: a draw of n from all samples (hypergeometric) for shares, n tosses
 * of a coin biased as the durations (binomial) for rates. This has no unknown parameter, so it is
 * also valid for small numbers, where normal errors are not: 5 samples versus 0 are not 3 sigma.
 *
 * Large numbers use the normal limit of the same distributions; so do changes too small to be
 * significant. For the others the tail is summed, and converted to the sigma of a normal error with
 * the same probability.
 *
 * Samples are not independent: load varies over time. The scale's dispersion is the factor by which
 * that raises the variance; it cannot be estimated from two numbers.
 */
#include "view/diff/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define LN_ROOT_2PI	 0.91893853320467274
#define EXACT_VARIANCE	 400.0 /* above it the normal limit is exact enough */
#define SURELY_NOISE	 2.0   /* sigma by the normal limit; below it the exact one is below 3 */
#define NEGLIGIBLE	 1e-9  /* relative to a tail's sum: terms below are ignored */
#define SIGMA_ITERATIONS 12

/* A draw of n samples, `got` of which are on one side. */
struct draw {
	bool by_time;
	double n, got;	  /* got: less than expected */
	double all, rest; /* shares: all samples of this side, and of the other */
	double chance;	  /* probability of a sample to be on this side */
	double expected, variance;
};

/* --- sigma and chance --- */

/*
 * Returns the sigma of a one-sided tail probability below 1/2, given as a logarithm. The
 * probability may be below the smallest double, so erfc() cannot be used.
 * difference_chance_of_sigma() uses the same bound, so that the two functions are inverse.
 * Sampford's bound of Mills' ratio is within 2 % from 1 sigma on and within 0.1 % from 3 sigma on,
 * so sigma is within 0.001 in the relevant range.
 */
static double sigma_of_tail(double ln_tail)
{
	double z = 3;
	int i;

	for (i = 0; i < SIGMA_ITERATIONS; i++) {
		double ln_mills = log(4 / (3 * z + sqrt(z * z + 8)));
		double square = 2 * (ln_mills - LN_ROOT_2PI - ln_tail);

		z = square > 0.25 ? sqrt(square) : 0.5;
	}
	return z;
}

double difference_chance_of_sigma(double sigma)
{
	double mills = 4 / (3 * sigma + sqrt(sigma * sigma + 8));

	return 2 * mills * exp(-sigma * sigma / 2 - LN_ROOT_2PI);
}

double difference_sigma_of_chance(double chance, double nr)
{
	return sigma_of_tail(log(chance / 2 / (nr > 1 ? nr : 1)));
}

/* --- tails --- */

static double ln_choose(double n, double k)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

/* Returns the logarithm of the probability of exactly `got` samples on this side. */
static double ln_chance(const struct draw *draw)
{
	double other = draw->n - draw->got;

	if (draw->by_time)
		return ln_choose(draw->n, draw->got) + draw->got * log(draw->chance) +
		       other * log1p(-draw->chance);
	return ln_choose(draw->all, draw->got) + ln_choose(draw->rest, other) -
	       ln_choose(draw->all + draw->rest, draw->n);
}

/* Returns the probability of got - 1 samples relative to `got`. */
static double step_down(const struct draw *draw, double got)
{
	double other = draw->n - got + 1;

	if (draw->by_time)
		return got / other * (1 - draw->chance) / draw->chance;
	return got / other * (draw->rest - other + 1) / (draw->all - got + 1);
}

/*
 * Returns the logarithm of the probability of `got` samples or fewer. Terms decrease ever faster.
 */
static double ln_tail(const struct draw *draw)
{
	double term = 1, sum = 1, got = draw->got;

	while (got >= 1 && term > NEGLIGIBLE * sum) {
		term *= fmax(0, step_down(draw, got));
		sum += term;
		got -= 1;
	}
	return ln_chance(draw) + log(sum);
}

static double draw_sigma(const struct draw *draw)
{
	double normal;

	if (draw->variance <= 0)
		return 0;
	normal = (draw->expected - draw->got) / sqrt(draw->variance);
	if (normal < SURELY_NOISE || draw->variance > EXACT_VARIANCE)
		return normal;
	return sigma_of_tail(ln_tail(draw));
}

/* --- the scale --- */

/* Returns the amount per sample; an estimate for sums with unknown periods. */
static double sample_amount(const struct profile *profile, size_t value)
{
	uint64_t amount = profile_sample_amount(profile);
	size_t nr = 0;
	uint32_t i;

	if (amount)
		return (double)amount;
	/* The number of samples is not known, but it is at least one per stack. */
	for (i = 0; i < profile_nr_samples(profile); i++)
		nr += profile_value(profile, i, value) > 0;
	return nr ? (double)profile_value_total(profile, value) / (double)nr : 1;
}

void difference_scale_init(struct difference_scale *scale, const struct profile *profile,
			   size_t before)
{
	*scale = (struct difference_scale){
		.before_value = before,
		.before_all = (double)profile_value_total(profile, before),
		.after_all = (double)profile_total(profile),
		.before_sample = sample_amount(profile, before),
		.after_sample = sample_amount(profile, 0),
		.least_sigma = DIFFERENCE_LEAST_SIGMA,
		.dispersion = 1,
	};
	scale->before = scale->before_all;
	scale->after = scale->after_all;
}

void difference_scale_by_time(struct difference_scale *scale, double before_seconds,
			      double after_seconds)
{
	scale->by_time = true;
	scale->before = before_seconds;
	scale->after = after_seconds;
}

/* --- differences --- */

/*
 * Returns the variance of a share or rate, with half a sample added (Jeffreys prior): a count of 0
 * does not mean a variance of 0.
 */
static double variance_of(const struct difference_scale *scale, double samples, double all,
			  double sample, double divisor)
{
	double share;

	if (divisor <= 0)
		return 0;
	if (scale->by_time)
		return (samples + 0.5) * (sample / divisor) * (sample / divisor);
	share = (samples + 0.5) / (all + 1);
	return share > 1 ? 0 : share * (1 - share) / all;
}

static struct draw make_draw(const struct difference_scale *scale, double n, double got,
			     bool is_before)
{
	double before = scale->before_all / scale->before_sample;
	double after = scale->after_all / scale->after_sample;
	double before_time = scale->before / scale->before_sample;
	double after_time = scale->after / scale->after_sample;
	struct draw draw = {.by_time = scale->by_time, .n = n, .got = got};

	draw.all = is_before ? before : after;
	draw.rest = is_before ? after : before;
	draw.chance = scale->by_time
			      ? (is_before ? before_time : after_time) / (before_time + after_time)
			      : draw.all / (draw.all + draw.rest);
	draw.expected = n * draw.chance;
	draw.variance = n * draw.chance * (1 - draw.chance);
	if (!scale->by_time && draw.all + draw.rest > 1)
		draw.variance *= (draw.all + draw.rest - n) / (draw.all + draw.rest - 1);
	return draw;
}

static double sigma_of(const struct difference_scale *scale, double before, double after)
{
	struct draw draw = make_draw(scale, before + after, before, true);

	if (before + after <= 0 || draw.chance <= 0 || draw.chance >= 1)
		return 0;
	if (before > draw.expected)
		draw = make_draw(scale, before + after, after, false);
	return draw_sigma(&draw) / sqrt(scale->dispersion);
}

static enum change kind_of(const struct difference_scale *scale,
			   const struct difference *difference)
{
	if (difference->sigma < scale->least_sigma || difference->change == 0)
		return CHANGE_NONE;
	if (difference->before == 0)
		return CHANGE_NEW;
	if (difference->after == 0)
		return CHANGE_GONE;
	return difference->change > 0 ? CHANGE_MORE : CHANGE_LESS;
}

struct difference difference_of(const struct difference_scale *scale, uint64_t before,
				uint64_t after)
{
	double before_samples = (double)before / scale->before_sample;
	double after_samples = (double)after / scale->after_sample;
	struct difference difference = {
		.before = scale->before > 0 ? (double)before / scale->before : 0,
		.after = scale->after > 0 ? (double)after / scale->after : 0,
	};

	difference.change = difference.after - difference.before;
	difference.error =
		sqrt(scale->dispersion *
		     (variance_of(scale, before_samples, scale->before_all / scale->before_sample,
				  scale->before_sample, scale->before) +
		      variance_of(scale, after_samples, scale->after_all / scale->after_sample,
				  scale->after_sample, scale->after)));
	difference.sigma = sigma_of(scale, before_samples, after_samples);
	difference.kind = kind_of(scale, &difference);
	return difference;
}

/* Wallace 1959 */
double difference_sigma_of_t(double t, double freedom)
{
	return freedom > 0 ? (8 * freedom + 1) / (8 * freedom + 3) *
				     sqrt(freedom * log1p(t * t / freedom))
			   : t;
}

void difference_widen(const struct difference_scale *scale, struct difference *difference,
		      double dispersion, double freedom)
{
	double sigma = difference_sigma_of_t(difference->sigma / sqrt(dispersion), freedom);

	difference->error *= sqrt(dispersion);
	if (sigma < difference->sigma)
		difference->sigma = sigma;
	difference->kind = kind_of(scale, difference);
}

/* --- multiple tests --- */

void difference_tests_add(struct difference_tests *tests, const struct difference_scale *scale,
			  uint64_t before, uint64_t after)
{
	double samples =
		(double)before / scale->before_sample + (double)after / scale->after_sample;

	tests->by_samples[samples < DIFFERENCE_FEW_SAMPLES ? (size_t)samples
							   : DIFFERENCE_FEW_SAMPLES - 1]++;
}

double difference_tests_nr(const struct difference_tests *tests,
			   const struct difference_scale *scale, double chance)
{
	struct draw draw = make_draw(scale, 1, 1, true);
	double lesser = draw.chance < 0.5 ? draw.chance : 1 - draw.chance;
	double nr = 0, upper[DIFFERENCE_FEW_SAMPLES], least = chance;
	size_t i;

	for (i = DIFFERENCE_FEW_SAMPLES; i--;)
		upper[i] = nr += (double)tests->by_samples[i];
	/* The least possible probability with i samples is lesser^i: all are on one side. */
	for (i = 1; i < DIFFERENCE_FEW_SAMPLES; i++) {
		double most = chance / (2 * pow(lesser, (double)i));
		double allowed = upper[i] > least ? upper[i] : least;

		if (allowed <= most)
			return allowed < 1 ? 1 : allowed;
		least = most;
	}
	return upper[DIFFERENCE_FEW_SAMPLES - 1] < 1 ? 1 : upper[DIFFERENCE_FEW_SAMPLES - 1];
}

/* --- spread ----------------------------------------------------------------------------------- */

/*
 * Part i has e(i) samples (or seconds), a(i) of them in a function, whose share in all parts
 * together is p. X² = Σ (a(i) - p e(i))² / e(i) / (p (1 - p)) is about its degrees of freedom, the
 * number of parts minus one, if only chance varies a(i); X² / degrees of freedom is the dispersion
 * (quasi-likelihood). Only Σ a(i)² / e(i) has to be stored, so parts are processed one after the
 * other.
 *
 * Functions are identified by the string numbers of their names. Samples are sorted by time slice
 * once, so that a part that is a slice visits its own samples only.
 */

#define LEAST_SLICES  3
#define ALL_WEIGHT    6.0  /* weight of the estimate for all functions, in degrees of freedom */
#define LEAST_SAMPLES 10.0 /* functions with fewer samples are left out of that estimate */

/* Sums of one side, self or total: of a(i), and of a(i)² / e(i). */
struct tally {
	double sum, squares;
};

struct function_tally {
	struct tally tallies[2][2]; /* [before, after][self, total] */
	double self, total;	    /* in the current part */
	uint32_t last_part;	    /* number + 1 of the part of self and total */
	uint64_t last_sample;	    /* number + 1 of the last sample in that part; 0: none */
};

struct spreader {
	const struct profile *profile;
	const struct difference_scale *scale;
	struct function_tally *functions; /* by string */
	size_t nr;
	uint32_t *touched; /* the functions of the current part */
	size_t nr_touched;
	uint32_t *order; /* numbers of samples, sorted by slice */
	size_t *first;	 /* by slice: index in order */
	double all[2];	 /* Σ e(i) of each side */
	size_t nr_parts[2];
};

/* --- parts ----------------------------------------------------------------------------------- */

/*
 * Lists the slices of both sides as parts; none if a side has fewer than three. The caller frees
 * *ret.
 */
static int find_slices(const struct profile *profile, size_t before, struct difference_part **ret,
		       size_t *ret_nr)
{
	size_t nr_slices = profile_nr_slices(profile), nr[2] = {0}, nr_parts = 0, i, side;
	cleanup_free struct difference_part *parts = calloc(2 * nr_slices + 1, sizeof(*parts));
	cleanup_free uint8_t *seen = calloc(2 * (nr_slices + 1), 1);

	*ret = NULL;
	*ret_nr = 0;
	if (!parts || !seen)
		return -ENOMEM;
	for (i = 0; i < profile_nr_samples(profile); i++) {
		uint32_t slice = profile_sample(profile, (uint32_t)i)->labels.slice;

		seen[2 * slice] |= profile_value(profile, (uint32_t)i, before) > 0;
		seen[2 * slice + 1] |= profile_value(profile, (uint32_t)i, 0) > 0;
	}
	for (i = 1; i <= nr_slices; i++) {
		struct time_slice slice = profile_slice(profile, (uint32_t)i);

		for (side = 0; side < 2; side++) {
			if (!seen[2 * i + side])
				continue;
			parts[nr_parts++] = (struct difference_part){
				.is_after = side,
				.value = side ? 0 : before,
				.slice = (uint32_t)i,
				.seconds = (double)(slice.end_ns - slice.start_ns) / 1e9,
			};
			nr[side]++;
		}
	}
	if (nr[0] < LEAST_SLICES || nr[1] < LEAST_SLICES)
		return 0;
	*ret_nr = nr_parts;
	*ret = take_pointer(&parts);
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

static int sort_samples(struct spreader *spreader)
{
	size_t nr_slices = profile_nr_slices(spreader->profile) + 1;
	size_t nr = profile_nr_samples(spreader->profile), i;

	spreader->order = calloc(nr + 1, sizeof(*spreader->order));
	spreader->first = calloc(nr_slices + 2, sizeof(*spreader->first));
	if (!spreader->order || !spreader->first)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		spreader->first[profile_sample(spreader->profile, (uint32_t)i)->labels.slice + 2]++;
	for (i = 2; i < nr_slices + 2; i++)
		spreader->first[i] += spreader->first[i - 1];
	for (i = 0; i < nr; i++) {
		uint32_t slice = profile_sample(spreader->profile, (uint32_t)i)->labels.slice;

		spreader->order[spreader->first[slice + 1]++] = (uint32_t)i;
	}
	return 0;
}

static void count_function(struct spreader *spreader, uint32_t name, uint32_t part, uint32_t sample,
			   double samples, bool is_self)
{
	struct function_tally *function = &spreader->functions[name];

	if (function->last_part != part + 1) {
		function->last_part = part + 1;
		function->last_sample = 0;
		function->self = function->total = 0;
		spreader->touched[spreader->nr_touched++] = name;
	}
	if (is_self)
		function->self += samples;
	if (function->last_sample != (uint64_t)sample + 1)
		function->total += samples;
	function->last_sample = (uint64_t)sample + 1;
}

static void count_sample(struct spreader *spreader, uint32_t part, uint32_t number, double samples)
{
	const struct sample *sample = profile_sample(spreader->profile, number);
	const uint32_t *frames = profile_sample_frames(spreader->profile, sample);
	size_t i, k;

	for (i = 0; i < sample->nr_frames; i++) {
		const struct frame *frame = profile_frame(spreader->profile, frames[i]);
		const struct code_line *lines =
			frame->nr_lines ? profile_lines(spreader->profile, frame) : NULL;

		if (!lines)
			count_function(spreader, frame->function, part, number, samples, !i);
		for (k = 0; lines && k < frame->nr_lines; k++)
			count_function(spreader, lines[k].function, part, number, samples,
				       !i && !k);
	}
}

/* Adds the counts of the current part to its functions' tallies. */
static void close_part(struct spreader *spreader, bool is_after, double exposure)
{
	size_t i;

	for (i = 0; i < spreader->nr_touched; i++) {
		struct function_tally *function = &spreader->functions[spreader->touched[i]];
		struct tally *tallies = function->tallies[is_after];

		tallies[0].sum += function->self;
		tallies[0].squares += function->self * function->self / exposure;
		tallies[1].sum += function->total;
		tallies[1].squares += function->total * function->total / exposure;
	}
	spreader->nr_touched = 0;
	spreader->all[is_after] += exposure;
	spreader->nr_parts[is_after]++;
}

static void count_part(struct spreader *spreader, uint32_t number,
		       const struct difference_part *part)
{
	const struct difference_scale *scale = spreader->scale;
	double each = part->is_after ? scale->after_sample : scale->before_sample;
	size_t end = part->slice ? spreader->first[part->slice + 1]
				 : profile_nr_samples(spreader->profile);
	size_t i = part->slice ? spreader->first[part->slice] : 0;
	double all = 0;

	for (; i < end; i++) {
		uint64_t value = profile_value(spreader->profile, spreader->order[i], part->value);

		if (!value)
			continue;
		all += (double)value / each;
		count_sample(spreader, number, spreader->order[i], (double)value / each);
	}
	if (scale->by_time)
		all = part->seconds;
	if (all > 0)
		close_part(spreader, part->is_after, all);
	spreader->nr_touched = 0;
}

/* --- dispersions ----------------------------------------------------------------------------- */

/*
 * Adds X² of one side and its degrees of freedom, if the side has two parts or more, and samples.
 */
static void add_square(const struct spreader *spreader, const struct function_tally *function,
		       size_t side, size_t kind, double *square, double *freedom)
{
	const struct tally *tally = &function->tallies[side][kind];
	double share, expected;

	if (spreader->nr_parts[side] < 2 || tally->sum <= 0)
		return;
	share = tally->sum / spreader->all[side];
	expected = spreader->scale->by_time ? share : share * (1 - share);
	if (expected <= 0)
		return;
	*square += (tally->squares - tally->sum * share) / expected;
	*freedom += (double)(spreader->nr_parts[side] - 1);
}

static double dispersion_of_all(const struct spreader *spreader, size_t kind)
{
	double square = 0, freedom = 0;
	size_t i, side;

	for (i = 0; i < spreader->nr; i++)
		for (side = 0; side < 2; side++)
			if (spreader->functions[i].tallies[side][kind].sum >= LEAST_SAMPLES)
				add_square(spreader, &spreader->functions[i], side, kind, &square,
					   &freedom);
	return freedom > 0 && square > freedom ? square / freedom : 1;
}

static double dispersion_of(const struct spreader *spreader, const struct function_tally *function,
			    size_t kind, double all)
{
	double square = ALL_WEIGHT * all, freedom = ALL_WEIGHT;

	add_square(spreader, function, 0, kind, &square, &freedom);
	add_square(spreader, function, 1, kind, &square, &freedom);
	return square > freedom ? square / freedom : 1;
}

static int estimate(struct difference_spread *spread, const struct spreader *spreader)
{
	size_t nr = spreader->nr_parts[0] + spreader->nr_parts[1];
	size_t i;

	spread->nr_before = spreader->nr_parts[0];
	spread->nr_after = spreader->nr_parts[1];
	spread->functions = calloc(spreader->nr + 1, sizeof(*spread->functions));
	if (!spread->functions)
		return -ENOMEM;
	spread->nr = spreader->nr;
	spread->freedom = ALL_WEIGHT + (double)nr - 2;
	spread->all.self = dispersion_of_all(spreader, 0);
	spread->all.total = dispersion_of_all(spreader, 1);
	for (i = 0; i < spreader->nr; i++) {
		const struct function_tally *function = &spreader->functions[i];

		spread->functions[i].self = dispersion_of(spreader, function, 0, spread->all.self);
		spread->functions[i].total =
			dispersion_of(spreader, function, 1, spread->all.total);
	}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void spreader_clear(struct spreader *spreader)
{
	free(spreader->functions);
	free(spreader->touched);
	free(spreader->order);
	free(spreader->first);
}

int difference_spread_init(struct difference_spread *spread, const struct profile *profile,
			   const struct difference_scale *scale,
			   const struct difference_part *parts, size_t nr_parts)
{
	cleanup(spreader_clear) struct spreader spreader = {
		.profile = profile, .scale = scale, .nr = profile_nr_strings(profile)};
	cleanup_free struct difference_part *slices = NULL;
	uint32_t i;

	*spread = (struct difference_spread){.all = {1, 1}, .parts_are_slices = !parts};
	if (!parts) {
		if (find_slices(profile, scale->before_value, &slices, &nr_parts) < 0)
			return -ENOMEM;
		parts = slices;
	}
	if (nr_parts < 3)
		return 0;
	spreader.functions = calloc(spreader.nr, sizeof(*spreader.functions));
	spreader.touched = calloc(spreader.nr, sizeof(*spreader.touched));
	if (!spreader.functions || !spreader.touched || sort_samples(&spreader) < 0)
		return -ENOMEM;
	for (i = 0; i < nr_parts; i++)
		count_part(&spreader, i, &parts[i]);
	return estimate(spread, &spreader);
}

void difference_spread_clear(struct difference_spread *spread)
{
	free(spread->functions);
	*spread = (struct difference_spread){.all = {1, 1}};
}
