/*
 * The *objects* that code is in, as pprof has them: files, the kernel, code made at run time; and
 * their *mappings*. They are told apart by content and sorted by it, whatever numbers the profile has
 * for modules; only those that are used get mappings.
 *
 * Places are asked for twice: what mappings there must be follows from what is asked for, so what is
 * said of addresses before pprof_objects_map() only counts for that.
 *
 * Used by the writer alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_OBJECTS_H
#define STOOK_FORMAT_PPROF_PPROF_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct pprof_mapping {
	uint32_t object;
	uint64_t start, limit, offset;
};

struct pprof_object {
	enum module_kind kind;
	const char *name; /* without " (deleted)" */
	size_t name_bytes;
	bool is_gone;
	const struct module_code *code; /* or NULL */
	bool is_used, needs_whole;
	uint32_t first_mapping; /* its segments, then the whole if that is needed */
	bool has_functions, has_filenames, has_line_numbers, has_inlines;
};

struct pprof_objects {
	uint32_t *of_module; /* number + 1; 0: none */
	struct pprof_object *objects;
	size_t nr;
	struct pprof_mapping *mappings;
	size_t nr_mappings, cap_mappings;
};

/* 0 or -ENOMEM. */
int pprof_objects_init(struct pprof_objects *objects, const struct profile *profile);
void pprof_objects_clear(struct pprof_objects *objects);

/*
 * Where an offset in an object is: the number of a mapping + 1, and the address there. Offset 0 stands
 * for none.
 */
uint32_t pprof_objects_place(struct pprof_objects *objects, uint32_t number, uint64_t offset,
			     uint64_t *ret_address);

/* Makes the mappings for what was asked for. 0 or -ENOMEM. */
int pprof_objects_map(struct pprof_objects *objects);

#endif
