/*
 * Reads Go's own table of functions, .gopclntab (pclntab). Go's runtime needs it, so stripped
 * programs have it, too. Its layout by version:
 *
 *	Go 1.2	header: magic, 0, 0, minimum instruction size, pointer size (eight bytes); functions
 *		functions: their number; pairs (address, offset of entry), and the end address of the
 *		last one, all as pointers; entry: address as pointer, 32-bit offset of the name, …
 *		all offsets are relative to the start of the table
 *	Go 1.16	header: the eight bytes, numbers of functions and of files; the offsets of five
 *		parts, of which the first has the names, the last the functions
 *		offsets of names are relative to the first part, of entries to the last
 *	Go 1.18	header: as before, but with the address of the code before the offsets
 *		addresses are 32-bit offsets from it, and other offsets have 32 bits, too
 *	Go 1.20	the same
 *
 * In all versions a function's entry continues with 32 bits each for its arguments, for deferred
 * calls, and for its stack sizes: an offset relative to the fourth part (before Go 1.16 to the
 * start of the table). Stack sizes are pairs of variable-length numbers: the change of the size,
 * with its sign in the lowest bit, and the number of instruction sizes for which the new size is
 * valid. The size is initially -1; a change of 0, except as the first one, ends the list.
 */
#ifndef STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H
#define STOOK_ELF_SYMBOLS_GO_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

/* *ret: NULL if the file is not Go's. 0, -ENOMEM, or -ENOEXEC for an invalid table. */
int go_functions_read(struct symbol_table **ret, const struct elf_image *image,
		      struct error *error);

/* --- one table in memory, also for tests ----------------------------------------------------- */

#define GO_HEADER_MAX_BYTES 72
#define GO_TABLE_ALIGN	    16 /* at least; linkers use 32 */

/* Offsets are relative to the start of the table; all parts are inside it. */
struct go_header {
	uint64_t nr_functions;
	unsigned pointer_bytes;
	unsigned instruction_bytes; /* the minimum */
	bool has_offsets;	    /* 32-bit offsets from text instead of addresses */
	uint64_t text;		    /* start of the code; 0: not in the header */
	uint64_t names, names_end;
	uint64_t sizes;	    /* base of the offsets of stack sizes */
	uint64_t parts;	    /* base of the offsets of functions */
	uint64_t functions; /* offset of the first pair */
};

/* Parses a header from the first bytes of a table of nr_table bytes. 0 or -ENOEXEC. */
int go_header_parse(struct go_header *ret, struct bytes bytes, uint64_t nr_table);

/* A function, [start, end). Offsets are not checked yet. */
struct go_function {
	uint64_t start, end;
	uint32_t name;	/* relative to header->names */
	uint32_t sizes; /* relative to header->sizes; 0: stack sizes unknown */
};

/*
 * Parses the i-th function. parts: the bytes of the table from header->parts on. False if it is
 * invalid.
 */
bool go_function_parse(struct go_function *ret, const struct go_header *header, struct bytes parts,
		       uint64_t i);

/*
 * --- functions with their stack sizes, for unwinding --------------------------------------------
 *
 *	go_sizes_init(&sizes, table, &function);
 *	while (go_sizes_next(&sizes, &start, &end, &bytes))
 *		in [start, end) the function has `bytes` on the stack below its return address
 *
 * On arm64, where a call pushes nothing, the bytes are below the caller's stack pointer.
 */

struct go_table {
	struct go_header header;
	struct bytes names, sizes, parts;
	uint8_t *memory[3];
};

/*
 * Reads the table. 0 and a table without functions if the file is not Go's; otherwise like
 * go_functions_read(). Call go_table_clear() in either case.
 */
int go_table_read(struct go_table *table, const struct elf_image *image, struct error *error);
void go_table_clear(struct go_table *table);

/* The i-th function (of header.nr_functions) and its name; false if they are invalid. */
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
