/* probe/attach/budget: verdicts on made-up rates, and windows over counters that only the test raises. */
#include "probe/attach/budget.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/test.h"

/* --- verdicts ------------------------------------------------------------------------------ */

#define NR_CPUS 2

/* Returns the verdict on a probe, wherever it is in the sorted array. */
static bool is_cut(const struct budget_rate *rates, size_t nr, uint32_t number)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (rates[i].number == number)
			return rates[i].is_cut;
	CHECK(!"a rate got lost");
	return false;
}

static double paid_ns(const struct budget_rate *rates, size_t nr, uint32_t cpu)
{
	double ns = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!rates[i].is_cut)
			ns += (double)rates[i].by_cpu[cpu] * rates[i].hit_ns;
	return ns;
}

TEST(nothing_is_cut_that_fits)
{
	const uint64_t hits[][NR_CPUS] = {{1000, 0}, {0, 2000}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 2, .by_cpu = hits[0], .is_cut = true},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
	};

	CHECK_EQ(budget_judge(2000, rates, 2, NR_CPUS), 0);
	CHECK(!is_cut(rates, 2, 0));
	CHECK(!is_cut(rates, 2, 1));
	CHECK_EQ(budget_judge(2000, rates, 0, NR_CPUS), 0);
}

TEST(the_costliest_goes_first)
{
	const uint64_t hits[][NR_CPUS] = {{100, 0}, {900, 0}, {300, 0}, {200, 0}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 1, .by_cpu = hits[0]},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
		{.number = 2, .hit_ns = 10, .by_cpu = hits[2]}, /* fewer but more expensive hits */
		{.number = 3, .hit_ns = 1, .by_cpu = hits[3]},
	};

	CHECK_EQ(budget_judge(1200, rates, 4, NR_CPUS), 1);
	CHECK(is_cut(rates, 4, 2));
	CHECK_EQ(budget_judge(1199, rates, 4, NR_CPUS), 2);
	CHECK(is_cut(rates, 4, 2));
	CHECK(is_cut(rates, 4, 1));
}

TEST(each_cpu_is_judged_by_itself)
{
	/* The average over the CPUs would fit. */
	const uint64_t hits[][NR_CPUS] = {{1500, 0}, {700, 100}, {0, 900}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 1, .by_cpu = hits[0]},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
		{.number = 2, .hit_ns = 1, .by_cpu = hits[2]},
	};

	CHECK_EQ(budget_judge(1000, rates, 3, NR_CPUS), 1);
	CHECK(is_cut(rates, 3, 0));
}

TEST(a_cut_for_one_cpu_serves_the_other)
{
	const uint64_t hits[][NR_CPUS] = {{900, 800}, {300, 100}, {100, 300}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 1, .by_cpu = hits[0]},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
		{.number = 2, .hit_ns = 1, .by_cpu = hits[2]},
	};

	CHECK_EQ(budget_judge(1000, rates, 3, NR_CPUS), 1);
	CHECK(is_cut(rates, 3, 0));
}

/* No single probe is over budget, but their sum is: the fewest possible are cut. */
TEST(many_lukewarm_ones)
{
	enum { NR = 500 };
	static uint64_t hits[NR][NR_CPUS];
	static struct budget_rate rates[NR];
	size_t i;

	for (i = 0; i < NR; i++) {
		hits[i][1] = 10;
		rates[i] =
			(struct budget_rate){.number = (uint32_t)i, .hit_ns = 2, .by_cpu = hits[i]};
	}
	CHECK_EQ(budget_judge(4000, rates, NR, NR_CPUS), 300);
	CHECK(paid_ns(rates, NR, 1) == 4000);
	for (i = 0; i < NR; i++)
		CHECK_EQ(is_cut(rates, NR, (uint32_t)i), i < 300);
}

TEST(whatever_the_rates_the_rest_fits)
{
	enum { NR = 64 };
	uint64_t hits[NR][NR_CPUS], state = 1;
	struct budget_rate rates[NR];
	size_t round, nr_cut, i;

	for (round = 0; round < 1000; round++) {
		for (i = 0; i < NR; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			hits[i][0] = (state >> 40) >> (state >> 33 & 15);
			hits[i][1] = (state >> 20 & 0xfffff) >> (state >> 50 & 15);
			rates[i] = (struct budget_rate){
				.number = (uint32_t)i, .hit_ns = 0.5, .by_cpu = hits[i]};
		}
		nr_cut = budget_judge((double)(round * 1000), rates, NR, NR_CPUS);
		for (i = 0; i < NR; i++)
			nr_cut -= rates[i].is_cut;
		CHECK_EQ(nr_cut, 0);
		CHECK(paid_ns(rates, NR, 0) <= (double)(round * 1000));
		CHECK(paid_ns(rates, NR, 1) <= (double)(round * 1000));
	}
}

/* --- thinning ------------------------------------------------------------------------------ */

static double thinned_ns(const struct budget_rate *rates, size_t nr, uint32_t cpu, double work_ns)
{
	double ns = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!rates[i].is_cut)
			ns += (double)rates[i].by_cpu[cpu] *
			      (rates[i].hit_ns + work_ns / (double)(1U << rates[i].bits));
	return ns;
}

TEST(nothing_is_thinned_that_fits)
{
	const uint64_t hits[][NR_CPUS] = {{100, 0}, {0, 200}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 1, .by_cpu = hits[0], .bits = 3},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
	};

	budget_thin(2200, 10, rates, 2, NR_CPUS);
	CHECK_EQ(rates[0].bits, 0);
	CHECK_EQ(rates[1].bits, 0);
	budget_thin(2199, 10, rates, 2, NR_CPUS);
	CHECK_EQ(rates[0].bits, 0);
	CHECK_EQ(rates[1].bits, 1);
	budget_thin(0, 0, rates, 2, NR_CPUS); /* no work to thin out */
	CHECK_EQ(rates[1].bits, 0);
}

TEST(the_costliest_work_is_thinned_first)
{
	const uint64_t hits[][NR_CPUS] = {{1000, 0}, {10, 0}, {100, 0}};
	struct budget_rate rates[] = {
		{.number = 0, .hit_ns = 1, .by_cpu = hits[0]},
		{.number = 1, .hit_ns = 1, .by_cpu = hits[1]},
		{.number = 2, .hit_ns = 1, .by_cpu = hits[2], .is_cut = true},
	};

	budget_thin(1000 + 10 + 10000 / 8 + 10 * 10, 10, rates, 3, NR_CPUS);
	CHECK_EQ(rates[0].bits, 3);
	CHECK_EQ(rates[1].bits, 0); /* rare probes stay exact */
	CHECK_EQ(rates[2].bits, 0);
}

/*
 * Whatever the rates, thinning meets the limit, apart from the work for the hits that even the
 * maximum thinning keeps.
 */
TEST(whatever_the_rates_thinning_makes_room)
{
	enum { NR = 64 };
	const double work_ns = 40;
	uint64_t hits[NR][NR_CPUS], state = 7;
	struct budget_rate rates[NR];
	size_t round, i;

	for (round = 1; round <= 1000; round++) {
		double most_ns = (double)round * 1000, rest_ns[NR_CPUS] = {0};
		uint32_t cpu;

		for (i = 0; i < NR; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			hits[i][0] = (state >> 40) >> (state >> 33 & 15);
			hits[i][1] = (state >> 20 & 0xfffff) >> (state >> 50 & 15);
			rates[i] = (struct budget_rate){
				.number = (uint32_t)i, .hit_ns = 0.5, .by_cpu = hits[i]};
		}
		(void)budget_judge(most_ns, rates, NR, NR_CPUS);
		budget_thin(most_ns, work_ns, rates, NR, NR_CPUS);
		for (i = 0; i < NR; i++)
			for (cpu = 0; cpu < NR_CPUS; cpu++)
				rest_ns[cpu] += (double)hits[i][cpu] * work_ns /
						(double)(1U << BUDGET_MOST_BITS);
		CHECK(thinned_ns(rates, NR, 0, work_ns) <= most_ns + rest_ns[0]);
		CHECK(thinned_ns(rates, NR, 1, work_ns) <= most_ns + rest_ns[1]);
	}
}

/* --- windows ------------------------------------------------------------------------------- */

#define NR_PROBES 3
#define STRIDE	  4

static struct wire_hits counters[NR_CPUS * STRIDE];

static const struct hits hits = {
	.per_cpu = counters, .stride = STRIDE, .nr_probes = NR_PROBES, .nr_cpus = NR_CPUS};

static struct hit_watch open_watch(void)
{
	struct hit_watch watch;

	memset(counters, 0, sizeof(counters));
	CHECK_EQ(hit_watch_init(&watch, &hits, 0), 0);
	return watch;
}

static void hit(uint32_t number, uint32_t cpu, uint64_t nr)
{
	counters[cpu * STRIDE + number].counted += nr;
}

TEST(only_what_is_watched_costs)
{
	struct hit_watch watch = open_watch();

	hit(0, 0, 1000);
	hit_watch_add(&watch, 0, 10, 0);
	CHECK(hit_watch_cost_ns(&watch) == 0);
	hit(0, 0, 5);
	hit(1, 0, 1000);
	CHECK(hit_watch_cost_ns(&watch) == 50);
	hit_watch_remove(&watch, 0);
	CHECK(hit_watch_cost_ns(&watch) == 0);
	hit_watch_clear(&watch);
}

TEST(the_cost_is_that_of_the_cpu_that_pays_most)
{
	struct hit_watch watch = open_watch();

	hit_watch_add(&watch, 0, 10, 0);
	hit_watch_add(&watch, 1, 3, 0);
	hit(0, 0, 10);
	hit(0, 1, 9);
	hit(1, 1, 4);
	CHECK(hit_watch_cost_ns(&watch) == 102);
	hit_watch_clear(&watch);
}

TEST(hits_of_unwanted_tasks_cost_too)
{
	struct hit_watch watch = open_watch();

	hit_watch_add(&watch, 2, 1, 0);
	counters[STRIDE + 2].filtered = 7;
	CHECK(hit_watch_cost_ns(&watch) == 7);
	hit_watch_clear(&watch);
}

TEST(work_costs_as_far_as_it_is_done)
{
	const struct budget_rate *rates;
	struct hit_watch watch;
	size_t nr;

	memset(counters, 0, sizeof(counters));
	CHECK_EQ(hit_watch_init(&watch, &hits, 32), 0);
	hit_watch_add(&watch, 0, 1, 0);
	hit(0, 0, 100);
	CHECK(hit_watch_cost_ns(&watch) == 100 * 33);
	watch.bits[0] = 4;
	CHECK(hit_watch_cost_ns(&watch) == 100 * 3);
	counters[0].filtered += 1000; /* filtered hits, without work */
	CHECK(hit_watch_cost_ns(&watch) == 1000 + 100 * 3);
	/* The hits alone fit: nothing is cut. */
	CHECK_EQ(hit_watch_judge(&watch, 1000 + 100 * 5, &rates, &nr), 0);
	CHECK_EQ(nr, 1);
	CHECK_EQ(rates[0].bits, 3);
	hit_watch_clear(&watch);
}

TEST(a_window_begins_with_nothing)
{
	struct hit_watch watch = open_watch();

	hit_watch_add(&watch, 0, 1, 0);
	hit(0, 1, 100);
	hit_watch_begin(&watch, NS_PER_SEC);
	CHECK(hit_watch_cost_ns(&watch) == 0);
	CHECK_EQ(watch.began_ns, NS_PER_SEC);
	hit(0, 1, 1);
	CHECK(hit_watch_cost_ns(&watch) == 1);
	hit_watch_clear(&watch);
}

TEST(verdicts_tell_the_rate)
{
	struct hit_watch watch = open_watch();
	const struct budget_rate *rates;
	size_t nr;

	hit_watch_add(&watch, 0, 1, 0);
	hit_watch_add(&watch, 1, 1, 0);
	hit_watch_add(&watch, 2, 1, 0);
	hit_watch_begin(&watch, NS_PER_SEC);
	hit(0, 0, 300);
	hit(0, 1, 200);
	hit(2, 1, 20);
	CHECK_EQ(hit_watch_judge(&watch, 250, &rates, &nr), 1);
	CHECK_EQ(nr, 2); /* probe 1 had no hit */
	CHECK_EQ(rates[0].number, 0);
	CHECK(rates[0].is_cut);
	CHECK(!rates[1].is_cut);
	CHECK(hit_watch_rate(&watch, &rates[0], NS_PER_SEC * 3 / 2) == 1000);
	hit_watch_clear(&watch);
}

TEST(the_rate_of_one_that_came_in_late)
{
	struct hit_watch watch = open_watch();
	const struct budget_rate *rates;
	size_t nr;

	hit_watch_begin(&watch, NS_PER_SEC);
	hit_watch_add(&watch, 1, 1, NS_PER_SEC + 90 * NS_PER_MS);
	hit(1, 0, 300);
	CHECK_EQ(hit_watch_judge(&watch, 100, &rates, &nr), 1);
	CHECK(hit_watch_rate(&watch, &rates[0], NS_PER_SEC + 100 * NS_PER_MS) == 30000);
	/* In the next window the probe counts from the beginning. */
	hit_watch_begin(&watch, 2 * NS_PER_SEC);
	hit(1, 0, 300);
	CHECK_EQ(hit_watch_judge(&watch, 100, &rates, &nr), 1);
	CHECK(hit_watch_rate(&watch, &rates[0], 2 * NS_PER_SEC + 100 * NS_PER_MS) == 3000);
	hit_watch_clear(&watch);
}

TEST(a_watch_without_memory)
{
	struct hit_watch watch;
	size_t nth;
	int err;

	for (nth = 1;; nth++) {
		test_fail_allocation(nth);
		err = hit_watch_init(&watch, &hits, 0);
		hit_watch_clear(&watch);
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	test_fail_allocation(0);
	CHECK_EQ(nth, 7);
}
