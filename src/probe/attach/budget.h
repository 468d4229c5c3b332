/*
 * How much probes may cost, and which are too hot for that. Pure: rates in, verdicts out.
 *
 * The share is of each CPU's time: a server with one thread is slowed down by what lands on its CPU,
 * however many others idle. So no CPU pays more, and neither does the machine.
 */
#ifndef STOOK_PROBE_ATTACH_BUDGET_H
#define STOOK_PROBE_ATTACH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The costs are those of user code, as measured here; 0: not measured, or no such probes. */
struct budget {
	double share;  /* 0.05: five percent */
	double hit_ns; /* of a call, where the kernel does the function's first instruction itself */
	double stepped_ns; /* … where it steps over it (elf/image/uprobe_code.h) */
	double return_ns;  /* of a return, at the best */
};

/* Hits of one probe in the time that is judged, by CPU. */
struct budget_rate {
	uint32_t number;
	bool is_cut; /* the verdict */
	double hit_ns;
	const uint64_t *by_cpu;
};

/*
 * Chooses which of these to detach: on each CPU that has paid more than most_ns the costliest first,
 * until what is left fits. Sets is_cut and changes the order. Returns how many are cut.
 */
size_t budget_judge(double most_ns, struct budget_rate *rates, size_t nr, uint32_t nr_cpus);

#endif
