/*
 * Holds what a run without end costs within a budget, by the share of samples that are taken. Pure arithmetic over
 * readings of the cost.
 *
 * Only a part of the cost depends on the rate; the rest, such as reading the symbols of new programs, does not. So the
 * rate follows the cost in steps, down at once and up again later. If the cost stays far above the budget at the lowest
 * rate, sampling is not what can be saved on: then the run had better pause.
 */
#ifndef STOOK_AGENT_GOVERNOR_H
#define STOOK_AGENT_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

struct governor_limits {
	double budget; /* share of the time of all CPUs; 0: none */
	uint32_t most; /* of one_of: at the lowest rate, one sample in so many is taken */
	uint32_t nr_cpus;
};

/* Sums since the start. A sum that has fallen counts as unchanged. */
struct governor_reading {
	uint64_t now_ns;
	uint64_t own_ns; /* CPU time of our processes */
	uint64_t bpf_ns; /* time in BPF programs, which other processes pay */
};

struct governor {
	struct governor_limits limits;
	struct governor_reading last;
	uint32_t one_of;     /* one sample in so many is taken */
	double own, bpf;     /* shares of the time of all CPUs, in the last window */
	unsigned nr_cheap;   /* windows in a row that left much of the budget */
	unsigned nr_runaway; /* windows in a row far above it, at the lowest rate */
};

void governor_init(struct governor *governor, const struct governor_limits *limits,
		   const struct governor_reading *first);

/* The cost begins anew, as after a pause: one_of stays. */
void governor_resume(struct governor *governor, const struct governor_reading *first);

/* Ends a window: sets one_of. */
void governor_judge(struct governor *governor, const struct governor_reading *now);

/* True if the run should pause. */
bool governor_is_runaway(const struct governor *governor);

#endif
