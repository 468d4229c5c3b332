/*
 * The files that a pprof file's mappings are of, and the modules of a profile for their code.
 * Mappings with the same name and build id are of one file, and each is a segment of it.
 *
 * Used by the reader alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_FILES_H
#define STOOK_FORMAT_PPROF_PPROF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "format/pprof/pprof_strings.h"
#include "format/pprof/pprof_tables.h"
#include "profile/profile.h"

struct pprof_file {
	struct module module;
	struct module_code code;
	uint32_t *modules; /* see pprof_files_module() */
	size_t nr_modules, cap_modules;
};

struct pprof_files {
	struct profile *profile;
	const struct pprof_tables *tables;
	struct pprof_strings *strings;
	struct pprof_file *files;
	size_t nr, cap;
	struct number_index index;
	uint32_t *of_mapping;
	uint32_t nr_numbers; /* given to modules */
};

/* 0 or -ENOMEM. */
int pprof_files_init(struct pprof_files *files, const struct pprof_tables *tables,
		     struct pprof_strings *strings, struct profile *profile);
void pprof_files_clear(struct pprof_files *files);

/* The file of a mapping, by its number in the table; of what is in no mapping. */
struct pprof_file *pprof_files_of_mapping(struct pprof_files *files, size_t mapping);
struct pprof_file *pprof_files_unknown(struct pprof_files *files);

/*
 * The nth of several modules for the code of one file, or -ENOMEM: a profile knows frames by their
 * addresses, so what is said differently of one address goes into another module of the same name.
 * All before it must have been asked for.
 */
int64_t pprof_files_module(struct pprof_files *files, struct pprof_file *file, size_t nth);

/* Where an address in a mapping is in its file; for what is in no file, the address itself. */
uint64_t pprof_file_offset(const struct pprof_file *file, const struct pprof_file_mapping *mapping,
			   uint64_t address);

#endif
