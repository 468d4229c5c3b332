/* view/diff/difference, compared with sums over distributions and draws of known shares. */
#include "unit/test.h"

#include <math.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "unit/make_profile.h"
#include "view/diff/difference.h"

static struct difference_scale shares(double before, double after)
{
	return (struct difference_scale){
		.before = before,
		.after = after,
		.before_all = before,
		.after_all = after,
		.before_sample = 1,
		.after_sample = 1,
		.least_sigma = DIFFERENCE_LEAST_SIGMA,
		.dispersion = 1,
	};
}

static bool is_near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

/* P(X <= got), binomial: n coins that show heads with chance p. */
static double binomial_tail(int n, int got, double p)
{
	double sum = 0;
	int i;

	for (i = 0; i <= got; i++)
		sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

/* P(X <= got), hypergeometric: n drawn from all, of which `marked` are marked. */
static double hypergeometric_tail(int all, int marked, int n, int got)
{
	double sum = 0;
	int i;

	for (i = 0; i <= got; i++)
		if (n - i <= all - marked && i <= marked)
			sum += exp(lgamma(marked + 1) - lgamma(i + 1) - lgamma(marked - i + 1) +
				   lgamma(all - marked + 1) - lgamma(n - i + 1) -
				   lgamma(all - marked - n + i + 1) - lgamma(all + 1) +
				   lgamma(n + 1) + lgamma(all - n + 1));
	return sum;
}

TEST(difference_has_shares_and_errors)
{
	const struct difference_scale scale = shares(1000, 4000);
	struct difference is = difference_of(&scale, 100, 800);

	CHECK(is_near(is.before, 0.1, 1e-9));
	CHECK(is_near(is.after, 0.2, 1e-9));
	CHECK(is_near(is.change, 0.1, 1e-9));
	CHECK(is_near(is.error, sqrt(0.1 * 0.9 / 1000 + 0.2 * 0.8 / 4000), 0.01));
	CHECK_EQ(is.kind, CHANGE_MORE);
	CHECK_EQ(difference_of(&scale, 200, 400).kind, CHANGE_LESS);
	CHECK_EQ(difference_of(&scale, 0, 800).kind, CHANGE_NEW);
	CHECK_EQ(difference_of(&scale, 100, 0).kind, CHANGE_GONE);
	CHECK_EQ(difference_of(&scale, 100, 410).kind, CHANGE_NONE);
}

/* Every sigma for few samples, compared with the sum over all cases. */
TEST(difference_of_few_samples_is_exact)
{
	struct difference_scale scale = shares(500, 900);
	int before, after;

	for (before = 0; before < 40; before++)
		for (after = 0; after < 60; after++) {
			struct difference is =
				difference_of(&scale, (uint64_t)before, (uint64_t)after);
			double less = hypergeometric_tail(1400, 500, before + after, before);
			double more = hypergeometric_tail(1400, 900, before + after, after);
			double tail = less < more ? less : more;

			if (is.sigma < 2)
				CHECK(tail > 0.00135);
			else
				CHECK(is_near(difference_chance_of_sigma(is.sigma) / 2, tail,
					      0.01));
		}
}

TEST(difference_of_rates_is_exact)
{
	struct difference_scale scale = shares(500, 900);
	int before, after;

	difference_scale_by_time(&scale, 10, 30);
	for (before = 0; before < 30; before++)
		for (after = 0; after < 60; after++) {
			struct difference is =
				difference_of(&scale, (uint64_t)before, (uint64_t)after);
			double less = binomial_tail(before + after, before, 0.25);
			double more = binomial_tail(before + after, after, 0.75);
			double tail = less < more ? less : more;

			if (is.sigma >= 2)
				CHECK(is_near(difference_chance_of_sigma(is.sigma) / 2, tail,
					      0.01));
		}
	CHECK(is_near(difference_of(&scale, 100, 600).change, 10, 1e-9));
	CHECK(is_near(difference_of(&scale, 100, 600).error, sqrt(1.005 + 600.5 / 900), 1e-3));
}

TEST(difference_sigma_and_chance_are_inverse)
{
	int i;

	CHECK(is_near(difference_chance_of_sigma(3), 0.0026998, 0.001));
	CHECK(is_near(difference_chance_of_sigma(5), 5.733e-7, 0.001));
	for (i = 6; i < 32; i++) {
		double sigma = i / 4.0;

		CHECK(is_near(difference_sigma_of_chance(difference_chance_of_sigma(sigma), 1),
			      sigma, 0.001));
	}
	CHECK(difference_sigma_of_chance(0.05, 1000) > difference_sigma_of_chance(0.05, 1));
}

/* Extreme numbers: no infinity and no NaN. */
TEST(difference_stands_extremes)
{
	static const uint64_t numbers[] = {0, 1, 2, 1000, UINT64_MAX / 2};
	static const double totals[] = {0, 1, 2, 1e3, 1e19};
	size_t i, k, t, u;

	for (t = 0; t < 5; t++)
		for (u = 0; u < 5; u++) {
			struct difference_scale scale = shares(totals[t], totals[u]);

			for (i = 0; i < 5; i++)
				for (k = 0; k < 5; k++) {
					struct difference is;

					if ((double)numbers[i] > totals[t] ||
					    (double)numbers[k] > totals[u])
						continue;
					is = difference_of(&scale, numbers[i], numbers[k]);
					CHECK(isfinite(is.error) && isfinite(is.change));
					CHECK(isfinite(is.sigma));
				}
		}
}

TEST(difference_takes_sums_by_their_samples)
{
	struct profile *profile = profile_new();
	struct profile_origin origin = {.period = 1000};
	struct difference_scale scale;
	struct value_type before = {0};
	int value;

	origin.unit = (uint32_t)profile_add_string(profile, "nanoseconds");
	profile_set_origin(profile, &origin);
	set_main_value(profile, "cpu", "nanoseconds");
	before.type = (uint32_t)profile_add_string(profile, DIFFERENCE_BEFORE);
	value = profile_add_value_type(profile, &before);
	CHECK(value > 0);
	CHECK_EQ(profile_add_value(profile, (uint32_t)make_sample(profile, "x;a 100000"),
				   (size_t)value, 100000),
		 0);
	CHECK_EQ(profile_add_value(profile, (uint32_t)make_sample(profile, "x;b 110000"),
				   (size_t)value, 100000),
		 0);
	difference_scale_init(&scale, profile, (size_t)value);
	CHECK(scale.after_sample == 1000);
	CHECK_EQ(difference_of(&scale, 100000, 110000).kind, CHANGE_NONE); /* 100 and 110 samples */
	profile_free(profile);
}

/* Rows with few samples cannot be significant and are not counted as comparisons. */
TEST(difference_tests_leave_out_what_tells_nothing)
{
	const struct difference_scale scale = shares(1000, 1000);
	struct difference_tests tests = {0};
	int i;

	for (i = 0; i < 100000; i++)
		difference_tests_add(&tests, &scale, 1, 2);
	for (i = 0; i < 50; i++)
		difference_tests_add(&tests, &scale, 100, 100);
	CHECK(difference_tests_nr(&tests, &scale, 0.05) < 51);
	for (i = 0; i < 1000; i++)
		difference_tests_add(&tests, &scale, 20, 20);
	CHECK(difference_tests_nr(&tests, &scale, 0.05) == 1050);
}

TEST(difference_widens)
{
	const struct difference_scale scale = shares(10000, 10000);
	struct difference is = difference_of(&scale, 1000, 1200), wide = is, unsure = is;

	CHECK_EQ(is.kind, CHANGE_MORE);
	difference_widen(&scale, &wide, 4, 0);
	CHECK(is_near(wide.error, 2 * is.error, 1e-9));
	CHECK(is_near(wide.sigma, is.sigma / 2, 1e-9));
	CHECK_EQ(wide.kind, CHANGE_NONE);
	difference_widen(&scale, &unsure, 1, 8);
	CHECK(unsure.sigma < is.sigma && unsure.sigma > is.sigma / 2);
}
