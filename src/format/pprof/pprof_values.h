/*
 * The types of values in a pprof file, written and read.
 *
 * Written, `samples` comes first and the others by name, so that their order does not depend on which
 * one was the count: that one is the default type, which readers show first. Counts of samples that
 * were each taken after a fixed number of events also say how many events that was: EVENT/UNIT,
 * which is the count times the period. It is written where the profile has no value of that name, and
 * then it is the default instead; so is a value of the profile that is just this product.
 *
 * Read, the count is the default type, or else the last one, as pprof itself has it. Where the
 * default is nothing but the number of samples times the period, the count is the samples. A type
 * that is there twice is read once.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_VALUES_H
#define STOOK_FORMAT_PPROF_PPROF_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_fields.h"
#include "profile/profile.h"

struct pprof_tables;

/* True if any value of the sample is not 0. */
bool pprof_values_any(const struct profile *profile, uint32_t sample);

/* True if this value of each sample is `factor` times its value `of`. */
bool pprof_values_are_multiples(const struct profile *profile, size_t number, size_t of,
				uint64_t factor);

/* --- writing ----------------------------------------------------------------------------------- */

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

/* --- reading ----------------------------------------------------------------------------------- */

#define PPROF_NOT_KEPT SIZE_MAX

struct pprof_types {
	struct value_type types[PPROF_MAX_SAMPLE_TYPES];
	size_t numbers[PPROF_MAX_SAMPLE_TYPES]; /* the profile's, or PPROF_NOT_KEPT */
	size_t nr;
};

/* Adds the file's types to the profile. 0 or -ENOMEM. */
int pprof_types_init(struct pprof_types *types, struct pprof_tables *tables,
		     struct profile *profile);

/* Makes the samples the count where they should be it, when the profile is complete. 0 or -ENOMEM. */
int pprof_types_finish(const struct pprof_types *types, struct profile *profile);

#endif
