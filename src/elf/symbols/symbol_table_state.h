/*
 * Internals of symbol tables, and reading ELF symbols, for the files in this directory that fill a
 * table or list all of it. Other code includes elf/symbols/symbol_table.h.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H
#define STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

/* Limit of memory for strings, against hostile files; the largest programs have a quarter of it. */
#define SYMBOL_STRINGS_MAX_BYTES (512u << 20)

#define SYMBOL_MAX_BYTES ((1u << 27) - 1) /* of one function; larger sizes are reduced to this */

/* perf shows the symbol with the greatest rank at an address. */
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
	uint32_t nested : 1; /* an earlier symbol ends after this one */
	uint32_t rank : 4;   /* sum of enum symbol_rank */
};

/* perf's name for a function, if it differs from ours. */
struct other_name {
	uint64_t start;
	uint32_t name;
};

struct symbol_table {
	struct symbol *symbols; /* once settled: by start, without duplicates */
	size_t nr, capacity;
	struct other_name *others; /* by start */
	size_t nr_others, cap_others;
	char *strings;
	size_t nr_string_bytes, string_capacity;
};

/* Adds a symbol whose name is already in the strings. 0, -ENOMEM, or -E2BIG beyond the limit. */
int symbol_table_append(struct symbol_table *table, const struct symbol *symbol);

/* --- the symbols of an image ----------------------------------------------------------------- */

/* The address range of an executable section. */
struct code_range {
	uint64_t start, end;
};

/* Reads an image's symbol tables, symbol by symbol in the order of the file. */
struct symbol_scan {
	const struct elf_image *image;
	struct error *error;	 /* set by symbol_scan_open(); filled on every failure */
	struct code_range *code; /* by start */
	size_t nr_code;
	GElf_Shdr symtab, dynsym; /* sh_type is 0 if there is none */
};

/* The caller's array, to which the strings of tables are appended. */
struct symbol_strings {
	char **bytes;
	size_t *nr, *capacity;
};

/* name: offset in the strings; NUL-terminated, without a version `@…`. */
typedef int symbol_visit(void *context, const Elf64_Sym *symbol, uint32_t name);

/* 0, -ENOEXEC or -ENOMEM; on failure there is nothing to close. */
int symbol_scan_open(struct symbol_scan *scan, const struct elf_image *image, struct error *error);
void symbol_scan_close(struct symbol_scan *scan);

/*
 * Reads some tables (SYMBOLS_… of symbol_table.h) and calls visit() for each symbol with a readable
 * name. Stops at visit()'s first negative result and returns it; otherwise 0, -ENOEXEC or -ENOMEM.
 */
int symbol_scan_read(struct symbol_scan *scan, unsigned tables,
		     const struct symbol_strings *strings, symbol_visit *visit, void *context);

/*
 * The code section in which a function starts; NULL if there is none, or the symbol is undefined.
 */
const struct code_range *symbol_scan_code(const struct symbol_scan *scan, const Elf64_Sym *symbol);

/* --- sorting --------------------------------------------------------------------------------- */

/* Stable sort of nr items by their first member, a uint64_t. 0, or -ENOMEM and no change. */
int address_sort(void *items, size_t nr, size_t item_bytes);

#endif
