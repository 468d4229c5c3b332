/*
 * Turns streams into a profile. Stack records, sideband events and counts are added in the order in
 * which they were read, and replayed in the order in which they happened.
 *
 * The only system calls are those of the process table, for maps and files, so interleavings can be
 * tested without a kernel.
 *
 *	drain_add_record(), drain_add_event()	as they are read: ring first, then sideband
 *	drain_ensure_processes()				next: looks up processes that are new
 *	drain_replay()				replays everything up to a given time
 *	drain_add_count()			adds an entry of the count map of an ended epoch
 *	drain_add_wait(), drain_add_waiting()	off-CPU: ends of waits, and waits that are open at its end
 *	drain_close_epoch()			replays an epoch's records, then adds its counts
 */
#ifndef STOOK_COLLECT_DRAIN_H
#define STOOK_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/matcher.h"
#include "bpf/wire.h"
#include "collect/epochs.h"
#include "collect/kernel_code.h"
#include "collect/split.h"
#include "collect/unwind/unwinder.h"
#include "collect/waits.h"
#include "proc/file_table.h"
#include "proc/process_table.h"
#include "proc/runtime_table.h"
#include "profile/profile.h"

#define NO_PROBE_FRAME UINT32_MAX

/*
 * Records and events wait for the mappings of a process, with everything that happened after them, until they have this
 * size, beside what the rings bring at once.
 */
#define DRAIN_HELD_MAX_BYTES (64UL << 20)

struct drain_probe {
	uint32_t name;	/* string, for LABEL_PROBE */
	uint32_t frame; /* the leaf of all its stacks, or NO_PROBE_FRAME */
};

/* The programs whose frames are in kernel stacks: those of switches, of wakers, of locks of the kernel. */
#define DRAIN_NR_PROGRAMS 3

static inline size_t drain_program(const struct wire_record *record)
{
	const uint32_t state = record->probe & 0xff;

	if (record->probe & WIRE_WAKER)
		return 1;
	return state > WIRE_FUTEX && state < WIRE_NR_STATES ? 2 : 0;
}

/* Addresses in the kernel. */
#define DRAIN_FRAMES_MAX 16

struct drain_frame_set {
	uint64_t addresses[DRAIN_FRAMES_MAX];
	size_t nr;
};

bool drain_has_frame(const struct drain_frame_set *set, uint64_t address);

/* How many of a stack's innermost kernel frames are those of the program that took it, and of its callers. */
size_t drain_nr_own_frames(const struct drain_frame_set *own, const uint64_t *kernel, size_t nr);

/* Off-CPU: records are of threads that leave their CPU; counts, ends and open waits have the time. */
struct drain_waits {
	uint64_t min_ns, max_ns;   /* see struct waits */
	uint32_t states;	   /* bits by enum wire_state: time in other states is hidden */
	bool has_wakers, is_whole; /* see struct sampler_waits */
	uint64_t sample_ns; /* of a record that is a sample (WIRE_RUNNING), unless by_weight */
	size_t nr_value;    /* the profile's value with the number of waits; 0: none */
	const struct drain_frame_set *own; /* left out of stacks, by program; NULL: none */
};

struct drain_options {
	unsigned labels;		 /* enum label bits that distinguish samples */
	const struct name_filter *names; /* of threads; NULL: all */
	/* Called for a name that is not among them, whenever a record has it; NULL: nobody wants to know. */
	void (*refuse)(void *context, const char *name);
	void *refuse_context;
	int cgroup_root_fd; /* for LABEL_CGROUP */
	bool by_weight;	    /* a sample's value is its weight, not 1 */
	bool has_ratio;	    /* the profile's second value is the sum of numerators */
	/* Sampled events, which are values of the profile, in the same order; 0: only the first value. */
	size_t nr_events;
	const struct drain_waits *waits;  /* NULL: no off-CPU time */
	const struct drain_probe *probes; /* by probe number */
	size_t nr_probes;
	struct file_table *files;
	struct runtime_table *runtimes; /* of JIT-compiled code; NULL: one module for all */
	struct process_table *processes;
	struct profile *profile;
	struct unwinder *unwinder;	       /* for raw records; NULL: none are expected */
	const struct slicing *slicing;	       /* NULL: no time slices */
	struct kernel_code_names kernel_names; /* .name NULL: kernel code is named later */
	bool is_timed;			       /* measures totals.record_ns */
	size_t max_held_bytes;		       /* as DRAIN_HELD_MAX_BYTES; 0: this */
	bool names_processes;		       /* see drain_take_names() */
};

struct drain_totals {
	uint64_t records;     /* replayed */
	uint64_t counted;     /* sum of the counts whose record is known */
	uint64_t hidden;      /* samples filtered out by thread name */
	uint64_t events;      /* sideband events replayed */
	uint64_t bad_records; /* records with inconsistent lengths */
	uint64_t unsliced;    /* records in no slice of time: the profile has its maximum */
	uint64_t unawaited;   /* records replayed before the mappings of their process were known */
	uint64_t first_ns;    /* time of the earliest sample; 0: none yet */
	uint64_t record_ns;   /* CPU time for replaying records */
	/* Off-CPU. shown + hidden = counted + sent + open + cut, of `waits`. */
	uint64_t shown_ns, hidden_ns, counted_ns;
	uint64_t recorded_ns; /* part of shown and hidden: time of records that are samples */
	/* Part of shown and hidden: waits of a thread and place of which none was walked. */
	uint64_t undivided_ns;
};

struct drain;

/*
 * Copies options, but not the objects that it points to; these must outlive the drain. Returns NULL
 * when out of memory.
 */
struct drain *drain_new(const struct drain_options *options);
void drain_free(struct drain *drain);

/* Each returns 0 or -ENOMEM. */
int drain_add_record(struct drain *drain, const struct wire_record *record, size_t bytes);
int drain_add_event(struct drain *drain, struct process_event *event, const char *path);
int drain_add_count(struct drain *drain, uint32_t epoch, const struct wire_count_key *key,
		    const struct wire_count *count);
int drain_add_wait(struct drain *drain, const struct wire_wait *wait);
int drain_add_waiting(struct drain *drain, uint64_t task, const struct wire_waiting *waiting);
int drain_add_gone_code(struct drain *drain, const struct gone_code *gone);
int drain_ensure_processes(struct drain *drain);
int drain_replay(struct drain *drain, uint64_t until_ns);

/*
 * Retries the raw records that wait for an unwind table. last: records that would still have to
 * wait are added with the frames found so far.
 */
int drain_retry(struct drain *drain, bool last);

/*
 * Replays all events up to until_ns and all records of this and older epochs, then adds the counts.
 * A count whose record has not arrived yet (a program of a newer epoch holds the ring before it)
 * waits for the next call. So does a record of this epoch whose process' mappings are awaited, with everything after
 * it: on a busy host, they may be read after seconds. Off-CPU nothing waits.
 */
int drain_close_epoch(struct drain *drain, uint32_t epoch, uint64_t until_ns);

/*
 * drain_close_epoch() asks for names of kernel code, some of which may have been unloaded by then. Call this next, when
 * the events until then have been added. 0 or -ENOMEM.
 */
int drain_correct_kernel_names(struct drain *drain);

/* The next epoch to close is the last one: nothing waits any longer. */
void drain_expect_end(struct drain *drain);

/*
 * From now on the samples go to another profile, which is empty. options->probes has been filled anew for it. Call it
 * only after drain_close_epoch(). 0 or -ENOMEM: then the profile stays.
 */
int drain_change_profile(struct drain *drain, struct profile *profile);

/* Takes what the processes of the samples were called, since the last call. Empty unless options.names_processes. */
void drain_take_names(struct drain *drain, struct process_names *ret);

/* Marks the files of events that are not replayed yet, and of records that wait for a table. */
void drain_mark_files(const struct drain *drain);

/* Number of raw records that wait for an unwind table. */
size_t drain_nr_deferred(const struct drain *drain);

/* Number of counts that wait for their record; 0 except right after a close. */
uint64_t drain_waiting(const struct drain *drain);

/*
 * Forgets processes that exited well before now_ns, and before all that was left by the latest replay: records that wait
 * may be of some that have exited since.
 */
void drain_forget_exited(struct drain *drain, uint64_t now_ns);

/* Memory for records and events that wait for their replay. */
size_t drain_bytes(const struct drain *drain);

/* Totals since the start. */
const struct drain_totals *drain_totals(const struct drain *drain);
const struct waits *drain_waits(const struct drain *drain);
const struct split *drain_split(const struct drain *drain);

/* How long a walk takes, on average, for the error of the division. */
void drain_set_walk_ns(struct drain *drain, double walk_ns);

#endif
