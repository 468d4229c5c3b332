/*
 * The types of a pprof file's values, as values of a profile. The count is the one that the file has
 * as its default, or else the last one, as pprof itself has it; but samples where the default is
 * nothing but their number times the period. A type that is there twice is read once.
 *
 * Used by pprof_read.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_TYPES_H
#define STOOK_FORMAT_PPROF_PPROF_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_strings.h"
#include "format/pprof/pprof_tables.h"
#include "profile/profile.h"

#define PPROF_NOT_KEPT SIZE_MAX

struct pprof_types {
	struct value_type types[PPROF_MAX_SAMPLE_TYPES];
	size_t numbers[PPROF_MAX_SAMPLE_TYPES]; /* the profile's, or PPROF_NOT_KEPT */
	size_t nr;
};

/* Tells the profile its types of values. 0 or -ENOMEM. */
int pprof_types_init(struct pprof_types *types, const struct pprof_tables *tables,
		     struct pprof_strings *strings, struct profile *profile);

/* When all samples are there, and how they were taken: sees whether they are the count. */
int pprof_types_finish(const struct pprof_types *types, struct profile *profile);

#endif
