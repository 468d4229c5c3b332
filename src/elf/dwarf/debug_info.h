/*
 * Inlined calls and source lines of given addresses, from a file's DWARF, by libdw.
 *
 * Only what the addresses need is read: an index of the units' address ranges once, then each unit
 * that has one of them once, with all its addresses together. DWARF 4 and 5, split units (.dwo),
 * the file of shared entries that dwz makes.
 *
 * libdw maps the file, and trusts it more than we do: this is to be called in a child process
 * (base/isolated) when the file is somebody else's.
 */
#ifndef STOOK_ELF_DWARF_DEBUG_INFO_H
#define STOOK_ELF_DWARF_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Functions at one address; of more, those between the innermost ones and the last are left out. */
#define DEBUG_LINES_MAX 256

/* One function at an address; texts are good until the callback returns. */
struct debug_line {
	const char *function; /* as linked (mangled) where DWARF tells that, else plain; NULL */
	const char *file;     /* path as the compiler had it; NULL */
	uint32_t line;	      /* where it runs, or calls the next inner one; 0: not known */
};

struct debug_info_request {
	const uint64_t *addresses; /* as linked, sorted, each once */
	size_t nr;
	bool inlined; /* else only the last of the lines below: the function that is really there */
	bool lines;   /* else .file and .line stay empty, and no line table is read */
	/* Where the file lies, for dwz's file beside it; NULL: where /proc/self/fd says. */
	const char *folder;
	/*
	 * Called for each address i that something is known of, in any order, with the functions
	 * there: the innermost inlined one first, last the one that it was all inlined into. A
	 * negative result ends the work and is returned.
	 */
	int (*found)(void *context, size_t i, const struct debug_line *lines, size_t nr_lines);
	void *context;
};

/* How much was done, for tests and figures. */
struct debug_info_work {
	size_t nr_units;      /* in the file */
	size_t nr_units_read; /* of them; none is read twice */
	size_t nr_split_lost; /* units whose .dwo file could not be found */
};

/* True if the file has any DWARF (.debug_info, perhaps compressed). fd stays the caller's. */
bool debug_info_is_in(int fd);

/* 0 or a negative errno: -ENOENT for a file without DWARF, -ENOEXEC, -ENOMEM. */
int debug_info_find(int fd, const struct debug_info_request *request, struct debug_info_work *ret,
		    struct error *error);

#endif
