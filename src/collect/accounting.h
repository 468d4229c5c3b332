/*
 * Where every sample went. The kernel's counters of each epoch are held against what arrived; both
 * must agree exactly. Beside that stands an estimate, called so, of ticks that never came.
 */
#ifndef STOOK_COLLECT_ACCOUNTING_H
#define STOOK_COLLECT_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"

struct accounting {
	struct wire_counters sum; /* of all epochs that are over */
	uint64_t nr_epochs;
	uint64_t nr_violations; /* epochs in which the law did not hold: always 0 */
};

/* An epoch is over; these are its counters. */
void accounting_close_epoch(struct accounting *accounting, const struct wire_counters *counters);

uint64_t accounting_lost(const struct accounting *accounting);

/* entries = idle + filtered + recorded + counted + lost */
bool accounting_holds(const struct wire_counters *counters);

/*
 * Ticks that the program never saw: the event counted `events` on busy CPUs (nanoseconds, for a
 * clock), and each entry stood for its period of them; what is not covered is missing. 0 when
 * nothing is missing or nothing was seen.
 */
uint64_t accounting_unseen(const struct accounting *accounting, uint64_t events);

/* How many samples so many events (nanoseconds, for a clock) stand for; 0 when nothing was seen. */
uint64_t accounting_samples_of(const struct accounting *accounting, uint64_t events);

#endif
