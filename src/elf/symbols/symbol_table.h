/*
 * The functions of a file, for looking up addresses as linked (see elf_image.h).
 *
 * A sorted array over the file's own string tables as read: 16 bytes a function, no name is
 * copied. Of several names for one address the one that programmers write is kept, and beside it
 * the one that perf shows.
 *
 * Most come from ELF symbol tables; what else knows where functions are (Go's own table, the stubs
 * of dynamic linking) makes a table by adding to an empty one.
 */
#ifndef STOOK_ELF_SYMBOLS_SYMBOL_TABLE_H
#define STOOK_ELF_SYMBOLS_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"

struct symbol_table;

/* Which tables of an image to read. */
#define SYMBOLS_STATIC	(1u << 0) /* .symtab */
#define SYMBOLS_DYNAMIC (1u << 1) /* .dynsym */

struct symbol_part {
	const struct elf_image *image;
	unsigned tables;
};

/*
 * Reads tables and merges them; all images are of one program (itself, its debug file), with the
 * same addresses. Without any symbols it is empty. NULL on failure. The table does not need the
 * images, or their files, any more.
 */
struct symbol_table *symbol_table_read(const struct symbol_part *parts, size_t nr,
				       struct error *error);

/* An empty one; symbols are added in any order, and found after they are settled. */
struct symbol_table *symbol_table_new(void);
int symbol_table_add(struct symbol_table *table, uint64_t start, uint64_t bytes, const char *name);
int symbol_table_settle(struct symbol_table *table);

/*
 * The type of all sources of functions in a file. *ret is left alone if the file has none. 0,
 * -ENOMEM, or -ENOEXEC for what makes no sense.
 */
typedef int symbol_source(struct symbol_table **ret, const struct elf_image *image,
			  struct error *error);

void symbol_table_free(struct symbol_table *table);

/*
 * The name of the function that covers vaddr, and where it starts (ret_start may be NULL); NULL
 * if none does. The name is as in the file, mangled, but without a version `@…`; good until the
 * free.
 */
const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr,
			      uint64_t *ret_start);

/* The same, with the name that perf shows of several at the function's start. */
const char *symbol_table_find_for_perf(const struct symbol_table *table, uint64_t vaddr,
				       uint64_t *ret_start);

size_t symbol_table_nr(const struct symbol_table *table);
size_t symbol_table_bytes(const struct symbol_table *table); /* memory held */

/*
 * Which of two names of one function, otherwise equal, perf shows, and the kernel's functions have
 * here: the one with fewer leading underscores, then the longer one. Negative if a is, positive if b
 * is, 0 if they are the same.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
