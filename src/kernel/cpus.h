/*
 * The kernel's lists of CPUs. Numbers can have gaps, so two sizes must be distinguished: a per-CPU map has a value
 * for each possible CPU, in the order of their numbers; an array that is indexed by CPU number needs room for the
 * highest one.
 */
#ifndef STOOK_KERNEL_CPUS_H
#define STOOK_KERNEL_CPUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cpus {
	uint32_t *numbers; /* ascending; at least one */
	size_t nr;
	uint32_t end; /* one more than the highest number */
};

/* Parses a list like "0-3,8-11". Returns 0 or a negative errno. */
int cpus_parse(struct cpus *cpus, const char *text);

/* Reads /sys/devices/system/cpu/WHICH: "possible", "online". Returns 0 or a negative errno. */
int cpus_read(struct cpus *cpus, const char *which, struct error *error);

/* Returns 0, or -ENODEV with the first of the numbers that is not among the CPUs that are online. */
int cpus_check(const struct cpus *online, const uint32_t *numbers, size_t nr, struct error *error);

/* Where a CPU is; numbers that the kernel does not tell are 0. */
struct cpu_place {
	uint64_t socket, die, core;
};

void cpu_place_read(uint32_t cpu, struct cpu_place *ret);

/* Accepts a zero-initialised struct. */
void cpus_clear(struct cpus *cpus);

#endif
