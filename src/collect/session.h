/*
 * A session samples from start to stop: it owns the events, the BPF side, the processes and files,
 * and fills a profile. One thread owns it.
 *
 *	session_new()      everything is loaded and opened; nothing is sampled yet
 *	session_start()
 *	session_wait()     drains while it waits; again and again
 *	session_flush()    brings the profile up to now: each interval
 *	session_stop()     the last sample is in the profile
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
	bool is_leaf; /* a frame of this name is the leaf of its stacks; else their leaf is what is probed */
};

struct session_probes {
	const struct probe_list *list;
	const struct probe_features *features;
	int32_t link_pid;    /* see probe_links.h */
	double budget_share; /* see probing.h */
	uint32_t every;	     /* one hit in so many is taken, and stands for them all; 0: each */
	const struct session_probe_name *names; /* by probe */
	/* By probe: sum up this number of each hit instead of counting hits. NULL: count hits. */
	const struct tally_fetch *weights;
};

struct session_options {
	const struct event *event;
	struct sampling_rate rate;
	/* Stacks that lead to probes rather than samples of an event. */
	const struct session_probes *probes; /* NULL: samples */
	const uint32_t *cpus;		     /* to sample */
	size_t nr_cpus;
	const uint32_t *online_cpus; /* all of them: processes are followed everywhere */
	size_t nr_online_cpus;

	struct wanted_tasks tasks;
	const char *command;	    /* that is about to be executed; NULL: none */
	const struct matcher *comm; /* only threads with such names; NULL: all */

	unsigned labels;       /* enum label bits */
	unsigned spare_labels; /* of these, the ones that are given up where memory runs out */
	uint64_t slice_ns; /* samples are told apart by slices of so much time; 0: they are not */
	bool include_idle;
	uint32_t max_user_frames, max_kernel_frames;
	bool by_tables;		  /* user stacks by unwind tables, else by frame pointers */
	size_t max_table_bytes;	  /* of tables and what else such walks need */
	const char *table_folder; /* where tables are kept; NULL: nowhere */

	size_t ring_bytes, max_counts; /* 0: chosen by rate and CPUs */
	size_t max_profile_bytes;
	bool bpf_statistics; /* let the kernel measure the program; costs some 50 ns a sample */
};

/* The result of a session besides its profile; complete after the stop. */
struct session_summary {
	struct accounting accounting;
	bool complete;		/* the last epoch was read too: only then must all numbers agree */
	uint64_t shown, hidden; /* samples in the profile, and those left out by name */
	uint64_t unseen;	/* the estimate of ticks that never came */
	uint64_t unseen_error;	/* what the estimate may be off by */
	uint64_t sampling_cpu_ns;   /* our own CPU time from start to stop */
	uint64_t sampled_ns;	    /* from start to stop */
	uint64_t first_sample_ns;   /* time of the first one; 0: none */
	uint64_t throttled_ns;	    /* summed over the CPUs */
	uint64_t stolen_ns;	    /* by the hypervisor; likewise */
	double running_share;	    /* of the time; below 1 when counters are multiplexed */
	uint64_t nr_process_events; /* sideband events: forks, execs, exits, mappings */
	uint64_t nr_lost_events;    /* … that found no room */
	uint64_t nr_forgotten;	    /* processes whose mappings were too many to keep */
	uint64_t nr_mismatches; /* records or counts that the counters tell of and we never saw */
	/* Effects of the budget of probes. */
	struct budget_result {
		double share;
		size_t nr_thinned, nr_cut;
		uint64_t thinned_ns, cut_ns; /* since the start, when it first did */
		uint32_t one_of;	     /* at the least one hit in so many was taken */
	} budget;
	uint64_t ring_bytes;
	size_t nr_files, nr_paths_cut, nr_processes;
	size_t nr_processes_refused; /* whose mappings are not ours to read */
	/* With samples: gone when looked for; not ours to read; of roots past ROOT_TABLE_MAX. */
	size_t nr_files_gone, nr_files_refused, nr_files_left_out;
	size_t profile_bytes;
	struct sampler_cost cost;
	struct unwinder_cost unwinding; /* zeros without tables */
};

#define SESSION_MAX_CALLER_FDS 1024

struct session;

struct session *session_new(const struct session_options *options, struct error *error);
void session_free(struct session *session);

int session_start(struct session *session, struct error *error);

/*
 * Samples until the deadline (CLOCK_MONOTONIC), or until one of the caller's descriptors is ready:
 * see their revents. At most SESSION_MAX_CALLER_FDS. 0 or a negative errno.
 */
int session_wait(struct session *session, uint64_t deadline_ns, struct pollfd *fds, size_t nr_fds,
		 struct error *error);

int session_flush(struct session *session, struct error *error);
int session_stop(struct session *session, struct error *error);

/* The session's own; samples may be taken out of it between flushes (profile_reset_samples). */
struct profile *session_profile(struct session *session);
struct file_table *session_files(struct session *session);
struct runtime_table *session_runtimes(struct session *session);

/* The probes that are attached, and that were cut; NULL without probes. */
const struct probing *session_probing(const struct session *session);

/* Why unwind tables are not kept in table_folder; NULL: they are, or there are none. */
const struct error *session_table_cache_error(const struct session *session);

void session_summarize(const struct session *session, struct session_summary *ret);

/* Samples taken so far, for a progress line: one call into the kernel. */
uint64_t session_progress(const struct session *session);

#endif
