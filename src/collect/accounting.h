/*
 * Accounts for every sample. The kernel's counters of each epoch are compared with the records and
 * counts that arrived; both must agree exactly. In addition, the number of ticks for which the
 * program never ran is estimated (and reported as an estimate); time in which the CPUs could not be
 * sampled is subtracted first.
 */
#ifndef STOOK_COLLECT_ACCOUNTING_H
#define STOOK_COLLECT_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/wire.h"
#include "proc/process_info.h"

struct accounting {
	struct wire_counters sum; /* of all epochs that have ended */
	uint64_t nr_epochs;
	uint64_t nr_violations; /* epochs whose sum did not hold; always 0 */
};

/* Adds another one's. */
void accounting_add(struct accounting *accounting, const struct accounting *other);

/* Adds the counters of an epoch that has ended. */
void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters);

uint64_t accounting_lost(const struct accounting *accounting);

/* True if both sums of bpf/wire.h hold: that of samples, and that of nanoseconds off the CPU. */
bool accounting_holds(const struct wire_counters *counters);

/*
 * Estimates the ticks that the program never saw. The event occurred that often on busy CPUs
 * (nanoseconds for a clock); each program run covers one period. Returns the rest in samples; 0 if
 * nothing is missing or nothing was sampled.
 */
uint64_t accounting_unseen(const struct wire_event *event, uint64_t occurrences);

/*
 * Converts occurrences (nanoseconds for a clock) to samples, at the rate seen so far; 0 if nothing was
 * sampled.
 */
uint64_t accounting_samples_of(const struct wire_event *event, uint64_t occurrences);

/*
 * Time in which the CPUs could not be sampled: idle, steal time, and throttling by the kernel. It
 * reduces the number of samples to expect.
 */
struct absence {
	struct absent_cpu {
		uint32_t cpu;
		struct cpu_absence before; /* since boot, when it was last begun */
	} * cpus;
	size_t nr_cpus, cap_cpus;
	struct u64_map throttled_since; /* event id → time */
	/* Sums over the CPUs; valid after absence_end(). */
	uint64_t idle_ns;
	uint64_t nr_idle;
	uint64_t stolen_ns;
	uint64_t throttled_ns;
};

/*
 * Call for all CPUs at the start of a run, and again for those that have come back: how long they were idle before they
 * went offline is unknown. Returns 0 or -ENOMEM.
 */
int absence_begin(struct absence *absence, const uint32_t *cpus, size_t nr_cpus);

/*
 * Record that the kernel throttled or unthrottled the sampling event with this id. Returns 0 or
 * -ENOMEM.
 */
int absence_throttle(struct absence *absence, uint64_t id, uint64_t time_ns);
void absence_unthrottle(struct absence *absence, uint64_t id, uint64_t time_ns);

/* Call at the end of a run: sums up. */
void absence_end(struct absence *absence, uint64_t now_ns);

/* Returns the possible error of idle time and steal time together. */
uint64_t absence_error_ns(const struct absence *absence);

void absence_clear(struct absence *absence);

#endif
