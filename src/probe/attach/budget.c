/* Choosing what to detach; see budget.h. */
#include "probe/attach/budget.h"

#include <stdlib.h>

static double cost_on(const struct budget_rate *rate, uint32_t cpu)
{
	return (double)rate->by_cpu[cpu] * rate->hit_ns;
}

/* What has been cut already stands behind; then by cost, and by number to be the same every time. */
static int compare(const void *left, const void *right, void *context)
{
	const struct budget_rate *a = left, *b = right;
	const uint32_t *cpu = context;
	double cost_a = cost_on(a, *cpu), cost_b = cost_on(b, *cpu);

	if (a->is_cut != b->is_cut)
		return a->is_cut ? 1 : -1;
	if (cost_a != cost_b)
		return cost_a < cost_b ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* By those that are not cut. */
static double paid_on(const struct budget_rate *rates, size_t nr, uint32_t cpu)
{
	double paid_ns = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!rates[i].is_cut)
			paid_ns += cost_on(&rates[i], cpu);
	return paid_ns;
}

static size_t judge_cpu(double most_ns, struct budget_rate *rates, size_t nr, uint32_t cpu,
			double paid_ns)
{
	size_t i;

	qsort_r(rates, nr, sizeof(*rates), compare, &cpu);
	for (i = 0; i < nr && !rates[i].is_cut && paid_ns > most_ns; i++) {
		paid_ns -= cost_on(&rates[i], cpu);
		rates[i].is_cut = true;
	}
	return i;
}

size_t budget_judge(double most_ns, struct budget_rate *rates, size_t nr, uint32_t nr_cpus)
{
	size_t nr_cut = 0, i;
	uint32_t cpu;

	for (i = 0; i < nr; i++)
		rates[i].is_cut = false;
	/* A cut makes the other CPUs cheaper, too: none must be looked at twice. */
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		double paid_ns = paid_on(rates, nr, cpu);

		if (paid_ns > most_ns)
			nr_cut += judge_cpu(most_ns, rates, nr, cpu, paid_ns);
	}
	return nr_cut;
}
