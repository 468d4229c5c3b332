/*
 * The abbreviations of a unit's entries, as steps over the bytes of an entry.
 */
#ifndef STOOK_ELF_DWARF_DEBUG_ABBREVIATIONS_H
#define STOOK_ELF_DWARF_DEBUG_ABBREVIATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Ways to get past a value. */
enum debug_skip_kind {
	SKIP_BYTES, /* a number of them */
	SKIP_LEB,
	SKIP_STRING,
	SKIP_BLOCK1, /* so many bytes as a number says, of 1 byte, 2, 4 or LEB128 */
	SKIP_BLOCK2,
	SKIP_BLOCK4,
	SKIP_BLOCK,
	SKIP_INDIRECT, /* the form stands before the value */
	SKIP_UNKNOWN,
};

struct debug_skip {
	uint16_t kind;
	uint16_t bytes;
};

/* What the sizes of forms depend on. */
struct debug_unit_sizes {
	uint16_t version;
	uint8_t address_bytes, offset_bytes;
};

struct debug_abbreviation {
	uint16_t tag; /* 0: there is no abbreviation of this code */
	bool has_children;
	bool has_code;	  /* DW_AT_low_pc or DW_AT_ranges */
	bool has_sibling; /* DW_AT_sibling: then dwarf_siblingof() takes one step */
	uint32_t first_skip, nr_skips;
};

/* Those of one unit; often the next one has the same. {0} holds none. */
struct debug_abbreviations {
	const void *start; /* in .debug_abbrev; NULL: nothing is held */
	struct debug_unit_sizes sizes;
	struct debug_abbreviation *by_code;
	size_t nr, capacity;
	struct debug_skip *skips;
	size_t nr_skips, cap_skips;
};

struct debug_skip debug_skip_of_form(const struct debug_unit_sizes *sizes, uint64_t form);

/* Reads what begins there, unless that is what is held. 0, -ENOEXEC or -ENOMEM. */
int debug_abbreviations_need(struct debug_abbreviations *all, struct bytes bytes,
			     const struct debug_unit_sizes *sizes);

void debug_abbreviations_clear(struct debug_abbreviations *all);

#endif
