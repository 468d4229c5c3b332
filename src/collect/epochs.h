/*
 * Epochs of the sampler's and the tallier's programs (protocol: bpf/wire.h). Each epoch has a hash
 * map of counts or rows, which is replaced when the epoch ends and read when no program writes to
 * it any more; per-CPU counters; and a slice of time.
 */
#ifndef STOOK_COLLECT_EPOCHS_H
#define STOOK_COLLECT_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "kernel/aside.h"
#include "profile/profile.h"

struct epochs_options {
	uint32_t *epoch;    /* the programs' variable: the current epoch's number */
	uint64_t *began_ns; /* by slot: when its epoch began, for the programs; NULL: not needed */
	int maps_fd;	    /* map of maps, indexed by slot */
	int counters_fd; /* per-CPU counters, indexed by slot; values are arrays of 64-bit numbers */
	size_t counters_bytes;	     /* size for one CPU and slot */
	size_t nr_cpus;		     /* possible CPUs: the number of values in a per-CPU map */
	const char *map_name, *what; /* name for the kernel; description in messages */
	uint32_t key_bytes, value_bytes, max_entries;
};

struct epochs {
	struct epochs_options options;
	int fds[WIRE_EPOCH_SLOTS]; /* by slot: its current map; -1: none yet */
	int fresh_fd; /* while an epoch ends, used by its thread: the map that is being entered; -1: none */
	struct aside ending;
	uint64_t *per_cpu; /* counters of all CPUs, as read */
	uint64_t *now;	   /* sum of per_cpu */
	uint64_t *before;  /* last sums of all slots, back to back */
};

/*
 * Creates a map for each slot of a loaded object. Returns 0 or a negative errno; call
 * epochs_close() in both cases.
 */
int epochs_open(struct epochs *epochs, const struct epochs_options *options, struct error *error);

/* Accepts {0}. */
void epochs_close(struct epochs *epochs);

/* Returns the current epoch. */
uint32_t epochs_number(const struct epochs *epochs);

/*
 * Ends the current epoch and begins the next. Returns after a kernel grace period (some 10 ms),
 * when no program adds to the ended epoch any more. *ret_ended_ns: upper bound of timestamps in the
 * ended epoch. Returns 0 or a negative errno.
 */
int epochs_turn(struct epochs *epochs, uint64_t *ret_ended_ns, struct error *error);

/*
 * Its steps, for several epochs that end at the same time: all begin the next one; each begins to end its last; other
 * work during the grace period, until epochs_has_ended(); each ends.
 */
uint64_t epochs_begin_next(struct epochs *epochs);
void epochs_begin_ending(struct epochs *epochs);
bool epochs_has_ended(struct epochs *epochs);
int epochs_end_last(struct epochs *epochs, struct error *error);

/*
 * Reads the counters of the last ended epoch, summed over the CPUs. Returns 0 or a negative errno.
 */
int epochs_read_counters(struct epochs *epochs, void *ret_counters);

/* Reads the counters of the current epoch so far. */
int epochs_read_progress(const struct epochs *epochs, void *ret_counters);

/*
 * Calls add() for each entry of the last ended epoch's map, until it returns a negative number.
 * Reads in small batches, because the kernel takes no samples on a CPU that is inside such a call.
 * Returns 0 or a negative errno, including add()'s.
 */
int epochs_read_map(const struct epochs *epochs,
		    int (*add)(void *context, const void *key, const void *value), void *context);

/* Likewise for any hash map. */
int epochs_read_hash(int fd, size_t key_bytes, size_t value_bytes,
		     int (*add)(void *context, const void *key, const void *value), void *context);

/* Returns the kernel memory of all maps. */
uint64_t epochs_map_bytes(const struct epochs *epochs);

/*
 * Time slices: cells of equal length, counted from the start. The kernel's counts have no time but
 * their epoch, so each epoch belongs to one cell: it is ended when the cell ends, or as soon after
 * as user space runs (milliseconds); samples in between are attributed to the earlier cell. Pure
 * arithmetic: the session passes the time in.
 *
 * Cells count CLOCK_MONOTONIC, so a suspend does not fill any. Slices have the time of day: the slices after a suspend
 * are later by its length, and a cell with a suspend in it becomes two slices. A clock that is set does not matter.
 */
struct slicing {
	uint64_t slice_ns;   /* 0: no slices */
	uint64_t started_ns; /* CLOCK_MONOTONIC, as all times except those in struct time_slice */
	uint64_t day_ns;     /* the same moment in CLOCK_REALTIME */
	uint64_t slept_ns;   /* suspends before the start */
	uint64_t asleep_ns;  /* suspends since the start, as known to the latest epoch */
	struct slicing_epoch {
		uint64_t cell, asleep_ns;
	} epochs[WIRE_EPOCH_SLOTS]; /* by epoch slot */
};

/* asleep_ns: clock_asleep_ns(), at the same moment as the other times. */
void slicing_start(struct slicing *slicing, uint64_t slice_ns, uint64_t now_ns, uint64_t day_ns,
		   uint64_t asleep_ns);

/* Assigns this epoch to the cell of now_ns. */
void slicing_begin_epoch(struct slicing *slicing, uint32_t epoch, uint64_t now_ns,
			 uint64_t asleep_ns);

/* True if the latest epoch should end because the machine was suspended since its beginning. */
bool slicing_has_slept(const struct slicing *slicing, uint64_t asleep_ns);

/* Returns when the cell of this epoch ends; UINT64_MAX: never. */
uint64_t slicing_end_ns(const struct slicing *slicing, uint32_t epoch);

/*
 * Returns the slice of a record, and so of the counts of its id. A raw record is for one sample and
 * may arrive late: its slice goes by its own timestamp.
 */
struct time_slice slicing_slice(const struct slicing *slicing, const struct wire_record *record);

/* Converts CLOCK_MONOTONIC to CLOCK_REALTIME. */
uint64_t slicing_day_ns(const struct slicing *slicing, uint64_t time_ns);

#endif
