/* Counters read in windows of time; see hit_watch.h. */
#include "probe/attach/hit_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

int hit_watch_init(struct hit_watch *watch, const struct hits *hits)
{
	size_t nr = hits->nr_probes ? hits->nr_probes : 1;

	*watch = (struct hit_watch){.hits = hits};
	watch->hit_ns = calloc(nr, sizeof(*watch->hit_ns));
	watch->before = calloc(nr * hits->nr_cpus, sizeof(*watch->before));
	watch->since_ns = calloc(nr, sizeof(*watch->since_ns));
	watch->rates = calloc(nr, sizeof(*watch->rates));
	return watch->hit_ns && watch->before && watch->since_ns && watch->rates ? 0 : -ENOMEM;
}

void hit_watch_clear(struct hit_watch *watch)
{
	free(watch->hit_ns);
	free(watch->before);
	free(watch->since_ns);
	free(watch->rates);
	*watch = (struct hit_watch){0};
}

static uint64_t *before_of(const struct hit_watch *watch, uint32_t number)
{
	return watch->before + (size_t)number * watch->hits->nr_cpus;
}

static void remember(struct hit_watch *watch, uint32_t number)
{
	uint64_t *before = before_of(watch, number);
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++)
		before[cpu] = hits_on_cpu(watch->hits, number, cpu);
}

void hit_watch_add(struct hit_watch *watch, uint32_t number, double hit_ns, uint64_t now_ns)
{
	watch->hit_ns[number] = hit_ns;
	watch->since_ns[number] = now_ns;
	remember(watch, number);
}

void hit_watch_remove(struct hit_watch *watch, uint32_t number)
{
	watch->hit_ns[number] = 0;
}

void hit_watch_begin(struct hit_watch *watch, uint64_t now_ns)
{
	uint32_t number;

	for (number = 0; number < watch->hits->nr_probes; number++)
		if (watch->hit_ns[number] > 0)
			remember(watch, number);
	watch->began_ns = now_ns;
}

double hit_watch_cost_ns(const struct hit_watch *watch)
{
	const struct hits *hits = watch->hits;
	double most = 0;
	uint32_t number, cpu;

	for (cpu = 0; cpu < hits->nr_cpus; cpu++) {
		double cost = 0;

		for (number = 0; number < hits->nr_probes; number++)
			if (watch->hit_ns[number] > 0)
				cost += watch->hit_ns[number] *
					(double)(hits_on_cpu(hits, number, cpu) -
						 before_of(watch, number)[cpu]);
		if (cost > most)
			most = cost;
	}
	return most;
}

/* Turns what was before into what has come since; false if that is nothing. */
static bool take_difference(struct hit_watch *watch, uint32_t number)
{
	uint64_t *before = before_of(watch, number), any = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++) {
		before[cpu] = hits_on_cpu(watch->hits, number, cpu) - before[cpu];
		any |= before[cpu];
	}
	return any;
}

size_t hit_watch_judge(struct hit_watch *watch, double most_ns,
		       const struct budget_rate **ret_rates, size_t *ret_nr)
{
	uint32_t number;
	size_t nr = 0;

	for (number = 0; number < watch->hits->nr_probes; number++) {
		if (!(watch->hit_ns[number] > 0) || !take_difference(watch, number))
			continue;
		watch->rates[nr++] = (struct budget_rate){.number = number,
							  .hit_ns = watch->hit_ns[number],
							  .by_cpu = before_of(watch, number)};
	}
	*ret_rates = watch->rates;
	*ret_nr = nr;
	return budget_judge(most_ns, watch->rates, nr, watch->hits->nr_cpus);
}

double hit_watch_rate(const struct hit_watch *watch, const struct budget_rate *rate,
		      uint64_t now_ns)
{
	uint64_t since_ns = watch->since_ns[rate->number], nr = 0;
	uint64_t from_ns = since_ns > watch->began_ns ? since_ns : watch->began_ns;
	uint64_t elapsed_ns = now_ns > from_ns ? now_ns - from_ns : 1;
	uint32_t cpu;

	for (cpu = 0; cpu < watch->hits->nr_cpus; cpu++)
		nr += rate->by_cpu[cpu];
	return (double)nr * (double)NS_PER_SEC / (double)elapsed_ns;
}
