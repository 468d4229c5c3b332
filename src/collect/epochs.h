/*
 * Epochs, as the programs of the sampler and of the tallier have them (bpf/wire.h tells the
 * protocol): a hash map of counts or rows for each, turned when an epoch ends and read when it is at
 * rest; per-CPU counters; and the slice of time that each epoch is in.
 */
#ifndef STOOK_COLLECT_EPOCHS_H
#define STOOK_COLLECT_EPOCHS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "profile/profile.h"

struct epochs_options {
	uint32_t *epoch;       /* the programs' variable: the current epoch's number */
	int maps_fd;	       /* the map of maps, by slot */
	int counters_fd;       /* the per-CPU counters, by slot; 64-bit numbers and nothing else */
	size_t counters_bytes; /* of one CPU and slot */
	int nr_cpus;	       /* possible ones: that many values has a per-CPU map */
	const char *map_name, *what; /* to the kernel; in messages */
	uint32_t key_bytes, value_bytes, max_entries;
};

struct epochs {
	struct epochs_options options;
	int fds[WIRE_EPOCH_SLOTS]; /* by slot, the map that stands in it; -1: none yet */
	uint64_t *per_cpu;	   /* of all CPUs, as they are read */
	uint64_t *now;		   /* their sum */
	uint64_t *before;	   /* the slots' last sums, one behind the other */
};

/* Puts a map into each slot of a loaded object. 0 or a negative errno; close in both cases. */
int epochs_open(struct epochs *epochs, const struct epochs_options *options, struct error *error);

/* Also of {0}. */
void epochs_close(struct epochs *epochs);

/* The current epoch. */
uint32_t epochs_number(const struct epochs *epochs);

/*
 * Ends the current epoch: the next one begins, and when this returns, a kernel grace period (some
 * 10 ms) later, no program adds to the ended one any more. *ret_ended_ns: nothing of the ended epoch
 * is younger. 0 or a negative errno.
 */
int epochs_turn(struct epochs *epochs, uint64_t *ret_ended_ns, struct error *error);

/* The counters of the epoch that was ended last, summed over the CPUs. 0 or a negative errno. */
int epochs_read_counters(struct epochs *epochs, void *ret_counters);

/* The same of the current epoch so far. */
int epochs_read_progress(const struct epochs *epochs, void *ret_counters);

/*
 * Hands each entry of the map of the epoch that was ended last to add(), until that returns a
 * negative number. Read in small batches, because the kernel takes no samples on a CPU that is
 * inside such a call. 0 or a negative errno, add()'s too.
 */
int epochs_read_map(const struct epochs *epochs,
		    int (*add)(void *context, const void *key, const void *value), void *context);

/* Kernel memory of all maps. */
uint64_t epochs_map_bytes(const struct epochs *epochs);

/*
 * Slices of time: cells of one length, counted from the start. The kernel's counts say of their time
 * only which epoch they were in, so an epoch is in one cell: it is ended where the cell ends, or as
 * soon after that as user space gets there (the milliseconds of a wake-up), and what came in between
 * is in the cell before. Pure arithmetic: the session says what time it is.
 */
struct slicing {
	uint64_t slice_ns;   /* 0: slices are not told apart */
	uint64_t started_ns; /* CLOCK_MONOTONIC, as all times but those of struct time_slice */
	uint64_t day_ns;     /* the same moment on the day's clock */
	uint64_t cells[WIRE_EPOCH_SLOTS]; /* of epochs, by their slots */
};

void slicing_start(struct slicing *slicing, uint64_t slice_ns, uint64_t now_ns, uint64_t day_ns);

/* Samples of this epoch are in the cell of now_ns. */
void slicing_begin_epoch(struct slicing *slicing, uint32_t epoch, uint64_t now_ns);

/* When the cell of this epoch ends; UINT64_MAX: never. */
uint64_t slicing_end_ns(const struct slicing *slicing, uint32_t epoch);

/*
 * The slice of a record, and so of what is counted for it. Raw records are for one sample each and
 * may come late: the slice of a raw record is that of its own time.
 */
struct time_slice slicing_slice(const struct slicing *slicing, const struct wire_record *record);

/* A moment of CLOCK_MONOTONIC on the day's clock. */
uint64_t slicing_day_ns(const struct slicing *slicing, uint64_t time_ns);

#endif
