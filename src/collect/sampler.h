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
#include "kernel/cpus.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

/* An event that is sampled. The rate also decides the size of the buffers. */
struct sampling_rate {
	uint64_t frequency; /* samples per second, or 0 */
	uint64_t period;    /* events per sample; used if frequency is 0 */
};

struct sampled_event {
	struct event event;
	struct sampling_rate rate;
	uint32_t *cpus; /* the ones that have the event; NULL: all */
	size_t nr_cpus;
};

/* The waits of threads, instead of samples. */
struct sampler_waits {
	bool for_locks; /* those for locks: of one sampler for futexes, of another one for locks of the kernel */
	uint64_t min_ns, max_ns; /* other waits are not shown; max_ns 0: no limit */
	uint32_t states;	 /* bits by enum wire_state: all others are not shown */
	double budget_share; /* of each CPU's time: then not every switch is walked; 0: no budget */
	bool only_io; /* waits for I/O, as the kernel counts them, and the time in a queue after them */
	bool has_wakers; /* stacks of the ones who end waits, too */
	bool is_whole; /* with wakers: a wait gets all of its time when it ends, not some at the end of each epoch */
};

struct sampler_config {
	bool include_idle;
	bool by_tid, by_cpu, by_cgroup;
	uint32_t max_user_frames, max_kernel_frames; /* 0: do not collect this stack */
	uint32_t max_walk_frames; /* of the walk by unwind tables; 0: no such walk */
	size_t max_table_bytes;	  /* of the pool that it reads */
	struct wanted_tasks tasks;
	size_t ring_bytes;		   /* a power of two, at least a page */
	size_t max_counts;		   /* capacity of a count map: distinct stacks per epoch */
	size_t max_threads;		   /* likewise, with waits: threads off their CPU */
	const struct sampler_waits *waits; /* NULL: no off-CPU time */
	bool has_kernel_locks; /* waits->for_locks: this sampler is that of locks of the kernel */
	bool has_states;       /* samples are of running threads, beside a sampler of waits */
	/* The sampler whose unwind tables this one uses; NULL: it has its own. */
	const struct sampler *tables_of;
	/* Collect the stacks of hits of these probes. NULL: sample events. */
	const struct probe_list *probes;
	const struct probe_features *features;
	const struct tally_fetch *weights; /* per probe: the weight of a hit; NULL: none */
	bool may_thin;			   /* sampler_thin() may be called */
	/* Else: sample these events, which have numbers by their places here. */
	const struct sampled_event *events;
	size_t nr_events;
	bool by_period; /* a sample's weight is its period */
	bool has_ratio; /* with by_period, of one event: records have a numerator, see sampling_options */
	bool is_governed; /* with by_period: sampler_take_one_in() may be called, and counters have the time taken */
	uint32_t every; /* with may_thin: initially, record one hit in `every` of each probe */
};

struct sampler;

/*
 * Loads the programs and, if asked to follow, attaches to fork and exit. Returns NULL on failure.
 */
struct sampler *sampler_load(const struct sampler_config *config, struct error *error);
void sampler_free(struct sampler *sampler);

/* The program of samples of an event; of an event that is not sampled: -1. */
int sampler_program_fd(const struct sampler *sampler, size_t event);
/* With has_ratio: the map of the counters that its program reads. */
int sampler_counters_fd(const struct sampler *sampler);
/* Start, before the events, and stop measuring the spans of time of samples. Require has_ratio. */
int sampler_start_ratio(struct sampler *sampler, struct error *error);
void sampler_stop_ratio(struct sampler *sampler);
/* Only for a sampler with probes. */
const struct probe_programs *sampler_programs(const struct sampler *sampler);
const struct hits *sampler_hits(const struct sampler *sampler);

/*
 * From now on one hit in `one_of` of this probe is recorded, with the weight of all of them.
 * Requires may_thin, with which records and counts have weights (1 for hits that are not thinned).
 */
void sampler_thin(const struct sampler *sampler, uint32_t number, uint32_t one_of);

/* From now on one sample in `one_of` is taken, with the weight of all of them. Requires is_governed. */
void sampler_take_one_in(const struct sampler *sampler, uint32_t one_of);

/*
 * Iterates from *cpu on over the CPUs that went offline or came online since the last call: their perf events may be
 * gone. False: no more.
 */
bool sampler_next_changed_cpu(const struct sampler *sampler, uint32_t *cpu);

int sampler_ring_fd(const struct sampler *sampler);
void sampler_pool_fds(const struct sampler *sampler, struct unwind_pool_fds *ret);

/* Adds the pids and tids of the configuration to the filter. Returns 0 or a negative errno. */
int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks, struct error *error);

/* From now on threads with this name are left out. Without tasks.by_name, nothing happens. */
void sampler_refuse(struct sampler *sampler, const char *name);

/*
 * is_expected: the ring is read within milliseconds anyway, so raw records do not wake user space.
 */
void sampler_expect_raw(struct sampler *sampler, bool is_expected);

/*
 * Returns the epochs: counters are struct wire_counters; counts are by record id, or by struct wire_count_key with
 * wakers. Without weights and thinning, a count is only the first field of struct wire_count.
 */
struct epochs *sampler_epochs(struct sampler *sampler);

/* --- waits ------------------------------------------------------------------------------------ */

/*
 * For a sampler with waits: attach to the switches of threads, or the waits for locks of the kernel, which takes long on
 * some machines; begin to follow them; and stop. The time so far of the threads that are off their CPU is theirs from
 * start_ns on. Starting takes the kernel stacks of all of these threads. Waits for locks of the kernel that began before
 * are not seen.
 */
int sampler_attach_waits(struct sampler *sampler, struct error *error);
int sampler_start_waits(struct sampler *sampler, uint64_t start_ns, struct error *error);
void sampler_stop_waits(struct sampler *sampler);

/*
 * Calls add() for each wait that began in this epoch or an earlier one, and had not ended when it was read, until it
 * returns a negative number. Call it after epochs_turn(): entries of ended epochs are complete then. Returns 0 or a
 * negative errno, including add()'s.
 */
int sampler_read_waiting(const struct sampler *sampler, uint32_t epoch,
			 int (*add)(void *context, uint64_t task,
				    const struct wire_waiting *waiting),
			 void *context);

/* With waits: what the programs have cost, by CPU number; *ret_nr is one more than the highest. */
const volatile struct wire_cost *sampler_wait_costs(const struct sampler *sampler, size_t *ret_nr);

/* Under a budget: from now on walks once in each_ns of waiting, about; 0: at each switch. */
void sampler_walk_each(const struct sampler *sampler, uint64_t each_ns);

/* Returns when the current epoch began: all its waits end later, and are cut there. */
uint64_t sampler_epoch_began_ns(const struct sampler *sampler);

struct sampler_cost {
	uint64_t runs, run_ns; /* of the sampling program; 0 unless BPF statistics are enabled */
	uint64_t nr_not_followed;
	uint64_t nr_names_replaced; /* refused names that lost their slots to others */
	uint64_t nr_unweighed;	    /* hits whose weight could not be read */
	uint64_t nr_unmeasured;	    /* samples whose numerator is not known */
	/* Waits for locks in interrupts of the program itself: the kernel does not run it twice. */
	uint64_t nr_nested;
	uint64_t map_bytes; /* kernel memory of the maps */
};

void sampler_add_cost(const struct sampler *sampler, struct sampler_cost *sum);

/* --- the events ------------------------------------------------------------------------------- */

struct sampling_options {
	const struct sampled_event *sampled;
	const uint32_t *cpus; /* those of the event, or else: NULL: all that are online */
	size_t nr_cpus;
	const struct sideband *sideband; /* has a ring for each of the CPUs */
	int program_fd;
	/* The event that is counted in the same group, and the map that the program reads both from; NULL: none. */
	const struct event *numerator;
	int counters_fd;
};

struct sampling;

/* Opens an event on its CPUs without starting it. Copies options. Returns NULL on failure. */
struct sampling *sampling_open(const struct sampling_options *options, const struct cpus *online,
			       struct error *error);
void sampling_close(struct sampling *sampling);

/*
 * Opens the event on a CPU for a moment, with a period that every PMU accepts. 0, or a negative errno: why it could
 * not be sampled.
 */
int sampling_try(const struct event *event, uint32_t cpu, struct error *error);

/*
 * Opens `cycles` on a CPU for a moment with records of the last branches. 0, or a negative errno: why programs get none
 * (bpf_read_branch_records()).
 */
int sampling_try_branches(uint32_t cpu, struct error *error);

int sampling_start(struct sampling *sampling, struct error *error);
void sampling_stop(struct sampling *sampling);

/*
 * Closes the event of a CPU that has gone offline, or may have been offline meanwhile. *ret_id: the event's id in
 * throttle records. Returns 0, or -ENOENT: the CPU had none.
 */
int sampling_leave(struct sampling *sampling, uint32_t cpu, uint64_t *ret_id);

/*
 * Opens and starts a new event on a CPU that is online. Returns 1, 0 if the CPU is not to be sampled, or a negative
 * errno; -ENODEV: it is offline again.
 */
int sampling_join(struct sampling *sampling, uint32_t cpu, struct error *error);

struct sampling_reading {
	uint64_t events;     /* counted on all CPUs; scaled up for time when not running */
	uint64_t enabled_ns; /* summed over the CPUs */
	uint64_t running_ns; /* less than enabled_ns when counters are multiplexed */
	uint64_t gone_ns;    /* part of enabled_ns: before CPUs went offline */
	/* CPUs that were offline at times: their number, one of them, and the time without samples. */
	size_t nr_short;
	uint32_t short_cpu;
	uint64_t short_ns;
	/* The same of CPUs on which the event never had a counter. */
	size_t nr_uncounted;
	uint32_t uncounted_cpu;
	uint64_t uncounted_ns;
};

/* Adds what was read on a CPU. was_away: the CPU was offline at times. */
void sampling_add_cpu(struct sampling_reading *sum, uint32_t cpu,
		      const struct sampling_reading *of_cpu, bool was_away, uint64_t sampled_ns);

void sampling_read(const struct sampling *sampling, uint64_t sampled_ns,
		   struct sampling_reading *ret);

struct sampling_needs {
	const struct sampled_event *events; /* NULL: probes, or waits */
	size_t nr_events;
	size_t nr_cpus;
	bool has_raw;	     /* there may be raw records (bpf/wire.h) */
	bool has_waits;	     /* counts have the times of waits */
	uint64_t nr_threads; /* that are followed, at present */
	size_t max_bytes;    /* for all that is chosen; 0: no limit */
};

struct sampling_sizes {
	size_t ring_bytes, max_counts; /* 0: to be chosen */
	size_t max_threads;	       /* that are off their CPU at the same time; always chosen */
};

/*
 * Chooses the sizes of the ring buffer, of the count maps and of the map of waiting threads. Under a limit, the largest
 * of them is halved until they fit, each down to a least size. Returns the bytes of all of them, about.
 */
size_t sampling_choose_sizes(const struct sampling_needs *needs, struct sampling_sizes *sizes);

#endif
