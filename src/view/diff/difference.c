/*
 * How much two numbers of samples differ, in their errors.
 *
 * The error that is shown with a change is that of two independent draws: p(1-p)/n of each share, or
 * the root of a count for rates. The test for chance is another one: it assumes that there is no
 * change. Then the n samples of a function, before and after together, have fallen to
 * one of the two sides by chance alone: a draw of n from all samples (hypergeometric) for shares, n
 * throws of a coin as biased as the times are (binomial) for rates. This has no unknown left, so it
 * holds for small numbers too, where normal errors do not: 5 samples out of none are no 3 sigma.
 *
 * Large numbers take the normal limit of the same distributions; so do changes that are too small to
 * matter. The tail of the others is summed, and told as the sigma of a normal error of that chance.
 *
 * Samples are not independent: a load comes in waves. The scale's dispersion says by how much that
 * raises the variance; two numbers can't tell.
 */
#include "view/diff/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define LN_ROOT_2PI	 0.91893853320467274
#define EXACT_VARIANCE	 400.0 /* larger ones are normal enough */
#define PLAINLY_CHANCE	 2.0   /* sigma by the normal limit, from which no tail gets to 3 */
#define NEGLIGIBLE	 1e-9  /* a part of a tail's sum */
#define SIGMA_ITERATIONS 12

/* A draw: n samples, of which a side got so many. */
struct draw {
	bool by_time;
	double n, got;	  /* what this side got: less than expected */
	double all, rest; /* shares: samples of this side and of the other */
	double chance;	  /* rates: of each sample, to fall to this side */
	double expected, variance;
};

/* --- sigma and chance --- */

/*
 * The sigma beyond which, to one side, a normal error lies with that chance, which is below a half.
 * Chances are known by their logarithms, since they are smaller than any double, so erfc() is no help;
 * the way back uses the same bound, so that both are each other's inverse.
 * Sampford's bound of Mills' ratio is within 2 % from 1 sigma on, within a thousandth from 3 on, so
 * sigma is within 0.001 where it matters.
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

/* The logarithm of the chance that this side gets just what it got. */
static double ln_chance(const struct draw *draw)
{
	double other = draw->n - draw->got;

	if (draw->by_time)
		return ln_choose(draw->n, draw->got) + draw->got * log(draw->chance) +
		       other * log1p(-draw->chance);
	return ln_choose(draw->all, draw->got) + ln_choose(draw->rest, other) -
	       ln_choose(draw->all + draw->rest, draw->n);
}

/* How much less likely it is to get one less than so many. */
static double step_down(const struct draw *draw, double got)
{
	double other = draw->n - got + 1;

	if (draw->by_time)
		return got / other * (1 - draw->chance) / draw->chance;
	return got / other * (draw->rest - other + 1) / (draw->all - got + 1);
}

/* The logarithm of the chance to get that or less. Terms fall faster the further out. */
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
	if (normal < PLAINLY_CHANCE || draw->variance > EXACT_VARIANCE)
		return normal;
	return sigma_of_tail(ln_tail(draw));
}

/* --- the scale --- */

/* The amount that one sample counts for, where counts are sums. */
static double sample_amount(const struct profile *profile, size_t value)
{
	uint64_t amount = profile_sample_amount(profile);
	size_t nr = 0;
	uint32_t i;

	if (amount)
		return (double)amount;
	/* How many there were is not known, but at least one for each stack. */
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
 * The variance of a share or rate. Half a sample more, as Jeffreys has it: none seen does not mean
 * that there can be none.
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

void difference_widen(const struct difference_scale *scale, struct difference *difference,
		      double dispersion, double freedom)
{
	double t = difference->sigma / sqrt(dispersion);
	double sigma;

	difference->error *= sqrt(dispersion);
	/* The sigma of a normal error that is as likely as this t of Student's (Wallace 1959). */
	sigma = freedom > 0 ? (8 * freedom + 1) / (8 * freedom + 3) *
				      sqrt(freedom * log1p(t * t / freedom))
			    : t;
	if (sigma < difference->sigma)
		difference->sigma = sigma;
	difference->kind = kind_of(scale, difference);
}

/* --- many of them --- */

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
	/* Where all samples fall to one side, that has the chance lesser^i: no number gets below. */
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
 * With a(i) of a function's samples in part i of e(i) all samples (or seconds), and a share p of all
 * parts together, X² = Σ (a(i) - p e(i))² / e(i) / (p (1 - p)) is about its degrees of freedom, the
 * number of parts less one, if nothing but chance scatters them; X² over those is the dispersion
 * (quasi-likelihood). Only Σ a(i)² / e(i) has to be kept, so parts are gone through one by one.
 *
 * Functions are known by the numbers of their names. A part that is a slice of time goes through its
 * own samples only; the samples are sorted by slice once.
 */

#define LEAST_SLICES  3
#define ALL_WEIGHT    6.0 /* what all functions together say counts as so many degrees of freedom */
#define LEAST_SAMPLES 10.0 /* of a function that has a say in that */

/* Sums of one side, self or total: of a(i), and of a(i)² / e(i). */
struct tally {
	double sum, squares;
};

struct function_tally {
	struct tally tallies[2][2]; /* before and after; self and total */
	double self, total;	    /* in this part */
	uint32_t last_part;	    /* number + 1 of the one that these are of */
	uint64_t last_sample;	    /* in it */
};

struct spreader {
	const struct profile *profile;
	const struct difference_scale *scale;
	struct function_tally *functions; /* by string */
	size_t nr;
	uint32_t *touched; /* the functions of this part */
	size_t nr_touched;
	uint32_t *order; /* samples by slice */
	size_t *first;	 /* of each slice, in order */
	double all[2];	 /* Σ e(i) */
	size_t nr_parts[2];
};

/* --- parts ----------------------------------------------------------------------------------- */

/* The slices of both sides as parts, with *ret to be freed; none if either has less than three. */
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

/* The functions of the part that was just counted. */
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

/* Adds X² of one side and its degrees of freedom, if there is anything to be seen. */
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
