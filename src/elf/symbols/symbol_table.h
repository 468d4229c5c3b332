/*
 * The functions of a file, for looking up addresses as linked (see elf_image.h).
 *
 * A sorted array with names in copies of the file's string tables: 16 bytes per function, no
 * separate copy of a name. If an address has several names, the one that programmers use is kept,
 * and in addition the one that perf shows.
 *
 * Most tables are read from ELF symbol tables; other sources of functions (Go's own table, PLT
 * stubs) add to an empty table.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_TABLE_H
#define STOOK_ELF_SYMBOLS_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

struct symbol_table;

/* Bits: the tables of an image to read. */
#define SYMBOLS_STATIC	(1u << 0) /* .symtab */
#define SYMBOLS_DYNAMIC (1u << 1) /* .dynsym */

struct symbol_part {
	const struct elf_image *image;
	unsigned tables;
};

/*
 * Reads and merges tables; all images must be of the same program (itself, its debug file), with
 * the same addresses. The result is empty if there are no symbols. NULL on failure. The images and
 * their files are not needed afterwards.
 */
struct symbol_table *symbol_table_read(const struct symbol_part *parts, size_t nr,
				       struct error *error);

/* An empty table; symbols are added in any order, and can be found after symbol_table_settle(). */
struct symbol_table *symbol_table_new(void);
int symbol_table_add(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name);
int symbol_table_settle(struct symbol_table *table);

/*
 * The type of functions that read symbols from a file. *ret is unchanged if the file has none. 0,
 * -ENOMEM, or -ENOEXEC for invalid data.
 */
typedef int symbol_source(struct symbol_table **ret, const struct elf_image *image,
			  struct error *error);

void symbol_table_free(struct symbol_table *table);

/*
 * The name of the function that contains vaddr, and its start (ret_start may be NULL); NULL if
 * there is none. The name is as in the file, mangled, but without a version `@…`; valid until
 * symbol_table_free().
 */
const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr,
			      uint64_t *ret_start);

/* Like symbol_table_find(); if the function has several names, returns the one that perf shows. */
const char *symbol_table_find_for_perf(const struct symbol_table *table, uint64_t vaddr,
				       uint64_t *ret_start);

size_t symbol_table_nr(const struct symbol_table *table);
size_t symbol_table_bytes(const struct symbol_table *table); /* memory held */

/*
 * Compares two names of one function by perf's preference, which is used for kernel functions, too:
 * the one with fewer leading underscores, then the longer one. Negative if a is preferred, positive
 * if b, 0 if they are equal.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
