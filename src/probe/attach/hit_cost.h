/*
 * What a hit of a probe costs on this machine, up to where a program finds out whether the hit is
 * wanted. For user code it is measured: the programs are attached to two functions of our own, which
 * are called some hundred times. That takes the trap and the program's beginning, no more, since
 * these hits count for nothing; a stack that is walked or a record that is written comes on top
 * (probing_options.work_ns).
 *
 * One function begins with an instruction that the kernel does itself, the other with one that it
 * has to step over (elf/image/uprobe_code.h): 0.7 against 9 to 14 µs in a virtual machine where the
 * stepping's trap leads to the hypervisor. For the kernel's own functions and tracepoints, which cost
 * a tenth of the cheaper one, it is taken as known.
 */
#ifndef STOOK_PROBE_ATTACH_HIT_COST_H
#define STOOK_PROBE_ATTACH_HIT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/probe_links.h"

struct hit_cost {
	double user_ns[2][2];		     /* [is it stepped][is it a return] */
	bool is_measured[2];		     /* [is it a return]; else user_ns is taken as known */
	double kernel_ns[NR_PROBE_HOOKS][2]; /* [hook][is it a return] */
};

/*
 * Never fails: what can't be measured is taken as known, too. The programs see numbers that no
 * probe of the list has, and count nothing. Takes 10 to 30 ms, and a grace period.
 */
void hit_cost_measure(struct hit_cost *ret, const struct probe_links_options *options);

/* A hit of this probe, one of the list; reads its first instruction. */
double hit_cost_of(const struct hit_cost *cost, const struct probe_list *list, uint32_t number,
		   const struct probe_features *features);

#endif
