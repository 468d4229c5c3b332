/*
 * How much two numbers of samples differ, in their errors.
 *
 * The error that is shown with a change is that of two independent draws: p(1-p)/n of each share, or
 * the root of a count for rates. Whether a change is chance is another question, and asks what would
 * be if there were none. Then the n samples of a function, before and after together, have fallen to
 * one of the two sides by chance alone: a draw of n from all samples (hypergeometric) for shares, n
 * throws of a coin as biased as the times are (binomial) for rates. That has no unknown left, so it
 * holds for small numbers too, where normal errors do not: 5 samples out of none are no 3 sigma.
 *
 * Large numbers take the normal limit of the same distributions; so do changes that are too small to
 * matter. The tail of the others is summed, and told as the sigma of a normal error of that chance.
 *
 * Samples are not drawn each by itself: a load comes in waves. What that does to the variance is the
 * scale's dispersion, and nothing that two numbers could tell.
 */
#include "view/diff/difference.h"

#include <errno.h>
#include <math.h>

#include "profile/profile.h"

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

/* Of the chance to get that or less. Terms fall the faster the further out. */
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

/* What a sample counts for, where counts are sums. */
static double sample_amount(const struct profile *profile, size_t value)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t nr = 0;
	uint32_t i;

	if (!profile_is_sum(profile))
		return 1;
	if (origin->period && origin->unit == origin->counted.unit)
		return (double)origin->period;
	/* How many there were is not known, but at least one for each stack. */
	for (i = 0; i < profile_nr_samples(profile); i++)
		nr += profile_value(profile, i, value) > 0;
	return nr ? (double)profile_value_total(profile, value) / (double)nr : 1;
}

int difference_scale_init(struct difference_scale *scale, const struct profile *profile,
			  size_t before, bool by_time)
{
	*scale = (struct difference_scale){
		.before_all = (double)profile_value_total(profile, before),
		.after_all = (double)profile_total(profile),
		.before_sample = sample_amount(profile, before),
		.after_sample = sample_amount(profile, 0),
		.least_sigma = DIFFERENCE_LEAST_SIGMA,
		.dispersion = 1,
	};
	scale->before = scale->before_all;
	scale->after = scale->after_all;
	/* The origin's duration is the span of both: how long each took, only their files tell. */
	return by_time ? -EINVAL : 0;
}

void difference_scale_by_time(struct difference_scale *scale, double before_seconds,
			      double after_seconds)
{
	scale->by_time = true;
	scale->before = before_seconds;
	scale->after = after_seconds;
}

/* --- differences --- */

static double ratio(double number, double of)
{
	return of > 0 ? number / of : 0;
}

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

enum change difference_kind(const struct difference_scale *scale,
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
		.before = ratio((double)before, scale->before),
		.after = ratio((double)after, scale->after),
	};

	difference.change = difference.after - difference.before;
	difference.error =
		sqrt(scale->dispersion *
		     (variance_of(scale, before_samples, scale->before_all / scale->before_sample,
				  scale->before_sample, scale->before) +
		      variance_of(scale, after_samples, scale->after_all / scale->after_sample,
				  scale->after_sample, scale->after)));
	difference.sigma = sigma_of(scale, before_samples, after_samples);
	difference.kind = difference_kind(scale, &difference);
	return difference;
}

/* Of Student's t so far out, the sigma of a normal error of the same chance (Wallace 1959). */
static double sigma_of_t(double t, double freedom)
{
	return (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
}

void difference_widen(const struct difference_scale *scale, struct difference *difference,
		      double dispersion, double freedom)
{
	double t = difference->sigma / sqrt(dispersion);
	double sigma;

	difference->error *= sqrt(dispersion);
	sigma = freedom > 0 ? sigma_of_t(t, freedom) : t;
	if (sigma < difference->sigma)
		difference->sigma = sigma;
	difference->kind = difference_kind(scale, difference);
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
