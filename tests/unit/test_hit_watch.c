/* probe/attach/hit_watch: windows over counters that nobody but the test raises. */
#include "probe/attach/hit_watch.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "unit/test.h"

#define NR_PROBES 3
#define NR_CPUS	  2
#define STRIDE	  4

static struct wire_hits counters[NR_CPUS * STRIDE];

static const struct hits hits = {
	.per_cpu = counters, .stride = STRIDE, .nr_probes = NR_PROBES, .nr_cpus = NR_CPUS};

static struct hit_watch open_watch(void)
{
	struct hit_watch watch;

	memset(counters, 0, sizeof(counters));
	CHECK_EQ(hit_watch_init(&watch, &hits), 0);
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
	CHECK_EQ(nr, 2); /* number 1 had no hit */
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
	/* In the next window it is there from the beginning. */
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
		err = hit_watch_init(&watch, &hits);
		hit_watch_clear(&watch);
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	test_fail_allocation(0);
	CHECK_EQ(nth, 5);
}
