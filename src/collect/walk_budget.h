/*
 * The cost of following switches (off-CPU time), and how it is kept within a budget: by choosing how much waiting time
 * there is for each walk. The budget is a share of each CPU's time, as for probes (probe/attach/budget.h): the CPU that
 * pays most decides. Pure arithmetic over the costs that the programs measure.
 */
#ifndef STOOK_COLLECT_WALK_BUDGET_H
#define STOOK_COLLECT_WALK_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct walk_budget {
	double share;				/* 0: no budget, the cost is only summed up */
	const volatile struct wire_cost *costs; /* by CPU */
	struct wire_cost *before;		/* at the beginning of the window */
	size_t nr_cpus;
	uint64_t began_ns, window_began_ns;
	uint64_t each_ns;		 /* of waiting for each walk; 0: every switch is walked */
	uint64_t first_ns, most_each_ns; /* when each_ns was not 0 for the first time; 0: never */
};

/* costs must outlive the budget. 0 or -ENOMEM. Accepts {0} for clearing. */
int walk_budget_init(struct walk_budget *budget, double share,
		     const volatile struct wire_cost *costs, size_t nr_cpus, uint64_t now_ns);
void walk_budget_clear(struct walk_budget *budget);

/* Under a budget: ends a window: sets each_ns. Returns when to call it again. */
uint64_t walk_budget_judge(struct walk_budget *budget, uint64_t now_ns);

/* Returns the cost since the start, on all CPUs. */
uint64_t walk_budget_paid_ns(const struct walk_budget *budget);

/* Returns what a walk took on average, without what each switch costs. */
double walk_budget_walk_ns(const struct walk_budget *budget);

/* The cost since the start, as shares of the time of the CPU that paid most, and the numbers on all CPUs. */
struct walk_budget_result {
	double share; /* the budget; 0: none */
	double paid_share;
	double follow_share; /* of this: without the walks */
	uint64_t nr_switches, paid_ns;
	uint64_t nr_walks;
	uint64_t walk_ns; /* of runs with a walk; without a budget, an estimate */
	uint64_t nr_runs;
	double run_ns; /* of a run without a walk */
	uint64_t first_ns, most_each_ns;
};

void walk_budget_summarize(const struct walk_budget *budget, uint64_t now_ns,
			   struct walk_budget_result *ret);

#endif
