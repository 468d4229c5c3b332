/*
 * Takes the samples of a session: the BPF programs, configured and loaded, with the maps that they
 * share with user space (the only file that includes the skeleton), and the perf events that the
 * programs are attached to.
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
	uint32_t max_user_frames, max_kernel_frames; /* 0: do not collect this stack */
	uint32_t max_walk_frames; /* of the walk by unwind tables; 0: no such walk */
	struct wanted_tasks tasks;
	size_t ring_bytes; /* a power of two, at least a page */
	size_t max_counts; /* capacity of a count map: distinct stacks per epoch */
	/* Collect the stacks of hits of these probes. NULL: sample an event. */
	const struct probe_list *probes;
	const struct probe_features *features;
	const struct tally_fetch *weights; /* per probe: the weight of a hit; NULL: none */
	bool may_thin;			   /* sampler_thin() may be called */
	uint32_t every; /* with may_thin: initially, record one hit in `every` of each probe */
};

struct sampler;

/*
 * Loads the programs and, if asked to follow, attaches to fork and exit. Returns NULL on failure.
 */
struct sampler *sampler_load(const struct sampler_config *config, struct error *error);
void sampler_free(struct sampler *sampler);

int sampler_program_fd(const struct sampler *sampler);
/* Only for a sampler with probes. */
const struct probe_programs *sampler_programs(const struct sampler *sampler);
const struct hits *sampler_hits(const struct sampler *sampler);

/*
 * From now on one hit in `one_of` of this probe is recorded, with the weight of all of them.
 * Requires may_thin, with which records and counts have weights (1 for hits that are not thinned).
 */
void sampler_thin(const struct sampler *sampler, uint32_t number, uint32_t one_of);

int sampler_ring_fd(const struct sampler *sampler);
void sampler_pool_fds(const struct sampler *sampler, struct unwind_pool_fds *ret);

/* Adds the pids and tids of the configuration to the filter. Returns 0 or a negative errno. */
int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks, struct error *error);

/*
 * is_expected: the ring is read within milliseconds anyway, so raw records do not wake user space.
 */
void sampler_expect_raw(struct sampler *sampler, bool is_expected);

/*
 * Returns the epochs: counters are struct wire_counters; counts are by record id. Without weights and
 * thinning, a count is only the first field of struct wire_count.
 */
struct epochs *sampler_epochs(struct sampler *sampler);

struct sampler_cost {
	uint64_t runs, run_ns; /* of the sampling program; 0 unless BPF statistics are enabled */
	uint64_t nr_not_followed;
	uint64_t nr_unweighed; /* hits whose weight could not be read */
	uint64_t map_bytes;    /* kernel memory of the maps */
};

void sampler_read_cost(const struct sampler *sampler, struct sampler_cost *ret);

/* --- the events ------------------------------------------------------------------------------- */

/* The perf events that are sampled, one per CPU. The rate also decides the size of the buffers. */
struct sampling_rate {
	uint64_t frequency; /* samples per second, or 0 */
	uint64_t period;    /* events per sample; used if frequency is 0 */
};

struct sampling;

/*
 * Opens the events without starting them. Returns NULL on failure. The sideband must have a ring
 * for each of the CPUs.
 */
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
	uint64_t events;     /* counted on all CPUs; scaled up for time when not running */
	uint64_t enabled_ns; /* summed over the CPUs */
	uint64_t running_ns; /* less than enabled_ns when counters are multiplexed */
};

void sampling_read(const struct sampling *sampling, struct sampling_reading *ret);

/*
 * Chooses the sizes of the ring buffer and of the count maps, where they are 0. event: NULL for
 * probes. has_raw: there may be raw records (bpf/wire.h).
 */
void sampling_choose_sizes(const struct event *event, const struct sampling_rate *rate,
			   size_t nr_cpus, bool has_raw, size_t *ring_bytes, size_t *max_counts);

#endif
