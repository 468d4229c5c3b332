/*
 * The inlined calls at some addresses of one unit, found in one pass over its entries.
 */
#ifndef STOOK_ELF_DWARF_DEBUG_CHAINS_H
#define STOOK_ELF_DWARF_DEBUG_CHAINS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/dwarf/debug_entries.h"

/* A function, or one inlined call of one, that has one of the addresses. */
struct debug_function {
	Dwarf_Die entry;
	uint32_t caller;  /* the number of the one that it is inlined into; 0: none */
	const char *name; /* for whoever reads the chains; NULL to begin with */
};

struct debug_chains {
	struct debug_sections sections;
	const uint64_t *addresses; /* those of the unit, sorted */
	uint32_t *innermost;	   /* a number in functions for each of them; 0: none */
	size_t nr, cap_innermost;
	struct debug_function *functions; /* the first one is not used */
	size_t nr_functions, cap_functions;
	struct open_function *open;
	size_t cap_open;
};

/*
 * Reads the chains of these addresses in place of what was held before. Without `inlined` only the
 * functions that the calls are inlined into. unit is the first entry. 0, -ENOEXEC, -ENOMEM.
 */
int debug_chains_read(struct debug_chains *chains, Dwarf_Die *unit, const uint64_t *addresses,
		      size_t nr, bool inlined);

/* The number of the first of these sorted addresses that is not below start; nr: there is none. */
size_t debug_first_address(const uint64_t *addresses, size_t nr, uint64_t start);

void debug_chains_clear(struct debug_chains *chains);

#endif
