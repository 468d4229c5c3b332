/*
 * Finds inlined calls and source lines of given addresses in a file's DWARF, using libdw.
 *
 * Only the necessary parts are read: an index of the units' address ranges once, then each unit
 * with some of the addresses once, for all its addresses together. Supports DWARF 4 and 5, split
 * units (.dwo), and the alternate file with shared entries made by dwz.
 *
 * libdw maps the file and trusts its content more than we do: call this in a parser (sym/source_lines). It opens the
 * files that DWARF refers to by their paths, relative to the path of the descriptor.
 */
#ifndef STOOK_ELF_DWARF_DEBUG_INFO_H
#define STOOK_ELF_DWARF_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Limit of functions at one address; beyond it, those between the innermost ones and the last are
 * dropped.
 */
#define DEBUG_LINES_MAX 256

/* One function at an address; strings are valid until the callback returns. */
struct debug_line {
	const char *function; /* linkage name (mangled) if DWARF has it, else plain; or NULL */
	const char *file;     /* path as given to the compiler; or NULL */
	uint32_t line;	      /* of the address, or of the call of the inner function; 0: unknown */
};

struct debug_info_request {
	const uint64_t *addresses; /* as linked, sorted, without duplicates */
	size_t nr;
	bool inlined; /* false: report only the last line, the function that is not inlined */
	bool lines;   /* false: .file and .line stay empty, and no line table is read */
	/*
	 * Called for each address i with known functions, in any order. The innermost inlined
	 * function comes first, the one that they are all inlined into last. A negative result ends
	 * the search and is returned.
	 */
	int (*found)(void *context, size_t i, const struct debug_line *lines, size_t nr_lines);
	void *context;
};

/* Statistics, for tests and figures. */
struct debug_info_work {
	size_t nr_units;      /* in the file */
	size_t nr_units_read; /* units that were read; none is read twice */
	size_t nr_split_lost; /* units whose .dwo file could not be found */
};

/* True if the file has DWARF (.debug_info, possibly compressed). fd stays open. */
bool debug_info_exists(int fd);

/* 0 or a negative errno: -ENOENT for a file without DWARF, -ENOEXEC, -ENOMEM. */
int debug_info_find(int fd, const struct debug_info_request *request, struct debug_info_work *ret,
		    struct error *error);

#endif
