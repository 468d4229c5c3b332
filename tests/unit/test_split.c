/* Time of waits that were not walked: no nanosecond is lost, and estimates are as good as they say. */
#include "collect/split.h"

#include <math.h>

#include "bpf/wire.h"
#include "unit/test.h"

#define NR_SAMPLES 8

struct given {
	uint64_t waited_ns[NR_SAMPLES], queued_ns[NR_SAMPLES];
	uint64_t nr_waited[NR_SAMPLES], nr_queued[NR_SAMPLES];
};

static int give(void *context, uint64_t group, uint32_t sample, const struct wait_amount *amount)
{
	struct given *given = context;

	if (sample == SPLIT_NO_SAMPLE)
		sample = (uint32_t)group;

	given->waited_ns[sample] += amount->waited_ns;
	given->queued_ns[sample] += amount->queued_ns;
	given->nr_waited[sample] += amount->nr_waited;
	given->nr_queued[sample] += amount->nr_queued;
	return 0;
}

static void share(struct split *split, uint32_t group, uint32_t sample, uint64_t waited_ns,
		  uint64_t queued_ns)
{
	CHECK_EQ(split_add_share(split, &(struct split_share){group,
							      sample,
							      {.waited_ns = waited_ns,
							       .queued_ns = queued_ns},
							      1}),
		 0);
}

static void wait_unwalked(struct split *split, uint64_t group, uint64_t waited_ns,
			  uint64_t queued_ns)
{
	const struct wait_amount amount = {.waited_ns = waited_ns, .queued_ns = queued_ns};

	CHECK_EQ(split_add_time(split, group, &amount), 0);
}

TEST(split_gives_each_nanosecond_once)
{
	struct split split = {0};
	struct given given = {0};

	wait_unwalked(&split, 1, 600, 31);
	wait_unwalked(&split, 1, 401, 0);
	share(&split, 1, 3, 10, 1);
	share(&split, 1, 2, 5, 1);
	share(&split, 1, 3, 5, 1);
	share(&split, 1, 4, 10, 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.waited_ns[2] + given.waited_ns[3] + given.waited_ns[4], 1001);
	CHECK_EQ(given.waited_ns[2], 166);
	CHECK_EQ(given.waited_ns[3], 501);
	CHECK_EQ(given.queued_ns[2] + given.queued_ns[3], 31);
	CHECK_EQ(split.divided_ns, 1032);
	split_clear(&split);
}

/* Waits are divided by the number for which those stand that were walked: short ones are many, and little time. */
TEST(split_gives_each_wait_once)
{
	struct split split = {0};
	struct given given = {0};
	const struct wait_amount pot = {1000, 30, 100, 31}, many = {90, 0, 30, 0},
				 few = {910, 9, 1, 1};

	CHECK_EQ(split_add_time(&split, 1, &pot), 0);
	CHECK_EQ(split_add_share(&split, &(struct split_share){1, 2, many, 1}), 0);
	CHECK_EQ(split_add_share(&split, &(struct split_share){1, 3, few, 1}), 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.nr_waited[2], 96);
	CHECK_EQ(given.nr_waited[3], 4);
	CHECK_EQ(given.waited_ns[2], 90);
	CHECK_EQ(given.nr_queued[3], 31);
	split_clear(&split);
}

TEST(split_keeps_groups_apart)
{
	struct split split = {0};
	struct given given = {0};

	wait_unwalked(&split, 1, 100, 0);
	wait_unwalked(&split, 0, 50, 7);
	share(&split, 5, 6, 10, 0); /* a group without a pot */
	share(&split, 1, 2, 10, 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.waited_ns[2], 100);
	/* A group of which nothing was walked keeps its time. */
	CHECK_EQ(given.waited_ns[0], 50);
	CHECK_EQ(given.queued_ns[0], 7);
	CHECK_EQ(given.waited_ns[6], 0);
	/* Shares are of one epoch. */
	wait_unwalked(&split, 1, 100, 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.waited_ns[1], 100);
	split_clear(&split);
}

/* The ones that stand for others never queued, but these did: both times go to the same stacks. */
TEST(split_divides_time_that_nothing_stands_for)
{
	struct split split = {0};
	struct given given = {0};

	wait_unwalked(&split, 1, 0, 90);
	share(&split, 1, 2, 10, 0);
	share(&split, 1, 3, 20, 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.queued_ns[2], 30);
	CHECK_EQ(given.queued_ns[3], 60);
	split_clear(&split);
}

/* Numbers that do not fit into 64 bits when they are multiplied. */
TEST(split_divides_years)
{
	struct split split = {0};
	struct given given = {0};
	const uint64_t years_ns = 1ULL << 62;

	wait_unwalked(&split, 1, years_ns, 0);
	share(&split, 1, 2, 1ULL << 61, 0);
	share(&split, 1, 3, 1ULL << 61, 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.waited_ns[2], years_ns / 2);
	CHECK_EQ(given.waited_ns[3], years_ns / 2);
	split_clear(&split);
}

/*
 * Two stacks: many waits of 5 µs, and one in fifty of 500 µs; one in 40 is walked. The mean of many runs is the truth,
 * and the error is what is estimated.
 */
TEST(split_estimates_without_bias_and_knows_its_error)
{
	enum { RUNS = 400, WAITS = 20000, ONE_OF = 40 };
	uint64_t random = 88172645463325252ULL;
	double sum = 0, squares = 0, estimated = 0, truth = 0, error;
	int run, i;

	for (run = 0; run < RUNS; run++) {
		struct split split = {0};
		struct given given = {0};
		uint64_t walked_long_ns = 0, long_ns = 0;

		for (i = 0; i < WAITS; i++) {
			const bool is_long = i % 50 == 0;
			const uint64_t ns = is_long ? 500000 : 5000;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			long_ns += is_long ? ns : 0;
			if ((random >> 32) % ONE_OF) {
				wait_unwalked(&split, 0, ns, 0);
				continue;
			}
			walked_long_ns += is_long ? ns : 0;
			CHECK_EQ(split_add_share(
					 &split,
					 &(struct split_share){0,
							       is_long ? 1 : 2,
							       {.waited_ns = (ONE_OF - 1) * ns},
							       wire_variance(ns, ONE_OF)}),
				 0);
		}
		CHECK_EQ(split_close(&split, give, &given), 0);
		error = (double)(given.waited_ns[1] + walked_long_ns) - (double)long_ns;
		truth = (double)long_ns;
		sum += error;
		squares += error * error;
		estimated += split_error_ns(&split);
		split_clear(&split);
	}
	CHECK(fabs(sum / RUNS) < 0.03 * truth);
	/* Twice the standard error of both stacks together, which is 1.4 times that of each alone. */
	error = 2 * sqrt(2 * squares / RUNS);
	CHECK(estimated / RUNS > 0.8 * error && estimated / RUNS < 1.25 * error);
}

/* A walk of 4 us in a wait of 8 is no part of the waits for which it stands; in one of 100 it hardly matters. */
TEST(split_counts_walks_as_error)
{
	struct split split = {.walk_ns = 4000};
	struct given given = {0};

	wait_unwalked(&split, 1, 1000000, 0);
	CHECK_EQ(split_add_share(&split, &(struct split_share){1, 2, {80000, 0, 10, 0}, 0}), 0);
	CHECK_EQ(split_add_share(&split, &(struct split_share){1, 3, {100000, 0, 1, 0}, 0}), 0);
	CHECK_EQ(split_close(&split, give, &given), 0);
	CHECK_EQ(given.waited_ns[2], 444444);
	/* 80 of 180, and 40 of 136. */
	CHECK_EQ(llround(split_error_ns(&split)), llround(1e6 * (80. / 180 - 40. / 136)));
	split_clear(&split);
}
