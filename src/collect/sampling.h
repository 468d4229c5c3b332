/*
 * The perf events that samples are taken on, one a CPU: opened, given the BPF program, started,
 * stopped, read; and how much room their samples need.
 */
#ifndef STOOK_COLLECT_SAMPLING_H
#define STOOK_COLLECT_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/sideband.h"
#include "event/event.h"

struct sampling_rate {
	uint64_t frequency; /* samples a second, or 0 */
	uint64_t period;    /* events a sample; used when frequency is 0 */
};

struct sampling;

/* Opened but not started; NULL on failure. The sideband must have a ring for each of the CPUs. */
struct sampling *sampling_open(const struct event *event, const struct sampling_rate *rate,
			       const uint32_t *cpus, size_t nr_cpus,
			       const struct sideband *sideband, int program_fd,
			       struct error *error);
void sampling_close(struct sampling *sampling);

/* True if this CPU has a counter for the event. */
bool sampling_is_supported(const struct event *event, uint32_t cpu);

int sampling_start(struct sampling *sampling, struct error *error);
void sampling_stop(struct sampling *sampling);

struct sampling_reading {
	uint64_t events;     /* counted on all CPUs; scaled up for time it did not run */
	uint64_t enabled_ns; /* summed over the CPUs */
	uint64_t running_ns; /* less than enabled when counters are multiplexed */
};

void sampling_read(const struct sampling *sampling, struct sampling_reading *ret);

/*
 * The sizes of the ring buffer and of the count maps: fills in those of the two that are 0. event:
 * NULL for probes; has_raw: there may be raw records (bpf/wire.h).
 */
void sampling_choose_sizes(const struct event *event, const struct sampling_rate *rate,
			   size_t nr_cpus, bool has_raw, size_t *ring_bytes, size_t *max_counts);

#endif
