/*
 * The cost of probes: what a hit costs on this machine, how much each CPU has paid in a window of
 * time, and which probes are too hot.
 *
 * The budget is a share of each CPU's time: a single-threaded server is slowed down by the hits on
 * its CPU, however many other CPUs are idle. So no CPU pays more than the share, and neither does
 * the whole machine.
 */
#ifndef STOOK_PROBE_ATTACH_BUDGET_H
#define STOOK_PROBE_ATTACH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"

/* --- verdicts: pure --------------------------------------------------------------------------- */

/* Costs of user code, measured on this machine; 0: not measured, or no such probes. */
struct budget {
	double share;	   /* 0.05: 5 % */
	double hit_ns;	   /* of a call, if the kernel emulates the function's first instruction */
	double stepped_ns; /* of a call, if it single-steps it (elf/image/instructions.h) */
	double return_ns;  /* of a return, lower bound */
};

/* Hits of one probe by CPU, in the judged window. */
struct budget_rate {
	uint32_t number;
	bool is_cut;  /* the probe is to be detached */
	uint8_t bits; /* if not: do the work of only one hit in 1 << bits */
	double hit_ns;
	const uint64_t *by_cpu;
	const uint64_t *wanted_by_cpu; /* hits that cause work; NULL: all */
};

/*
 * Chooses probes to detach: on each CPU that has paid more than most_ns, the costliest first, until
 * the rest fits. Sets is_cut and changes the order. Returns how many are cut.
 */
size_t budget_judge(double most_ns, struct budget_rate *rates, size_t nr, uint32_t nr_cpus);

/*
 * Sets `bits` of the probes that are not cut, so that only one hit in 1 << bits does its work. A
 * hit may cause work_ns of work. The costliest probes are thinned out first, until hits and work
 * together cost at most most_ns on each CPU. `bits` is at most BUDGET_MOST_BITS, so the total may
 * remain above most_ns.
 */
#define BUDGET_MOST_BITS 12
void budget_thin(double most_ns, double work_ns, struct budget_rate *rates, size_t nr,
		 uint32_t nr_cpus);

/* --- windows ---------------------------------------------------------------------------------- */

struct hit_watch {
	const struct hits *hits;
	double work_ns; /* per hit that is not thinned out, in addition to hit_ns */
	double *hit_ns; /* by probe number; 0: not watched */
	uint8_t *bits;	/* by probe number: current thinning */
	/*
	 * Counts at the window's beginning, at number * nr_cpus + cpu: all hits; hits that passed
	 * the filter.
	 */
	uint64_t *before, *wanted_before;
	uint64_t began_ns;
	uint64_t *since_ns;	   /* by probe number: when added, possibly after began_ns */
	struct budget_rate *rates; /* room for all probes */
};

/* hits must outlive the watch. Returns 0 or -ENOMEM; call hit_watch_clear() in both cases. */
int hit_watch_init(struct hit_watch *watch, const struct hits *hits, double work_ns);
void hit_watch_clear(struct hit_watch *watch);

/*
 * Start or stop watching a probe. Only hits of watched probes are costed, from hit_watch_add() on.
 */
void hit_watch_add(struct hit_watch *watch, uint32_t number, double hit_ns, uint64_t now_ns);
void hit_watch_remove(struct hit_watch *watch, uint32_t number);

/* Begins a new window. */
void hit_watch_begin(struct hit_watch *watch, uint64_t now_ns);

/* Returns the cost of the window on the CPU that paid most. */
double hit_watch_cost_ns(const struct hit_watch *watch);

/*
 * Judges the probes that were hit since the window began (see budget_judge(), budget_thin()); a new
 * window must be begun afterwards. Returns how many are cut. *ret_rates: *ret_nr verdicts, valid
 * until the next call.
 */
size_t hit_watch_judge(struct hit_watch *watch, double most_ns,
		       const struct budget_rate **ret_rates, size_t *ret_nr);

/*
 * Returns the hits per second of a judged probe, over the part of the window in which it was
 * watched.
 */
double hit_watch_rate(const struct hit_watch *watch, const struct budget_rate *rate,
		      uint64_t now_ns);

/* --- the cost of a hit ------------------------------------------------------------------------ */

struct hit_cost {
	double user_ns[2][2];		     /* [is single-stepped][is return] */
	bool is_measured[2];		     /* [is return]; false: user_ns is a constant */
	double kernel_ns[NR_PROBE_HOOKS][2]; /* [hook][is return] */
};

/*
 * Measures the cost of hits of user code; costs that cannot be measured are constants, so it never
 * fails. The trial uses probe numbers outside the list, so nothing is counted. Stacks and records
 * cost extra (probing_options.work_ns). Takes 10 to 30 ms, and a grace period.
 */
void hit_cost_measure(struct hit_cost *ret, const struct probe_links_options *options);

/* Returns the cost of a hit of this probe. Reads its first instruction from the file. */
double hit_cost_of(const struct hit_cost *cost, const struct probe_list *list, uint32_t number,
		   const struct probe_features *features);

#endif
