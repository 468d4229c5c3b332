/*
 * The values that a profile's samples have, as the types of a pprof file: `samples` first, the
 * others by name, so that their order says nothing of which one was the count. That one is what
 * readers take by default.
 *
 * Counts of samples that were each taken after a fixed number of events say how many events that
 * was: EVENT/UNIT, which is the count times the period. It is written where the profile has no value
 * of that name, and then it is the default instead; so is a value that is just that. A reader
 * that finds a default of this kind takes the samples for its count.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_VALUES_H
#define STOOK_FORMAT_PPROF_PPROF_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_tables.h"
#include "profile/profile.h"

struct pprof_value {
	const char *type, *unit;
	size_t number;	 /* of the profile's value … */
	uint64_t factor; /* … and what it is multiplied by */
};

struct pprof_values {
	const char *event, *unit; /* of the period */
	struct pprof_value values[PPROF_MAX_SAMPLE_TYPES];
	size_t nr;
	const char *preferred; /* type of the default one */
};

/* Texts are the profile's. */
void pprof_values_init(struct pprof_values *values, const struct profile *profile);

/* Whether a sample has something of any value. */
bool pprof_values_any(const struct profile *profile, uint32_t sample);

/* Whether one value of each sample is so many times another one. */
bool pprof_values_are_multiples(const struct profile *profile, size_t number, size_t of,
				uint64_t factor);

#endif
