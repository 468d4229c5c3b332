/*
 * Where every sample went. The kernel's counters of each epoch are held against what arrived; both
 * must agree exactly. Beside that stands an estimate, called so, of ticks that never came, for which
 * the time in which the CPUs could not be sampled is subtracted.
 */
#ifndef STOOK_COLLECT_ACCOUNTING_H
#define STOOK_COLLECT_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/wire.h"

struct accounting {
	struct wire_counters sum; /* of all epochs that are over */
	uint64_t nr_epochs;
	uint64_t nr_violations; /* epochs in which the law did not hold: always 0 */
};

/* An epoch is over; these are its counters. */
void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters);

uint64_t accounting_lost(const struct accounting *accounting);

/* entries = idle + own + filtered + recorded + counted + thinned + lost */
bool accounting_holds(const struct wire_counters *counters);

/*
 * Ticks that the program never saw: the event counted `events` on busy CPUs (nanoseconds, for a
 * clock), and each entry stood for its period of them; what is not covered is missing. 0 when
 * nothing is missing or nothing was seen.
 */
uint64_t accounting_unseen(const struct accounting *accounting, uint64_t events);

/* How many samples so many events (nanoseconds, for a clock) stand for; 0 when nothing was seen. */
uint64_t accounting_samples_of(const struct accounting *accounting, uint64_t events);

/*
 * When the sampled CPUs could not be sampled: while they idled, while a hypervisor ran something
 * else, while the kernel throttled the event. The samples expected of a run are fewer by that time.
 */
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
