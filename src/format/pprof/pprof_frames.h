/*
 * The locations of a pprof file as frames of a profile, made when a sample first needs one.
 *
 * Used by pprof_read.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_FRAMES_H
#define STOOK_FORMAT_PPROF_PPROF_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/pprof/pprof_files.h"
#include "format/pprof/pprof_strings.h"
#include "format/pprof/pprof_tables.h"
#include "profile/profile.h"

enum pprof_location_kind {
	PPROF_LOCATION_NEW, /* not needed so far */
	PPROF_LOCATION_USER,
	PPROF_LOCATION_KERNEL,
	PPROF_LOCATION_MISSED_USER, /* says by its name that a stack could not be read */
	PPROF_LOCATION_MISSED_KERNEL,
};

struct pprof_found {
	enum pprof_location_kind kind;
	uint32_t frame; /* also of those that stand for a missed stack */
};

struct pprof_frames {
	struct profile *profile;
	const struct pprof_tables *tables;
	struct pprof_strings *strings;
	struct pprof_files files;
	struct pprof_found *found; /* by location */
	struct code_line *lines;   /* of the location being read */
	size_t nr_lines, cap_lines;
};

/* 0 or -ENOMEM. */
int pprof_frames_init(struct pprof_frames *frames, const struct pprof_tables *tables,
		      struct pprof_strings *strings, struct profile *profile);
void pprof_frames_clear(struct pprof_frames *frames);

/* What a location id stands for: 0, -EBADMSG or -ENOMEM. */
int pprof_frames_find(struct pprof_frames *frames, uint64_t location_id, struct pprof_found *ret,
		      struct error *error);

#endif
