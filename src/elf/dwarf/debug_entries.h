/*
 * A unit's debugging information entries, one after the other as they lie in the file.
 *
 * libdw reads single entries well, but to get past one it reads its abbreviation anew from
 * .debug_abbrev, attribute by attribute, and without DW_AT_sibling (clang, rustc) all entries below
 * one once for each level above. Here abbreviations are turned into steps once, so that most
 * entries are passed by adding a number: an entry takes 40 ns where libdw takes 150 (C++ by gcc,
 * 12 million entries), 46 where it takes 1,100 (Rust).
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
	uint16_t tag; /* 0: there is no abbreviation of this code */
	bool has_children;
	bool has_code;	  /* DW_AT_low_pc or DW_AT_ranges */
	bool has_sibling; /* DW_AT_sibling: then dwarf_siblingof() takes one step */
	uint32_t first_skip, nr_skips;
};

/* The abbreviations of one unit; often the next unit has the same. {0} holds none. */
struct debug_abbreviations {
	const void *start; /* in .debug_abbrev; NULL: nothing is held */
	struct debug_unit_sizes sizes;
	struct debug_abbreviation *by_code;
	size_t nr, capacity;
	struct debug_skip *skips;
	size_t nr_skips, cap_skips;
};

/*
 * Reads the abbreviations that begin there, unless they are held already. 0, -ENOEXEC or -ENOMEM.
 */
int debug_abbreviations_need(struct debug_abbreviations *all, struct bytes bytes,
			     const struct debug_unit_sizes *sizes);

void debug_abbreviations_clear(struct debug_abbreviations *all);

/* Where the units that are opened lie, and what is shared by them. {0} to begin with. */
struct debug_sections {
	struct bytes info;   /* .debug_info */
	struct bytes abbrev; /* the .debug_abbrev beside it */
	struct debug_abbreviations abbreviations;
};

struct debug_entries {
	const struct debug_abbreviations *abbreviations;
	struct bytes bytes;
	struct debug_unit_sizes sizes;
	unsigned depth; /* of what comes next; 0: the unit itself, or its end */
	/* of the entry that debug_entries_next() stands on */
	const struct debug_abbreviation *abbreviation;
	const void *at;
	unsigned at_depth;
};

/* Stands before the unit's first entry. 0, -ENOEXEC or -ENOMEM. */
int debug_entries_open(struct debug_entries *entries, struct debug_sections *sections,
		       Dwarf_Die *unit);

/* Goes to the next entry; false at the end of the unit, or of what can be read of it. */
bool debug_entries_next(struct debug_entries *entries);

/* Goes on behind the entries below this one, if that is one step. */
void debug_entries_pass_children(struct debug_entries *entries, Dwarf_Die *entry);

void debug_sections_clear(struct debug_sections *sections);

#endif
