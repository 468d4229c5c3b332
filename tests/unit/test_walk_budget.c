/* The budget of walks, against a model of the programs: what they cost for a given time of waiting for each walk. */
#include "collect/walk_budget.h"

#include "base/clock.h"
#include "unit/test.h"

#define NR_CPUS 2
#define WALK_NS 4000
#define RUN_NS	300

/* Runs the programs until the next judgement: switches a second on a CPU, each of which ends a wait of wait_ns. */
static void run(struct wire_cost *cost, const struct walk_budget *budget, uint64_t ns,
		double switches, double wait_ns)
{
	const uint64_t runs = (uint64_t)(switches * (double)ns / 1e9);
	const double one_of =
		(double)budget->each_ns > wait_ns ? (double)budget->each_ns / wait_ns : 1;
	const uint64_t walks = (uint64_t)((double)runs / one_of);

	cost->runs += runs;
	cost->walks += walks;
	cost->timed_walks += walks;
	cost->walk_ns += walks * WALK_NS;
	cost->timed += (runs - walks) / 61;
	cost->timed_ns += (runs - walks) / 61 * RUN_NS;
}

/* Returns the cost of the second CPU in the last second of ten, as a share. */
static double settle(struct walk_budget *budget, struct wire_cost *costs, double switches,
		     double wait_ns)
{
	uint64_t now_ns = budget->window_began_ns, next_ns = now_ns,
		 end_ns = now_ns + 10 * NS_PER_SEC;
	struct wire_cost before = {0};

	while (now_ns < end_ns) {
		if (!before.runs && now_ns > end_ns - NS_PER_SEC)
			before = costs[1];
		next_ns = walk_budget_judge(budget, now_ns);
		run(&costs[0], budget, next_ns - now_ns, switches / 10, wait_ns);
		run(&costs[1], budget, next_ns - now_ns, switches, wait_ns);
		now_ns = next_ns;
	}
	return ((double)(costs[1].walk_ns - before.walk_ns) +
		(double)(costs[1].runs - costs[1].walks - before.runs + before.walks) * RUN_NS) /
	       1e9;
}

TEST(walk_budget_is_kept_by_the_cpu_that_pays_most)
{
	struct wire_cost costs[NR_CPUS] = {{0}};
	struct walk_budget budget;
	struct walk_budget_result result;
	double share;

	CHECK_EQ(walk_budget_init(&budget, 0.05, costs, NR_CPUS, 1000), 0);
	share = settle(&budget, costs, 100000, 10000);
	CHECK(share > 0.04 && share < 0.055);
	walk_budget_summarize(&budget, 1000 + 10 * NS_PER_SEC, &result);
	CHECK(result.paid_share > 0.04 && result.paid_share < 0.06);
	CHECK(result.follow_share > 0.028 && result.follow_share < 0.032);
	CHECK(result.first_ns < NS_PER_SEC / 5);
	/* Less to do: all is walked again. */
	(void)settle(&budget, costs, 1000, 10000);
	CHECK_EQ(budget.each_ns, 0);
	walk_budget_clear(&budget);
}

TEST(walk_budget_leaves_a_quiet_machine_alone)
{
	struct wire_cost costs[NR_CPUS] = {{0}};
	struct walk_budget budget;

	CHECK_EQ(walk_budget_init(&budget, 0.02, costs, NR_CPUS, 1000), 0);
	(void)settle(&budget, costs, 4000, 10000);
	CHECK_EQ(budget.most_each_ns, 0);
	CHECK_EQ(budget.first_ns, 0);
	walk_budget_clear(&budget);
}

/* The few runs without a walk were slow. */
TEST(walk_budget_does_not_take_walks_for_free)
{
	struct wire_cost costs[NR_CPUS] = {{0}};
	struct walk_budget budget;
	struct wire_cost before;

	CHECK_EQ(walk_budget_init(&budget, 0.05, costs, NR_CPUS, 1000), 0);
	costs[1].timed = 1000;
	costs[1].timed_ns = costs[1].timed * WALK_NS * 2;
	(void)settle(&budget, costs, 100000, 10000);
	CHECK(budget.most_each_ns > 0);
	before = costs[1];
	(void)settle(&budget, costs, 100000, 10000);
	CHECK(costs[1].walks - before.walks < (costs[1].runs - before.runs) / 10);
	walk_budget_clear(&budget);
}

/* Following alone is more: some walks remain. */
TEST(walk_budget_keeps_some_walks_if_it_cannot_be_kept)
{
	struct wire_cost costs[NR_CPUS] = {{0}};
	struct walk_budget budget;
	struct wire_cost before;

	CHECK_EQ(walk_budget_init(&budget, 0.01, costs, NR_CPUS, 1000), 0);
	(void)settle(&budget, costs, 200000, 5000);
	before = costs[1];
	(void)settle(&budget, costs, 200000, 5000);
	CHECK(costs[1].walk_ns - before.walk_ns > 10 * NS_PER_SEC / 1000);
	CHECK(costs[1].walk_ns - before.walk_ns < 10 * NS_PER_SEC / 250);
	walk_budget_clear(&budget);
}

/* Without a budget, some runs of both kinds are timed. */
TEST(walk_budget_sums_up_the_cost_without_a_budget)
{
	struct wire_cost costs[NR_CPUS] = {
		{.switches = 1000, .runs = 2000, .walks = 900, .timed_walks = 15, .timed = 18},
		{.switches = 2000, .runs = 4100, .walks = 2100, .timed_walks = 35, .timed = 32},
	};
	struct walk_budget_result result;
	struct walk_budget budget;
	size_t i;

	for (i = 0; i < NR_CPUS; i++) {
		costs[i].walk_ns = costs[i].timed_walks * WALK_NS;
		costs[i].timed_ns = costs[i].timed * RUN_NS;
	}
	CHECK_EQ(walk_budget_init(&budget, 0, costs, NR_CPUS, 1000), 0);
	walk_budget_summarize(&budget, 1000 + NS_PER_SEC, &result);
	CHECK_EQ(result.nr_switches, 3000);
	CHECK_EQ(result.nr_walks, 3000);
	CHECK_EQ(result.walk_ns, 3000 * WALK_NS);
	CHECK_EQ(result.paid_ns, 3000 * WALK_NS + 3100 * RUN_NS);
	walk_budget_clear(&budget);
}
