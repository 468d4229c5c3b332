/*
 * The functions of one ELF file, for looking up addresses as linked (see elf_image.h).
 *
 * A sorted array over the file's own string tables as read: 16 bytes a function, no name is
 * copied. Of several names for one address perf's choice is kept (see symbol_name_compare()).
 */
#ifndef STOOK_ELF_SYMBOL_TABLE_H
#define STOOK_ELF_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/elf_image.h"

struct symbol_table;

/*
 * Reads .symtab and .dynsym, merged. A file without any symbols gives an empty table. NULL on
 * failure. The table does not need the image, or its file, any more.
 */
struct symbol_table *symbol_table_read(const struct elf_image *image, struct error *error);
void symbol_table_free(struct symbol_table *table);

/*
 * The name of the function that covers vaddr, and where it starts (ret_start may be NULL); NULL
 * if none does. The name is as in the file, mangled, but without a version `@…`; good until the
 * free.
 */
const char *symbol_table_find(const struct symbol_table *table, uint64_t vaddr,
			      uint64_t *ret_start);

size_t symbol_table_nr(const struct symbol_table *table);
size_t symbol_table_bytes(const struct symbol_table *table); /* memory held */

/*
 * Which of two names of one function, otherwise equal, is shown: the one with fewer leading
 * underscores, then the longer one. Negative if a is, positive if b is, 0 if they are the same.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
