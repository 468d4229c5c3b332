/*
 * What takes the samples of a session: the BPF programs, configured and loaded, with the maps between
 * them and us (the only file that sees the skeleton), and the perf events that the programs run on.
 */
#ifndef STOOK_COLLECT_SAMPLER_H
#define STOOK_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/tally_wire.h"
#include "bpf/wire.h"
#include "collect/epochs.h"
#include "collect/sideband.h"
#include "collect/unwind/unwind_pool.h"
#include "event/event.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

struct sampler_config {
	bool include_idle;
	bool by_tid, by_cpu, by_cgroup;
	uint32_t max_user_frames, max_kernel_frames; /* 0: no such stack */
	uint32_t max_walk_frames;		     /* of our own walk by tables; 0: none */
	struct wanted_tasks tasks;
	size_t ring_bytes; /* a power of two, at least a page */
	size_t max_counts; /* different stacks in an epoch that are counted rather than sent */
	/* Stacks that lead to these probes rather than samples; NULL: samples. */
	const struct probe_list *probes;
	const struct probe_features *features;
	const struct tally_fetch *weights; /* of each probe's hits; NULL: they have none */
	bool may_thin;			   /* sampler_thin() may be called */
	uint32_t
		every; /* from the beginning: with may_thin one hit in so many of each probe is taken */
};

struct sampler;

/* Loaded and attached to forks and exits if asked to follow; NULL on failure. */
struct sampler *sampler_load(const struct sampler_config *config, struct error *error);
void sampler_free(struct sampler *sampler);

int sampler_program_fd(const struct sampler *sampler);
/* Only with probes. */
const struct probe_programs *sampler_programs(const struct sampler *sampler);
const struct hits *sampler_hits(const struct sampler *sampler);

/*
 * From now on one hit in so many of this probe has its stack taken, and stands for them all. Then
 * records and counts have weights, which all others have as 1.
 */
void sampler_thin(const struct sampler *sampler, uint32_t number, uint32_t one_of);

int sampler_ring_fd(const struct sampler *sampler);
void sampler_pool_fds(const struct sampler *sampler, struct unwind_pool_fds *ret);

/* From now on these are wanted: those of the configuration. 0 or a negative errno. */
int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks, struct error *error);

/*
 * Its epochs: of struct wire_counters, and of counts by the ids of records. Without weights and thinning a
 * count's value is the first field of struct wire_count alone.
 */
/* is_expected: the ring is read within milliseconds anyhow, and raw records need not wake us. */
void sampler_expect_raw(struct sampler *sampler, bool is_expected);

struct epochs *sampler_epochs(struct sampler *sampler);

struct sampler_cost {
	uint64_t runs, run_ns; /* of the sampling program; 0 unless kernel statistics are on */
	uint64_t nr_not_followed;
	uint64_t nr_unweighed; /* hits whose weight could not be read */
	uint64_t map_bytes;    /* kernel memory of the maps */
};

void sampler_read_cost(const struct sampler *sampler, struct sampler_cost *ret);

/* --- the events ------------------------------------------------------------------------------- */

/* The perf events that samples are taken on, one a CPU, and how much room their samples need. */
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
