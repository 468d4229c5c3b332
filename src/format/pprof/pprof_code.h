/*
 * Where a profile's frames are, as pprof has it: *places*, which are an address in a mapping (see
 * pprof_objects.h) and what is written in the source there. They are told apart by content and sorted
 * by it, whatever numbers the profile has for frames; frames that say the same are one place. Only
 * what samples use is there.
 *
 * Used by the writer alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_CODE_H
#define STOOK_FORMAT_PPROF_PPROF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_objects.h"
#include "profile/profile.h"

/* Stand for the texts of missed stacks, which are no strings of the profile. */
#define PPROF_STRING_MISSED_USER   UINT32_MAX
#define PPROF_STRING_MISSED_KERNEL (UINT32_MAX - 1)

struct pprof_place {
	uint64_t address;
	uint32_t mapping; /* number + 1; 0: none */
	uint32_t nr_lines;
	const struct code_line *lines; /* innermost first; NULL: the one below */
	struct code_line name;
	uint32_t frame; /* whose place it is */
	bool is_used;	/* those of missed stacks are not always */
	uint32_t id;	/* see pprof_rows.h */
};

struct pprof_code {
	const struct profile *profile;
	struct pprof_objects objects;
	struct pprof_place *places; /* without repetitions */
	size_t nr_places;
	uint32_t *place_of_frame;	     /* also of the two below */
	uint32_t missed_user, missed_kernel; /* places */
};

/* 0 or -ENOMEM. */
int pprof_code_init(struct pprof_code *code, const struct profile *profile);
void pprof_code_clear(struct pprof_code *code);

/* The text of a code line's string. */
const char *pprof_code_string(const struct pprof_code *code, uint32_t string);
const struct code_line *pprof_code_lines(const struct pprof_place *place);

/* Whether a place is the kernel's. */
bool pprof_code_is_kernel(const struct pprof_code *code, uint32_t place);

#endif
