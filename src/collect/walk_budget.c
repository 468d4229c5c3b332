/*
 * A walk costs the same after a short and a long wait, so the cost of all walks falls in proportion to the time for
 * each. What remains is the cost of following a switch without a walk, which cannot be reduced; if that alone is more
 * than the budget, a part of the budget is still spent on walks, or there would be no stacks at all.
 */
#include "collect/walk_budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"

#define WINDOW_NS      (100 * NS_PER_MS)
#define OVER_WINDOW_NS (10 * NS_PER_MS) /* after a window that was over the budget */

#define LEAST_FOR_WALK \
	0.5 /* of a run with a walk: its walk; it is more than nine tenths on real machines */
#define LEAST_FOR_WALKS 0.25 /* of the budget */
#define AIM		0.9  /* of what is left for walks */
#define FIRST_EACH_NS	(10 * NS_PER_US)
#define LEAST_EACH_NS	NS_PER_US
#define MOST_EACH_NS	(10 * NS_PER_SEC)
#define MOST_INCREASE	8.0
#define MOST_DECREASE	0.7

int walk_budget_init(struct walk_budget *budget, double share,
		     const volatile struct wire_cost *costs, size_t nr_cpus, uint64_t now_ns)
{
	*budget = (struct walk_budget){
		.share = share,
		.costs = costs,
		.before = calloc(nr_cpus, sizeof(*budget->before)),
		.nr_cpus = nr_cpus,
		.began_ns = now_ns,
		.window_began_ns = now_ns,
	};
	return budget->before ? 0 : -ENOMEM;
}

void walk_budget_clear(struct walk_budget *budget)
{
	free(budget->before);
	*budget = (struct walk_budget){0};
}

static double mean(uint64_t sum, uint64_t nr)
{
	return nr ? (double)sum / (double)nr : 0;
}

/* A cost in nanoseconds. */
struct paid {
	double follow, walks;
};

/*
 * run_ns: of a run without a walk. While nearly every switch is walked, few runs without a walk are timed. If these
 * happen to be slow, walks would seem to cost nothing, and be all made.
 */
static struct paid paid_for(const struct wire_cost *cost, double run_ns)
{
	const double walked_ns = mean(cost->walk_ns, cost->timed_walks);
	const double most_ns = (1 - LEAST_FOR_WALK) * walked_ns;
	const double follow_ns = run_ns < most_ns ? run_ns : most_ns; /* of a run with a walk */

	return (struct paid){
		.follow = (double)(cost->runs - cost->walks) * run_ns +
			  (double)cost->walks * follow_ns,
		.walks = (double)cost->walks * (walked_ns - follow_ns),
	};
}

/* Returns what the walks of a window cost, relative to what they may cost, on the CPU that paid most. */
static double judge_window(struct walk_budget *budget, double window_ns)
{
	const double most = budget->share * window_ns;
	double worst = 0;
	size_t cpu;

	for (cpu = 0; cpu < budget->nr_cpus; cpu++) {
		const struct wire_cost now = budget->costs[cpu];
		struct wire_cost *before = &budget->before[cpu];
		const struct wire_cost window = {
			.runs = now.runs - before->runs,
			.walks = now.walks - before->walks,
			.timed_walks = now.timed_walks - before->timed_walks,
			.walk_ns = now.walk_ns - before->walk_ns,
		};
		const struct paid paid = paid_for(&window, mean(now.timed_ns, now.timed));
		double left = most - paid.follow;

		if (left < LEAST_FOR_WALKS * most)
			left = LEAST_FOR_WALKS * most;
		if (paid.walks > worst * left)
			worst = paid.walks / left;
		*before = now;
	}
	return worst;
}

uint64_t walk_budget_judge(struct walk_budget *budget, uint64_t now_ns)
{
	const double ratio = judge_window(budget, (double)(now_ns - budget->window_began_ns)) / AIM;
	double factor = ratio < MOST_DECREASE	? MOST_DECREASE
			: ratio > MOST_INCREASE ? MOST_INCREASE
						: ratio;

	budget->window_began_ns = now_ns;
	if (!budget->each_ns && ratio * AIM > 1)
		budget->each_ns = FIRST_EACH_NS;
	else
		budget->each_ns = (uint64_t)((double)budget->each_ns * factor);
	if (budget->each_ns < LEAST_EACH_NS)
		budget->each_ns = 0;
	if (budget->each_ns > MOST_EACH_NS)
		budget->each_ns = MOST_EACH_NS;
	if (budget->each_ns && !budget->first_ns)
		budget->first_ns = now_ns;
	if (budget->each_ns > budget->most_each_ns)
		budget->most_each_ns = budget->each_ns;
	return now_ns + (ratio * AIM > 1 ? OVER_WINDOW_NS : WINDOW_NS);
}

static struct wire_cost sum_costs(const struct walk_budget *budget)
{
	struct wire_cost sum = {0};
	size_t cpu;

	for (cpu = 0; cpu < budget->nr_cpus; cpu++) {
		const struct wire_cost cost = budget->costs[cpu];

		add_words(&sum, &cost, sizeof(sum));
	}
	return sum;
}

double walk_budget_walk_ns(const struct walk_budget *budget)
{
	const struct wire_cost sum = sum_costs(budget);

	return sum.walks ? paid_for(&sum, mean(sum.timed_ns, sum.timed)).walks / (double)sum.walks
			 : 0;
}

uint64_t walk_budget_paid_ns(const struct walk_budget *budget)
{
	const struct wire_cost sum = sum_costs(budget);
	const struct paid paid = paid_for(&sum, mean(sum.timed_ns, sum.timed));

	return (uint64_t)(paid.follow + paid.walks);
}

void walk_budget_summarize(const struct walk_budget *budget, uint64_t now_ns,
			   struct walk_budget_result *ret)
{
	const double elapsed_ns = (double)(now_ns - budget->began_ns);
	const struct wire_cost sum = sum_costs(budget);
	size_t cpu;

	*ret = (struct walk_budget_result){
		.share = budget->share,
		.nr_switches = sum.switches,
		.paid_ns = walk_budget_paid_ns(budget),
		.nr_walks = sum.walks,
		.walk_ns = (uint64_t)(mean(sum.walk_ns, sum.timed_walks) * (double)sum.walks),
		.nr_runs = sum.runs,
		.run_ns = mean(sum.timed_ns, sum.timed),
		.first_ns = budget->first_ns ? budget->first_ns - budget->began_ns : 0,
		.most_each_ns = budget->most_each_ns,
	};
	for (cpu = 0; cpu < budget->nr_cpus; cpu++) {
		const struct wire_cost cost = budget->costs[cpu];
		const struct paid paid = paid_for(&cost, mean(cost.timed_ns, cost.timed));

		if (elapsed_ns > 0 && paid.follow + paid.walks > ret->paid_share * elapsed_ns) {
			ret->paid_share = (paid.follow + paid.walks) / elapsed_ns;
			ret->follow_share = paid.follow / elapsed_ns;
		}
	}
}
