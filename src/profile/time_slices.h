/*
 * When samples were: slices of time that a profile was taken in, each with the samples of its own.
 * Numbered from 1 in the order of adding.
 */
#ifndef STOOK_PROFILE_TIME_SLICES_H
#define STOOK_PROFILE_TIME_SLICES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct time_slice {
	uint64_t start_ns, end_ns; /* of the day's clock */
};

/* More are refused: a day of seconds. */
#define PROFILE_MAX_SLICES 86400

/* The number of the slice, known or new; -ENOMEM; -E2BIG. */
int64_t profile_add_slice(struct profile *profile, const struct time_slice *slice);

/* It was taken until then: the slice that this is in ends there. Of two that do, one begins later. */
void profile_end_slices(struct profile *profile, uint64_t end_ns);

size_t profile_nr_slices(const struct profile *profile);
struct time_slice profile_slice(const struct profile *profile, uint32_t number);

#endif
