/*
 * The parts of the pprof reader. pprof_tables.c reads all tables of a file except the samples, and
 * makes frames from the file's locations when a sample first needs them. pprof_read.c reads the
 * samples after everything they refer to is known, since strings come last.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_READER_H
#define STOOK_FORMAT_PPROF_PPROF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/pprof/pprof_fields.h"
#include "profile/profile.h"

/* --- tables ------------------------------------------------------------------------------------ */

/* Limit for strings, functions, mappings and locations: they need more memory than in the file. */
#define PPROF_MAX_ENTRIES (1U << 24)
/* Limit for comments. */
#define PPROF_MAX_COMMENTS (1U << 16)

struct pprof_value_type {
	uint32_t type, unit; /* numbers of strings, here and below */
};

struct pprof_function {
	uint32_t name, file;
};

struct pprof_file_mapping {
	uint64_t start, limit, offset;
	uint32_t filename, build_id;
};

struct pprof_location {
	struct bytes message; /* contains its lines */
	uint64_t id, mapping_id, address;
};

/*
 * Numbers of strings are checked; ids are unique and not 0; what an id refers to is looked up on
 * use. Everything points into the file's bytes.
 */
struct pprof_tables {
	struct profile *profile;
	struct error *error;
	struct bytes *strings;
	size_t nr_strings, cap_strings;
	uint32_t *profile_strings; /* string -> number in the profile + 1; 0: not added yet */
	struct pprof_function *functions;
	size_t nr_functions, cap_functions;
	struct u64_map function_of_id;
	struct pprof_file_mapping *mappings;
	size_t nr_mappings, cap_mappings;
	struct u64_map mapping_of_id;
	struct pprof_location *locations;
	size_t nr_locations, cap_locations;
	struct u64_map location_of_id;
	struct pprof_value_type sample_types[PPROF_MAX_SAMPLE_TYPES];
	size_t nr_sample_types;
	struct pprof_value_type period_type;
	uint64_t period, time_ns, duration_ns; /* 0 if negative in the file */
	uint32_t default_sample_type;
	uint32_t *comments;
	size_t nr_comments, cap_comments;
};

/* Returns 0, -EBADMSG or -ENOMEM. The caller clears the tables in each case. */
int pprof_tables_read(struct pprof_tables *tables, struct bytes file, struct profile *profile,
		      struct error *error);
void pprof_tables_clear(struct pprof_tables *tables);

/* Returns the profile's string for a string of the file, adding it on first use; or -ENOMEM. */
int64_t pprof_tables_string(struct pprof_tables *tables, uint32_t number);

/* Sets the error for a malformed file; returns -EBADMSG. */
int pprof_refuse(const struct pprof_tables *tables, const char *what);

/* --- frames ------------------------------------------------------------------------------------ */

enum pprof_location_kind {
	PPROF_LOCATION_NEW, /* not made yet */
	PPROF_LOCATION_USER,
	PPROF_LOCATION_KERNEL,
	PPROF_LOCATION_MISSED_USER, /* by its name, represents a stack that could not be read */
	PPROF_LOCATION_MISSED_KERNEL,
};

struct pprof_found {
	enum pprof_location_kind kind;
	uint32_t frame; /* valid also for missed stacks */
};

/* The file of mappings: mappings with the same name and build id are its segments. */
struct pprof_file {
	struct module module;
	struct module_code code;
	uint32_t *modules; /* the profile's modules for its code, see module_of_file() */
	size_t nr_modules, cap_modules;
};

struct pprof_frames {
	struct pprof_tables *tables;
	struct profile *profile;
	struct pprof_file *files; /* the first one is for code without mapping */
	size_t nr_files, cap_files;
	struct number_index file_index;
	uint32_t *file_of_mapping;
	uint32_t nr_modules;	   /* made so far */
	struct pprof_found *found; /* indexed by location */
	struct code_line *lines;   /* of the location being read */
	size_t nr_lines, cap_lines;
};

/* Returns 0 or -ENOMEM. The caller clears the frames in both cases. */
int pprof_frames_init(struct pprof_frames *frames, struct pprof_tables *tables);
void pprof_frames_clear(struct pprof_frames *frames);

/* Finds the frame of a location id. Returns 0, -EBADMSG or -ENOMEM. */
int pprof_frames_find(struct pprof_frames *frames, uint64_t location_id, struct pprof_found *ret);

#endif
