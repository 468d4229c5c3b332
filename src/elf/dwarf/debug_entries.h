/*
 * Iterates over a unit's debugging information entries, in the order of the file.
 *
 * libdw reads single entries well, but to skip one it parses its abbreviation again from
 * .debug_abbrev, attribute by attribute, and without DW_AT_sibling (clang, rustc) it visits all
 * nested entries once for each level above. Here each abbreviation is translated once, so that most
 * entries are skipped by adding a number: an entry takes 40 ns instead of libdw's 150 (C++ by gcc,
 * 12 million entries), and 46 ns instead of 1,100 (Rust).
 */
#ifndef STOOK_ELF_DWARF_DEBUG_ENTRIES_H
#define STOOK_ELF_DWARF_DEBUG_ENTRIES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* The sizes of forms depend on these. */
struct debug_unit_sizes {
	uint16_t version;
	uint8_t address_bytes, offset_bytes;
};

struct debug_abbreviation {
	uint16_t tag; /* 0: no abbreviation has this code */
	bool has_children;
	bool has_code;	  /* DW_AT_low_pc or DW_AT_ranges */
	bool has_sibling; /* DW_AT_sibling: dwarf_siblingof() is fast */
	uint32_t first_skip, nr_skips;
};

/* The abbreviations of one unit; the next unit often has the same. {0} is empty. */
struct debug_abbreviations {
	const void *start; /* in .debug_abbrev; NULL: empty */
	struct debug_unit_sizes sizes;
	struct debug_abbreviation *by_code;
	size_t nr, capacity;
	struct debug_skip *skips;
	size_t nr_skips, cap_skips;
};

/*
 * Reads the abbreviations at `bytes`, unless they are those already held. 0, -ENOEXEC or -ENOMEM.
 */
int debug_abbreviations_load(struct debug_abbreviations *all, struct bytes bytes,
			     const struct debug_unit_sizes *sizes);

void debug_abbreviations_clear(struct debug_abbreviations *all);

/* The sections of the current unit, and data shared between units. Initialise with {0}. */
struct debug_sections {
	struct bytes info;   /* .debug_info */
	struct bytes abbrev; /* the corresponding .debug_abbrev */
	struct debug_abbreviations abbreviations;
};

struct debug_entries {
	const struct debug_abbreviations *abbreviations;
	struct bytes bytes;
	struct debug_unit_sizes sizes;
	unsigned depth; /* of the next entry; 0: the unit itself, or its end */
	/* of the entry that debug_entries_next() found */
	const struct debug_abbreviation *abbreviation;
	const void *at;
	unsigned at_depth;
};

/* Opens a unit; debug_entries_next() then finds its first entry. 0, -ENOEXEC or -ENOMEM. */
int debug_entries_open(struct debug_entries *entries, struct debug_sections *sections,
		       Dwarf_Die *unit);

/* Moves to the next entry; false at the end of the unit, or of its readable part. */
bool debug_entries_next(struct debug_entries *entries);

/* Skips the children of this entry if it has DW_AT_sibling. */
void debug_entries_pass_children(struct debug_entries *entries, Dwarf_Die *entry);

void debug_sections_clear(struct debug_sections *sections);

#endif
