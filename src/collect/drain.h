/*
 * From streams to a profile: records of stacks, sideband events and counts go in, in the order in
 * which they were read; they are replayed in the order in which they happened.
 *
 * No system calls but the process table's, for maps and files: interleavings are tested without
 * a kernel.
 *
 *	drain_add_record(), drain_add_event()	as they are read, ring first, then sideband
 *	drain_meet()				then: looks at processes that are new to us
 *	drain_replay()				what happened before some time
 *	drain_add_count()			an entry of the count map of an epoch at rest
 *	drain_close_epoch()			all of an epoch: its records, then its counts
 */
#ifndef STOOK_COLLECT_DRAIN_H
#define STOOK_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/matcher.h"
#include "bpf/wire.h"
#include "collect/epochs.h"
#include "collect/unwind/unwinder.h"
#include "proc/file_table.h"
#include "proc/process_table.h"
#include "proc/runtime_table.h"
#include "profile/profile.h"

#define NO_PROBE_FRAME UINT32_MAX

struct drain_probe {
	uint32_t name;	/* string, for LABEL_PROBE */
	uint32_t frame; /* the leaf of all its stacks, or NO_PROBE_FRAME */
};

struct drain_options {
	unsigned labels;		  /* enum label bits: what samples are told apart by */
	const struct matcher *comm;	  /* only threads with such names; NULL: all */
	int cgroup_root_fd;		  /* for LABEL_CGROUP */
	bool by_weight;			  /* a sample's value is its weight, not 1 */
	const struct drain_probe *probes; /* by their numbers */
	size_t nr_probes;
	struct file_table *files;
	struct runtime_table *runtimes; /* of code made at run time; NULL: not told apart */
	struct process_table *processes;
	struct profile *profile;
	struct unwinder *unwinder;     /* for raw records; NULL: there are none */
	const struct slicing *slicing; /* NULL: samples are not told apart by time */
};

struct drain_totals {
	uint64_t records;     /* replayed */
	uint64_t counted;     /* sum of the counts that found their record */
	uint64_t hidden;      /* samples of threads whose names were not asked for */
	uint64_t events;      /* sideband events replayed */
	uint64_t bad_records; /* records whose lengths contradict each other */
	uint64_t first_ns;    /* time of the earliest sample; 0: none yet */
};

struct drain;

/* options is kept by value, what it points to by reference. NULL when out of memory. */
struct drain *drain_new(const struct drain_options *options);
void drain_free(struct drain *drain);

/* All of these: 0 or -ENOMEM. */
int drain_add_record(struct drain *drain, const struct wire_record *record, size_t bytes);
int drain_add_event(struct drain *drain, struct process_event *event, const char *path);
int drain_add_count(struct drain *drain, uint32_t epoch, uint64_t id,
		    const struct wire_count *count);
int drain_meet(struct drain *drain);
int drain_replay(struct drain *drain, uint64_t until_ns);

/*
 * Tries again to walk the raw records that had to wait for an unwind table. last: those that still
 * would have to wait are taken as they are.
 */
int drain_retry(struct drain *drain, bool last);

/*
 * Replays every event up to until_ns and every record of this epoch and older ones, then adds the
 * counts. A count whose record has not come yet, because a newer program holds the ring before
 * it, waits for the next call.
 */
int drain_close_epoch(struct drain *drain, uint32_t epoch, uint64_t until_ns);

/* Raw records that wait for a table. */
size_t drain_nr_deferred(const struct drain *drain);

/* Counts that still wait for their record: 0 except right after a close. */
uint64_t drain_waiting(const struct drain *drain);

/* Samples that have been added, since the start. */
const struct drain_totals *drain_totals(const struct drain *drain);

#endif
