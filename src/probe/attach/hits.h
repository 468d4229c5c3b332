/*
 * The counters of probes, read straight from the memory that the kernel side adds to: no system
 * call, no clearing, so nothing is lost between two readings.
 */
#ifndef STOOK_PROBE_ATTACH_HITS_H
#define STOOK_PROBE_ATTACH_HITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/probe_wire.h"

struct hits {
	const volatile struct wire_hits *per_cpu; /* of all CPUs, stride apart */
	size_t bytes, stride, nr_probes;
	uint32_t nr_cpus;
};

/* How far apart the CPUs' counters are. */
size_t hits_stride(size_t nr_probes);

/* Maps the counters of a loaded map. 0 or a negative errno. */
int hits_open(struct hits *hits, int map_fd, size_t nr_probes, uint32_t nr_cpus,
	      struct error *error);
void hits_close(struct hits *hits);

/* Of one probe, on all CPUs. */
struct wire_hits hits_of_probe(const struct hits *hits, uint32_t number);

/* All that one CPU has had of it, wanted or not: what it cost there. */
uint64_t hits_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu);

#endif
