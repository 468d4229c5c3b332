/*
 * The strings of a pprof file as strings of a profile, made when they are first needed.
 *
 * Used by the reader alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_STRINGS_H
#define STOOK_FORMAT_PPROF_PPROF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_tables.h"
#include "profile/profile.h"

struct pprof_strings {
	struct profile *profile;
	const struct pprof_tables *tables;
	uint32_t *numbers; /* of the profile, + 1; 0: not needed so far */
};

/* 0 or -ENOMEM. */
int pprof_strings_init(struct pprof_strings *strings, const struct pprof_tables *tables,
		       struct profile *profile);
void pprof_strings_clear(struct pprof_strings *strings);

/* The profile's string for one of the file, whose number must be right; or -ENOMEM. */
int64_t pprof_strings_get(struct pprof_strings *strings, uint32_t number);

#endif
