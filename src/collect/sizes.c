/*
 * Sizes by the rate of samples. The ring must take what comes between two polls, also when every
 * stack is a new one and the poll comes late, or a raw one and the poll comes soon; the count map,
 * the different stacks of an epoch. Both only cost memory when they are too large; too small, the
 * ring loses samples, and an epoch ends early.
 */
#include "collect/sizes.h"

#include "bpf/wire.h"

#define RING_SECONDS	  0.5 /* of records at full rate, each … */
#define RING_RECORD_BYTES 512
#define RAW_SECONDS	  0.015 /* of raw ones, of which half the ring may be full */
#define RAW_RECORD_BYTES  (2 * (WIRE_MAX_RAW_WORDS * 8 + 512))
#define MIN_RING_BYTES	  (256UL << 10)
#define MAX_RING_BYTES	  (64UL << 20)

#define COUNT_SECONDS 4 /* of samples that are all different */
#define MIN_COUNTS    4096
#define MAX_COUNTS    131072

/* Samples a second on a CPU, of an event whose own rate is not known; of probes. */
#define UNKNOWN_RATE 10000
#define PROBES_RATE  4000

static double expected_rate(const struct event *event, const struct sampling_rate *rate)
{
	if (!event)
		return PROBES_RATE;
	if (rate->frequency)
		return (double)rate->frequency;
	return event_is_clock(event) ? 1e9 / (double)rate->period : UNKNOWN_RATE;
}

static size_t power_of_two_at_least(double wanted, size_t least, size_t most)
{
	size_t size = least;

	while ((double)size < wanted && size < most)
		size *= 2;
	return size;
}

void sizes_choose(const struct event *event, const struct sampling_rate *rate, size_t nr_cpus,
		  bool has_raw, size_t *ring_bytes, size_t *max_counts)
{
	double samples = expected_rate(event, rate) * (double)nr_cpus; /* a second */
	const size_t raw_bytes = RAW_RECORD_BYTES;
	double records = samples * RING_SECONDS * RING_RECORD_BYTES;
	double raw = has_raw ? samples * RAW_SECONDS * (double)raw_bytes : 0;

	if (!*ring_bytes)
		*ring_bytes = power_of_two_at_least(records > raw ? records : raw, MIN_RING_BYTES,
						    MAX_RING_BYTES);
	if (!*max_counts)
		*max_counts =
			power_of_two_at_least(samples * COUNT_SECONDS, MIN_COUNTS, MAX_COUNTS);
}
