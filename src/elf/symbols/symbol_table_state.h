/*
 * The parts of a symbol table, and the ELF symbols that it is read from, for the files in this
 * folder that fill a table or list all of it. Others include elf/symbols/symbol_table.h.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H
#define STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

/* Bounds what a hostile file can make us hold; the largest programs have a quarter of it. */
#define SYMBOL_STRINGS_MAX_BYTES (512u << 20)

#define SYMBOL_MAX_BYTES ((1u << 27) - 1) /* of one function; what is longer is cut */

/* perf shows the symbol with the greatest sum of those at one address. */
enum symbol_rank {
	SYMBOL_GLOBAL = 1 << 0,
	SYMBOL_NOT_WEAK = 1 << 1,
	SYMBOL_TYPED = 1 << 2,
	SYMBOL_SIZED = 1 << 3,
};

struct symbol {
	uint64_t start; /* first, for address_sort() */
	uint32_t name;	/* offset in the strings */
	uint32_t bytes : 27;
	uint32_t nested : 1; /* an earlier symbol reaches past the end of this one */
	uint32_t rank : 4;   /* of enum symbol_rank */
};

/* The name that perf shows for a function, where ours is another. */
struct other_name {
	uint64_t start;
	uint32_t name;
};

struct symbol_table {
	struct symbol *symbols; /* once settled: by start, all different */
	size_t nr, capacity;
	struct other_name *others; /* by start */
	size_t nr_others, cap_others;
	char *strings;
	size_t nr_string_bytes, string_capacity;
};

/* Adds a symbol whose name is in the strings already. 0, -ENOMEM, or -E2BIG past the limit. */
int symbol_table_append(struct symbol_table *table, const struct symbol *symbol);

/* --- the symbols of an image ----------------------------------------------------------------- */

/* An executable section's addresses. */
struct code_range {
	uint64_t start, end;
};

/* Reads an image's symbol tables, one symbol after the other as they lie in the file. */
struct symbol_scan {
	const struct elf_image *image;
	struct error *error;	 /* of the open; filled by all that fails */
	struct code_range *code; /* by start */
	size_t nr_code;
	GElf_Shdr symtab, dynsym; /* sh_type is 0 if there is none */
};

/* An array of its user's, in which the strings of tables gather, one behind the other. */
struct symbol_strings {
	char **bytes;
	size_t *nr, *capacity;
};

/* name: where it begins in the strings; it ends there, and before a version `@…`. */
typedef int symbol_visit(void *context, const Elf64_Sym *symbol, uint32_t name);

/* 0, -ENOEXEC or -ENOMEM; then there is nothing to close. */
int symbol_scan_open(struct symbol_scan *scan, const struct elf_image *image, struct error *error);
void symbol_scan_close(struct symbol_scan *scan);

/*
 * Reads some tables (SYMBOLS_… of symbol_table.h) and visits each symbol whose name is there.
 * visit()'s first negative result ends it and is returned; -ENOEXEC and -ENOMEM also of its own.
 */
int symbol_scan_read(struct symbol_scan *scan, unsigned tables,
		     const struct symbol_strings *strings, symbol_visit *visit, void *context);

/* The code that a function starts in; NULL if it does not, or the symbol is of no section. */
const struct code_range *symbol_scan_code(const struct symbol_scan *scan, const Elf64_Sym *symbol);

/* --- sorting --------------------------------------------------------------------------------- */

/*
 * Sorts nr items, whose first member is a uint64_t, by it; equal ones keep their order. 0, or
 * -ENOMEM and no change.
 */
int address_sort(void *items, size_t nr, size_t item_bytes);

#endif
