/*
 * When the sampled CPUs could not be sampled: while they idled, while a hypervisor ran something
 * else, while the kernel throttled the event. What is expected of a run is less by that.
 */
#ifndef STOOK_COLLECT_ABSENCE_H
#define STOOK_COLLECT_ABSENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct absence {
	const uint32_t *cpus;
	size_t nr_cpus;
	struct u64_map throttled_since; /* event id → time */
	/* All summed over the CPUs; good after the end. */
	uint64_t idle_ns;
	uint64_t nr_idle;
	uint64_t stolen_ns;
	uint64_t throttled_ns;
};

/* The run begins; cpus stays the caller's and must outlive this. */
void absence_begin(struct absence *absence, const uint32_t *cpus, size_t nr_cpus);

/* The kernel stopped the sampling event with this id, or let it go on. 0 or -ENOMEM. */
int absence_throttle(struct absence *absence, uint64_t id, uint64_t time_ns);
void absence_unthrottle(struct absence *absence, uint64_t id, uint64_t time_ns);

/* The run is over: takes the differences. */
void absence_end(struct absence *absence, uint64_t now_ns);

/* By how much idle and stolen time may be wrong together. */
uint64_t absence_error_ns(const struct absence *absence);

void absence_clear(struct absence *absence);

#endif
