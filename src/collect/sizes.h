/* How large the ring buffer and the count maps of a session are, by what is expected of it. */
#ifndef STOOK_COLLECT_SIZES_H
#define STOOK_COLLECT_SIZES_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/sampling.h"
#include "event/event.h"

/*
 * Fills in those of the two that are 0. event: NULL for probes; has_raw: there may be raw records
 * (bpf/wire.h).
 */
void sizes_choose(const struct event *event, const struct sampling_rate *rate, size_t nr_cpus,
		  bool has_raw, size_t *ring_bytes, size_t *max_counts);

#endif
