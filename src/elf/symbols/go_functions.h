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
 *
 * A function's entry goes on, in all versions, with 32 bits each for its arguments, for deferred
 * calls, and for its stack sizes: an offset from the fourth part (before Go 1.16 from the beginning
 * of the table). Stack sizes are pairs of variable length: how much larger than before, with its
 * sign in the lowest bit, and for how many instruction sizes; before the first the size is -1; a
 * change of 0 that is not the first ends them.
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
	unsigned instruction_bytes; /* the least of one */
	bool has_offsets;	    /* of 32 bits, from text: not addresses */
	uint64_t text;		    /* 0: it stands elsewhere */
	uint64_t names, names_end;
	uint64_t sizes;	    /* what the offsets of stack sizes count from */
	uint64_t parts;	    /* what the offsets of functions count from */
	uint64_t functions; /* the first pair */
};

/* Reads a header from the first bytes of a table that has nr_table bytes. 0 or -ENOEXEC. */
int go_header_parse(struct go_header *ret, struct bytes bytes, uint64_t nr_table);

/* One function, from [start, end). Offsets are not yet checked. */
struct go_function {
	uint64_t start, end;
	uint32_t name;	/* from header->names */
	uint32_t sizes; /* from header->sizes; 0: nothing is said of its stack */
};

/*
 * The i-th function. parts: the bytes of the table from header->parts on. False if what stands
 * there makes no sense.
 */
bool go_function_parse(struct go_function *ret, const struct go_header *header, struct bytes parts,
		       uint64_t i);

/*
 * --- functions with their stacks, for unwinding -------------------------------------------------
 *
 *	go_sizes_init(&sizes, table, &function);
 *	while (go_sizes_next(&sizes, &start, &end, &bytes))
 *		from start up to end, the function has so many bytes below its return address
 *
 * On arm64, where a call leaves nothing on the stack, it is below the caller's stack pointer.
 */

struct go_table {
	struct go_header header;
	struct bytes names, sizes, parts;
	uint8_t *memory[3];
};

/*
 * Reads the table. 0 and a table without functions if the file is not Go's; otherwise as
 * go_functions_read(). Clear it in either case.
 */
int go_table_read(struct go_table *table, const struct elf_image *image, struct error *error);
void go_table_clear(struct go_table *table);

/* The i-th of header.nr_functions, and its name; false if they make no sense. */
bool go_table_function(const struct go_table *table, uint64_t i, struct go_function *ret,
		       const char **ret_name);

struct go_sizes {
	struct bytes left;
	uint64_t at, end; /* addresses */
	int64_t bytes;
	unsigned instruction_bytes;
	bool is_first;
};

void go_sizes_init(struct go_sizes *sizes, const struct go_table *table,
		   const struct go_function *function);
bool go_sizes_next(struct go_sizes *sizes, uint64_t *ret_start, uint64_t *ret_end,
		   int64_t *ret_bytes);

#endif
