/*
 * The locations of a pprof file as frames of a profile, made when a sample first needs one. Also
 * the file's strings, as strings of the profile.
 *
 * Used by pprof_read.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_FRAMES_H
#define STOOK_FORMAT_PPROF_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/pprof_tables.h"
#include "profile/number_index.h"
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

/* Mappings of the same file. */
struct pprof_file {
	struct module module;
	struct module_code code;
	uint32_t *modules; /* see pprof_frames.c */
	size_t nr_modules, cap_modules;
};

struct pprof_frames {
	struct profile *profile;
	const struct pprof_tables *tables;
	uint32_t *strings; /* of the profile, + 1; 0: not needed so far */
	struct pprof_file *files;
	size_t nr_files, cap_files;
	struct number_index file_index;
	uint32_t *file_of_mapping;
	uint32_t nr_file_numbers;  /* given to modules */
	struct pprof_found *found; /* by location */
	uint64_t next_nowhere;
	struct number_index nowhere; /* frames without an address, by what they say */
	struct code_line *lines;     /* of the location being read */
	size_t nr_lines, cap_lines;
	char *text; /* of the string being added */
	size_t cap_text;
};

/* 0 or -ENOMEM. */
int pprof_frames_init(struct pprof_frames *frames, const struct pprof_tables *tables,
		      struct profile *profile);
void pprof_frames_clear(struct pprof_frames *frames);

/* The profile's string for one of the file, whose number must be right; or -ENOMEM. */
int64_t pprof_frames_string(struct pprof_frames *frames, uint32_t string);

/* What a location id stands for: 0, -EBADMSG or -ENOMEM. */
int pprof_frames_find(struct pprof_frames *frames, uint64_t location_id, struct pprof_found *ret,
		      struct error *error);

#endif
