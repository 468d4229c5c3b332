/*
 * A session samples from start to stop. It owns the events, the BPF side, the processes and files,
 * and fills a profile. Not thread-safe: one thread owns it. What it collected can be taken to another one.
 *
 *	session_new()      loads and opens everything, from then on at high priority, unless that is to be kept;
 *			   nothing is sampled yet
 *	session_start()
 *	session_wait()     drains while waiting; call repeatedly
 *	session_flush()    brings the profile up to date, at each interval
 *	session_take_part() … and takes it away, to be named and written
 *	session_stop()     adds the last samples to the profile
 *	session_free()
 */
#ifndef STOOK_COLLECT_SESSION_H
#define STOOK_COLLECT_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/matcher.h"
#include "collect/accounting.h"
#include "collect/part.h"
#include "collect/sampler.h"
#include "collect/unwind/unwinder.h"
#include "collect/walk_budget.h"
#include "event/event.h"
#include "kernel/cpus.h"
#include "kernel/follow.h"
#include "probe/attach/probing.h"
#include "profile/profile.h"

/* How a probe is called in the profile. */
struct session_probe_name {
	char *text;
	bool is_leaf; /* stacks get a leaf frame with this name; else they end in the probed function */
};

struct session_probes {
	const struct probe_list *list;
	const struct probe_features *features;
	int32_t link_pid;    /* see probe_links.h */
	double budget_share; /* see probing.h */
	uint32_t every;	     /* record one hit in `every`, with that weight; 0: each */
	const struct session_probe_name *names; /* by probe */
	/* By probe: the value to sum up instead of counting hits. NULL: count hits. */
	const struct tally_fetch *weights;
};

struct session_options {
	const struct sampled_event *events; /* outlive the session */
	size_t nr_events;
	bool by_period; /* the profile has the sums of the events' periods, a value for each; else it counts samples */
	/* Instead of events: collect the stacks of probe hits. */
	const struct session_probes *probes;
	/* Follow the threads that are off their CPU. With a clock as the only event, samples are nanoseconds, too. */
	const struct sampler_waits *waits;
	/*
	 * With by_period and one event: counted beside it. The profile's second value is its sum, see bpf/ratio.bpf.c.
	 */
	const struct event *numerator;
	const uint32_t *cpus; /* to sample; NULL: all, also those that come online later */
	size_t nr_cpus;
	const struct cpus *online; /* at the start; processes are followed on each CPU */

	struct wanted_tasks tasks;
	const char *command;		 /* program about to be executed; NULL: none */
	const struct name_filter *names; /* of threads: others are left out; NULL: all */

	unsigned labels;       /* enum label bits */
	unsigned spare_labels; /* labels to drop when memory runs out */
	uint64_t slice_ns;     /* length of a time slice; 0: no slices */
	bool include_idle;
	uint32_t max_user_frames, max_kernel_frames;
	bool by_tables;		  /* walk user stacks by unwind tables, else by frame pointers */
	size_t max_table_bytes;	  /* limit on memory for unwind tables and published mappings */
	const char *table_folder; /* unwind table cache; NULL: no cache */

	size_t ring_bytes, max_counts; /* 0: chosen by rate and CPUs */
	/*
	 * Limit on memory for rings, count maps, waiting threads and process events, each of which has a least size that goes
	 * first; 0: none. As much again may wait for the mappings of processes (DRAIN_HELD_MAX_BYTES, if that is less).
	 */
	size_t max_buffer_bytes;
	size_t max_profile_bytes;
	/* Names of kernel code, as they are shown; .name NULL: they are not asked for while it is there. */
	struct kernel_code_names kernel_names;
	/* session_thin() may be called, and session_read_cost(). Only for one clock, by_period or with waits. */
	bool is_governed;
	/* Ours is not raised, nor the opener's, and parsers have the lowest; process events are read less often. */
	bool keeps_priority;
	struct table_pace table_pace; /* .most_ns 0: the default */
	struct worker_memory memory;  /* of the helper processes; zeros: no limit */
	bool names_processes;	      /* parts have what their processes were called */
	/* Numbers to begin with, those after the last of an earlier session: its parts may still be named. */
	uint32_t first_file, first_runtime;
	bool bpf_statistics; /* enable BPF run-time statistics; costs some 50 ns per sample */
};

/* The results of a session besides its profile; complete after session_stop(). */
struct session_summary {
	struct accounting accounting;
	bool complete;		/* the last epoch was read too; only then must all numbers agree */
	uint64_t shown, hidden; /* samples in the profile; samples filtered out by thread name */
	uint64_t nr_ticks;	/* samples that the kernel took of the event, without idle ones */
	uint64_t unseen;	/* estimated number of ticks skipped by the kernel */
	uint64_t unseen_error;	/* possible error of the estimate */
	uint64_t sampling_cpu_ns;  /* our own CPU time from start to stop */
	uint64_t sampled_ns;	   /* from start to stop */
	uint64_t longest_stall_ns; /* the longest in which the rings should have been read */
	uint64_t longest_turn_ns;  /* the longest that the kernel took to end an epoch */
	uint64_t first_sample_ns;  /* time of the first sample; 0: none */
	uint64_t throttled_ns;	   /* summed over the CPUs */
	uint64_t stolen_ns;	   /* steal time, summed over the CPUs */
	/* CPUs that were offline at times: their number, one of them, and their time without samples. */
	size_t nr_cpus_short;
	uint32_t short_cpu;
	uint64_t short_ns;
	const char *
		unwatched; /* why a CPU could not be watched after it came online; NULL: all were */
	/* Per event: the samples and periods that the kernel took, idle ones too, and what its counters did. */
	struct session_event {
		struct wire_event taken;
		uint64_t occurrences; /* on all CPUs; scaled up for time when not running */
		uint64_t unseen;      /* estimated number of ticks skipped by the kernel */
		double running_share; /* of the time; below 1 when counters are multiplexed */
		/* CPUs on which it never had a counter: their number, one of them, the time without samples. */
		size_t nr_cpus_uncounted;
		uint32_t uncounted_cpu;
		uint64_t uncounted_ns;
	} events[WIRE_MAX_EVENTS];
	uint64_t nr_process_events; /* sideband events: forks, execs, exits, mappings */
	uint64_t nr_lost_events;    /* sideband events dropped: ring full */
	uint64_t nr_forgotten;	    /* see process_table_nr_forgotten() */
	uint64_t nr_mismatches;	    /* counted by the kernel but not received, or vice versa */
	/* Effects of the budget of probes. */
	struct budget_result {
		double share;
		size_t nr_thinned, nr_cut;
		uint64_t thinned_ns, cut_ns; /* time from the start to the first of each */
		uint32_t one_of; /* strongest thinning: one hit in one_of was recorded */
	} budget;
	uint64_t ring_bytes;
	size_t nr_files, nr_paths_cut, nr_processes;
	uint64_t nr_mappings_refused; /* of files beyond FILE_TABLE_MAX */
	/* Frames of JIT-compiled code of processes beyond RUNTIME_TABLE_MAX. */
	uint64_t nr_runtimes_refused;
	uint64_t nr_runtimes_unheld; /* such processes beyond RUNTIME_TABLE_HOLDERS */
	/* See process_table_nr_left_out(), process_table_nr_postponed(), struct drain_totals. */
	uint64_t nr_mappings_left_out, nr_refreshes_postponed, nr_unsliced, nr_unawaited;
	size_t nr_processes_refused; /* mappings not readable: permission denied */
	size_t nr_processes_silent;  /* likewise: not read in time */
	size_t max_roots;	     /* file_table_max_roots() */
	/* Files with samples: not found; permission denied; in a root beyond max_roots; no answer. */
	size_t nr_files_gone, nr_files_refused, nr_files_left_out, nr_files_silent;
	size_t profile_bytes;
	/* Off-CPU time; see struct waits. */
	struct session_time {
		uint64_t shown_ns, hidden_ns;
		uint64_t sampled_ns;	 /* of these: threads that ran, by samples */
		uint64_t sample_ns;	 /* each of which counts as this time */
		uint64_t open_ns;	 /* of shown and hidden: waits that had not ended, … */
		uint64_t nr_open;	 /* … of which there were so many */
		uint64_t open_passed_ns; /* not shown: of others, of another length */
		uint64_t lost_ns;    /* of waits whose stack or end is lost: what is not shown */
		uint64_t unended_ns; /* of shown and hidden: waits whose end was not seen */
		/* Under a budget, of these: waits that were not walked. */
		uint64_t divided_ns, undivided_ns; /* among stacks; without one */
		uint64_t split_error_ns;	   /* see split_error_ns() */
	} time;
	struct walk_budget_result walks; /* off-CPU time under a budget */
	struct sampler_cost cost;
	struct unwinder_cost unwinding; /* zeros without unwind tables */
	struct worker_troubles reading; /* failures of the helper processes that read files */
};

#define SESSION_MAX_CALLER_FDS 1024

struct session;

struct session *session_new(const struct session_options *options, struct error *error);
void session_free(struct session *session);

int session_start(struct session *session, struct error *error);

/*
 * Samples until the deadline (CLOCK_MONOTONIC) or until one of the caller's descriptors is ready
 * (see their revents). Polls at least once, even if the deadline has passed. At most SESSION_MAX_CALLER_FDS
 * descriptors. Returns 0 or a negative errno.
 */
int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error);

int session_flush(struct session *session, struct error *error);
int session_stop(struct session *session, struct error *error);

/* From now on one sample in `one_of` is taken, with the weight of all of them. Requires is_governed. */
void session_thin(struct session *session, uint32_t one_of);

/* Time spent since the start. Requires is_governed. */
struct session_cost {
	uint64_t sample_ns, switch_ns; /* in the programs, as measured by them */
	uint64_t record_ns;	       /* CPU time of the caller, for the records of samples */
};

void session_read_cost(const struct session *session, struct session_cost *ret);

/* Changes options.table_pace. */
void session_pace_tables(struct session *session, const struct table_pace *pace);

/* Owned by the session. */
struct profile *session_profile(struct session *session);

/*
 * Takes what was collected since the last call. Call it after session_flush() or session_stop(). 0 or a negative
 * errno.
 */
int session_take_part(struct session *session, struct session_part *ret, struct error *error);
struct file_table *session_files(struct session *session);
struct runtime_table *session_runtimes(struct session *session);

/* The state of the probes; NULL without probes. */
const struct probing *session_probing(const struct session *session);

/* Returns why unwind tables cannot be cached in table_folder; NULL: they can, or none was given. */
const struct error *session_table_cache_error(const struct session *session);

/* Kills the helper processes that read files, so that their cost can be reported. */
void session_end_reading(struct session *session);

/* Returns the niceness before session_new(), for what is done beside the session. */
int session_niceness(const struct session *session);

/* Returns the helper processes, which may be taken over after session_stop(). */
struct worker *session_worker(const struct session *session);

void session_summarize(const struct session *session, struct session_summary *ret);

/* Returns the number of samples so far, for a progress line: one call into the kernel. */
uint64_t session_progress(const struct session *session);

#endif
