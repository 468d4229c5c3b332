/*
 * What a symbol table is made of, for those in this folder who fill it or list all of it.
 * Others include elf/symbols/symbol_table.h.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H
#define STOOK_ELF_SYMBOLS_SYMBOL_TABLE_STATE_H

#include <stddef.h>
#include <stdint.h>

/* What a hostile file can make us hold; the largest programs have a quarter of it. */
#define SYMBOL_STRINGS_MAX_BYTES (512u << 20)

#define SYMBOL_MAX_BYTES ((1u << 27) - 1) /* of one function; what is longer is cut */

/* Of several symbols at one address the one with the greatest sum is kept. */
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

struct symbol_table {
	struct symbol *symbols; /* once settled: by start, all different */
	size_t nr, capacity;
	char *strings;
	size_t nr_string_bytes, string_capacity;
};

/* Adds a symbol whose name is in the strings already. 0, -ENOMEM, or -E2BIG past the limit. */
int symbol_table_append(struct symbol_table *table, const struct symbol *symbol);

#endif
