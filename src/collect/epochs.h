/*
 * Which slice of time a sample is in, of a session that tells slices apart: cells of one length,
 * counted from the session's start.
 *
 * What the kernel has counted says of its time only which epoch it was in, so an epoch is in one
 * cell: the session ends it where the cell ends, or as soon after that as it gets there (the
 * milliseconds of a wake-up), and what came in between is in the cell before.
 */
#ifndef STOOK_COLLECT_EPOCHS_H
#define STOOK_COLLECT_EPOCHS_H

#include <stdint.h>

#include "bpf/wire.h"
#include "profile/profile.h"

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
 * may come late: theirs is told by their time.
 */
struct time_slice slicing_slice(const struct slicing *slicing, const struct wire_record *record);

/* A moment of CLOCK_MONOTONIC on the day's clock. */
uint64_t slicing_day_ns(const struct slicing *slicing, uint64_t time_ns);

#endif
