/*
 * Go's own table of functions, .gopclntab (pclntab): its runtime needs it, so it is there in
 * stripped programs too. Its layout, in the versions that there are:
 *
 *	Go 1.2	header: magic, 0, 0, least instruction size, pointer size (eight bytes); functions
 *		functions: pairs (address, offset of more), addresses last plus one, all of them
 *		pointers; more: address as pointer, offset of the name in 32 bits, …
 *		all offsets from the beginning of the table
 *	Go 1.16	header: the eight bytes, numbers of functions and of files; the offsets of five
 *		parts, of which the first has the names, the last the functions
 *		offsets of names from the first part, of more from the last
 *	Go 1.18	header: as before, but an address, of the code, stands before the offsets
 *		addresses are offsets from there, and they and offsets have 32 bits
 *	Go 1.20	the same
 */
#ifndef STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H
#define STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file is not Go's. 0, -ENOMEM, or -ENOEXEC for a table that makes no sense. */
int go_functions_read(struct symbol_table **ret, const struct elf_image *image,
		      struct error *error);

/* --- one table, as bytes: for the tests as well ---------------------------------------------- */

#define GO_HEADER_MAX_BYTES 72
#define GO_TABLE_ALIGN	    16 /* at least; linkers choose 32 */

/* Offsets are from the beginning of the table; all parts lie inside it. */
struct go_header {
	uint64_t nr_functions;
	unsigned pointer_bytes;
	bool has_offsets; /* of 32 bits, from text: not addresses */
	uint64_t text;	  /* 0: it stands elsewhere */
	uint64_t names, names_end;
	uint64_t parts;	    /* what the offsets of functions count from */
	uint64_t functions; /* the first pair */
};

/* Reads a header from the first bytes of a table that has nr_table bytes. 0 or -ENOEXEC. */
int go_header_parse(struct go_header *ret, struct bytes bytes, uint64_t nr_table);

/* One function, from [start, end). name: an offset from header->names, not yet checked. */
struct go_function {
	uint64_t start, end;
	uint32_t name;
};

/*
 * The i-th function. parts: the bytes of the table from header->parts on. False if what stands
 * there makes no sense.
 */
bool go_function_parse(struct go_function *ret, const struct go_header *header, struct bytes parts,
		       uint64_t i);

#endif
