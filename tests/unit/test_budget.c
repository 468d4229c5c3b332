/* probe/attach/budget: which probes are cut, of made-up rates. */
#include "probe/attach/budget.h"

#include "base/array.h"
#include "unit/test.h"

#define NR_CPUS 2

/* The verdict on a probe, wherever it has gone in the array. */
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
		{.number = 2, .hit_ns = 10, .by_cpu = hits[2]}, /* fewer hits, dearer ones */
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
	/* On average all of this would fit. */
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

/* None of them is hot, but together they are: only as many go as must. */
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
