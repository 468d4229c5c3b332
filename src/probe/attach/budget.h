/*
 * The costs of probes, and which of them are too hot: what a hit costs on this machine, how much
 * each CPU has paid in a window of time, and the verdicts.
 *
 * The budget is a share of each CPU's time: a server with one thread is slowed down by the hits on
 * its CPU, however many others are idle. So no CPU pays more than the share, and neither does the
 * machine.
 */
#ifndef STOOK_PROBE_ATTACH_BUDGET_H
#define STOOK_PROBE_ATTACH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"

/* --- verdicts: pure --------------------------------------------------------------------------- */

/* The costs are those of user code, as measured here; 0: not measured, or no such probes. */
struct budget {
	double share;  /* 0.05: five percent */
	double hit_ns; /* of a call, where the kernel does the function's first instruction itself */
	double stepped_ns; /* … where it steps over it (elf/image/instructions.h) */
	double return_ns;  /* of a return, at the best */
};

/* Hits of one probe by CPU, in the window that is judged. */
struct budget_rate {
	uint32_t number;
	bool is_cut;  /* the verdict … */
	uint8_t bits; /* … and what thinning the rest takes: the work of one hit in 1 << bits */
	double hit_ns;
	const uint64_t *by_cpu;
	const uint64_t *wanted_by_cpu; /* of them, the ones that lead to work; NULL: all */
};

/*
 * Chooses which of these to detach: on each CPU that has paid more than most_ns the costliest
 * first, until what is left fits. Sets is_cut and changes the order. Returns how many are cut.
 */
size_t budget_judge(double most_ns, struct budget_rate *rates, size_t nr, uint32_t nr_cpus);

/*
 * Hits that are not cut may be followed by work of so many ns each, most of which can be left out: by how
 * much each probe's has to be thinned out, the costliest first, so that hits and work together fit on each
 * CPU. Sets bits, BUDGET_MOST_BITS at most, with which it may still be too much.
 */
#define BUDGET_MOST_BITS 12
void budget_thin(double most_ns, double work_ns, struct budget_rate *rates, size_t nr,
		 uint32_t nr_cpus);

/* --- windows ---------------------------------------------------------------------------------- */

struct hit_watch {
	const struct hits *hits;
	double work_ns; /* of hits that are not thinned out, beyond hit_ns */
	double *hit_ns; /* by number; 0: it is not watched */
	uint8_t *bits;	/* by number: how much it is thinned out */
	/* At the window's beginning, number * nr_cpus + cpu: all hits, and the ones that were wanted. */
	uint64_t *before, *wanted_before;
	uint64_t began_ns;
	uint64_t *since_ns; /* by number: when it was added, maybe later than the window began */
	struct budget_rate *rates; /* room for all probes */
};

/* hits must outlive it. 0 or -ENOMEM; to be cleared in each case. */
int hit_watch_init(struct hit_watch *watch, const struct hits *hits, double work_ns);
void hit_watch_clear(struct hit_watch *watch);

/* Only hits of watched probes cost anything; hits before hit_watch_add() are ignored. */
void hit_watch_add(struct hit_watch *watch, uint32_t number, double hit_ns, uint64_t now_ns);
void hit_watch_remove(struct hit_watch *watch, uint32_t number);

void hit_watch_begin(struct hit_watch *watch, uint64_t now_ns);

/* The cost of the window on the CPU that paid most. */
double hit_watch_cost_ns(const struct hit_watch *watch);

/*
 * Judges the probes that were hit since the window began (see budget_judge(), budget_thin()); the
 * window must begin anew after that. Returns how many are cut, and the *ret_nr verdicts, good until the next
 * call.
 */
size_t hit_watch_judge(struct hit_watch *watch, double most_ns,
		       const struct budget_rate **ret_rates, size_t *ret_nr);

/* Hits per second of a judged probe, over the part of the window in which it was watched. */
double hit_watch_rate(const struct hit_watch *watch, const struct budget_rate *rate,
		      uint64_t now_ns);

/* --- the cost of a hit ------------------------------------------------------------------------ */

struct hit_cost {
	double user_ns[2][2];		     /* [is it stepped][is it a return] */
	bool is_measured[2];		     /* [is it a return]; else user_ns is a constant */
	double kernel_ns[NR_PROBE_HOOKS][2]; /* [hook][is it a return] */
};

/*
 * Never fails: costs that can't be measured are constants. The programs see numbers that no probe
 * of the list has, and count nothing; a stack that is walked or a record that is written comes on
 * top (probing_options.work_ns). Takes 10 to 30 ms, and a grace period.
 */
void hit_cost_measure(struct hit_cost *ret, const struct probe_links_options *options);

/* The cost of a hit of this probe; reads its first instruction. */
double hit_cost_of(const struct hit_cost *cost, const struct probe_list *list, uint32_t number,
		   const struct probe_features *features);

#endif
