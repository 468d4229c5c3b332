/*
 * A session samples from start to stop. It owns the events, the BPF side, the processes and files,
 * and fills a profile. Not thread-safe: one thread owns it. What it collected can be taken to another one.
 *
 *	session_new()      loads and opens everything; nothing is sampled yet
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
#include "collect/sampler.h"
#include "collect/unwind/unwinder.h"
#include "event/event.h"
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
	const struct event *event;
	struct sampling_rate rate;
	/* Collect the stacks of probe hits. NULL: sample the event. */
	const struct session_probes *probes;
	const uint32_t *cpus; /* to sample */
	size_t nr_cpus;
	const uint32_t *online_cpus; /* all online CPUs: processes are followed on each */
	size_t nr_online_cpus;

	struct wanted_tasks tasks;
	const char *command;	    /* program about to be executed; NULL: none */
	const struct matcher *comm; /* filter by thread name; NULL: all */

	unsigned labels;       /* enum label bits */
	unsigned spare_labels; /* labels to drop when memory runs out */
	uint64_t slice_ns;     /* length of a time slice; 0: no slices */
	bool include_idle;
	uint32_t max_user_frames, max_kernel_frames;
	bool by_tables;		  /* walk user stacks by unwind tables, else by frame pointers */
	size_t max_table_bytes;	  /* limit on memory for unwind tables and published mappings */
	const char *table_folder; /* unwind table cache; NULL: no cache */

	size_t ring_bytes, max_counts; /* 0: chosen by rate and CPUs */
	size_t max_profile_bytes;
	bool bpf_statistics; /* enable BPF run-time statistics; costs some 50 ns per sample */
};

/* The results of a session besides its profile; complete after session_stop(). */
struct session_summary {
	struct accounting accounting;
	bool complete;		/* the last epoch was read too; only then must all numbers agree */
	uint64_t shown, hidden; /* samples in the profile; samples filtered out by thread name */
	uint64_t unseen;	/* estimated number of ticks skipped by the kernel */
	uint64_t unseen_error;	/* possible error of the estimate */
	uint64_t sampling_cpu_ns; /* our own CPU time from start to stop */
	uint64_t sampled_ns;	  /* from start to stop */
	uint64_t first_sample_ns; /* time of the first sample; 0: none */
	uint64_t throttled_ns;	  /* summed over the CPUs */
	uint64_t stolen_ns;	  /* steal time, summed over the CPUs */
	double running_share; /* share of time with a running counter; below 1 when counters are multiplexed */
	uint64_t nr_process_events; /* sideband events: forks, execs, exits, mappings */
	uint64_t nr_lost_events;    /* sideband events dropped: ring full */
	uint64_t nr_forgotten;	    /* processes with too many mappings to keep */
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
	size_t nr_processes_refused; /* mappings not readable: permission denied */
	size_t nr_processes_silent;  /* likewise: not read in time */
	/* Files with samples: not found; permission denied; in a root beyond ROOT_TABLE_MAX; no answer. */
	size_t nr_files_gone, nr_files_refused, nr_files_left_out, nr_files_silent;
	size_t profile_bytes;
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
 * (see their revents). At most SESSION_MAX_CALLER_FDS descriptors. Returns 0 or a negative errno.
 */
int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error);

int session_flush(struct session *session, struct error *error);
int session_stop(struct session *session, struct error *error);

/* Owned by the session. */
struct profile *session_profile(struct session *session);

/*
 * The harvest since the last call, taken away from the session: samples without names, and copies of the
 * entries of files and processes that are needed to name them. Another thread may work on it while the session goes
 * on.
 */
struct session_part {
	struct profile *profile;
	struct file_table *files;
	struct runtime_table *runtimes;
	uint64_t ended_ns; /* when it was taken, CLOCK_REALTIME */
};

/* Call it after session_flush() or session_stop(). 0 or a negative errno. */
int session_take_part(struct session *session, struct session_part *ret, struct error *error);
void session_part_clear(struct session_part *part);
struct file_table *session_files(struct session *session);
struct runtime_table *session_runtimes(struct session *session);

/* The state of the probes; NULL without probes. */
const struct probing *session_probing(const struct session *session);

/* Returns why unwind tables cannot be cached in table_folder; NULL: they can, or none was given. */
const struct error *session_table_cache_error(const struct session *session);

/* Kills the helper processes that read files, so that their cost can be reported. */
void session_end_reading(struct session *session);

/* Returns the helper processes, which may be taken over after session_stop(). */
struct worker *session_worker(const struct session *session);

void session_summarize(const struct session *session, struct session_summary *ret);

/* Returns the number of samples so far, for a progress line: one call into the kernel. */
uint64_t session_progress(const struct session *session);

#endif
