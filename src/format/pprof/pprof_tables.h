/*
 * The tables of a pprof file, as they are found in it: everything but the samples, which are
 * walked when all that they refer to is known, since the strings come last. Numbers of strings are
 * checked, ids are unique and not 0; what an id refers to is looked up when it is used.
 *
 * Used by pprof_read.c alone. Everything points into the file's bytes.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_TABLES_H
#define STOOK_FORMAT_PPROF_PPROF_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

/* More values a sample than anybody has are refused. */
#define PPROF_MAX_SAMPLE_TYPES 64
/* So are more strings, functions, mappings or locations, which cost more here than in the file. */
#define PPROF_MAX_ENTRIES (1U << 24)
/* And more comments. */
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
	struct bytes message; /* for its lines */
	uint64_t id, mapping_id, address;
};

struct pprof_tables {
	struct bytes *strings;
	size_t nr_strings, cap_strings;
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
	uint64_t period, time_ns, duration_ns; /* 0 where the file has a negative number */
	uint32_t default_sample_type;
	uint32_t *comments;
	size_t nr_comments, cap_comments;
};

/* 0, -EBADMSG or -ENOMEM. The tables of a failure are empty. */
int pprof_tables_read(struct pprof_tables *tables, struct bytes file, struct error *error);
void pprof_tables_clear(struct pprof_tables *tables);

/* The location of this id; NULL if there is none. */
const struct pprof_location *pprof_tables_location(const struct pprof_tables *tables, uint64_t id);

#endif
