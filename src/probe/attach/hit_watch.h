/*
 * Watches the counters of attached probes: what they have cost each CPU since a moment, which is the
 * beginning of a window. Only reads memory that is mapped; a look at 10,000 probes on two CPUs takes
 * some 30 µs.
 */
#ifndef STOOK_PROBE_ATTACH_HIT_WATCH_H
#define STOOK_PROBE_ATTACH_HIT_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "probe/attach/budget.h"
#include "probe/attach/hits.h"

struct hit_watch {
	const struct hits *hits;
	double *hit_ns;	  /* by number; 0: it is not watched */
	uint64_t *before; /* at the window's beginning, number * nr_cpus + cpu */
	uint64_t began_ns;
	uint64_t *since_ns; /* by number: when it was added, maybe later than the window began */
	struct budget_rate *rates; /* room for all probes */
};

/* hits must outlive it. 0 or -ENOMEM; to be cleared in each case. */
int hit_watch_init(struct hit_watch *watch, const struct hits *hits);
void hit_watch_clear(struct hit_watch *watch);

/* Hits cost nothing as long as they are not watched; those before it are forgotten. */
void hit_watch_add(struct hit_watch *watch, uint32_t number, double hit_ns, uint64_t now_ns);
void hit_watch_remove(struct hit_watch *watch, uint32_t number);

void hit_watch_begin(struct hit_watch *watch, uint64_t now_ns);

/* What the window has cost the CPU that paid most. */
double hit_watch_cost_ns(const struct hit_watch *watch);

/*
 * Judges what was hit since the window began (see budget_judge()), which must begin anew after that.
 * The verdicts, good until the next call, of those that were hit; *ret_nr of them. Returns how many
 * are cut.
 */
size_t hit_watch_judge(struct hit_watch *watch, double most_ns,
		       const struct budget_rate **ret_rates, size_t *ret_nr);

/* Hits a second of one of those, over the part of the window in which it was watched. */
double hit_watch_rate(const struct hit_watch *watch, const struct budget_rate *rate,
		      uint64_t now_ns);

#endif
