/*
 * All functions of a program or library: for choosing among them by name, where symbol_table.h is
 * for looking up addresses. Every name that an address has is listed.
 *
 *	struct function_list list = {0};
 *	function_list_read(&list, &image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC, &error);	as often as needed
 *	function_list_settle(&list);
 *	… list.functions[i] …
 *	function_list_clear(&list);
 *
 * A call that fails leaves the list as it was.
 */
#ifndef STOOK_ELF_SYMBOLS_FUNCTION_LIST_H
#define STOOK_ELF_SYMBOLS_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/symbol_table.h"

struct listed_function {
	uint64_t vaddr, bytes; /* as linked; bytes 0: not told. vaddr comes first for sorting */
	uint32_t name;	       /* in the strings: as in the file, without a version `@…` */
	uint32_t source;       /* in the strings: the file of a local symbol; 0: not known */
	bool is_ifunc;	       /* vaddr is the resolver's */
	bool is_local;
};

struct function_list {
	struct listed_function *functions; /* settled: by vaddr, then name; no pair twice */
	size_t nr, capacity;
	char *strings;
	size_t nr_string_bytes, string_capacity;
	size_t nr_name_bytes; /* of all names; what they share counts for each */
};

static inline const char *function_list_text(const struct function_list *list, uint32_t text)
{
	return list->strings + text;
}

/*
 * Adds the functions of an image's symbol tables (SYMBOLS_… of symbol_table.h): typed FUNC or
 * GNU_IFUNC, defined, and in code. The image may be a debug file of the program. 0, -ENOMEM, -E2BIG
 * past a limit, or -ENOEXEC.
 */
int function_list_read(struct function_list *list, const struct elf_image *image, unsigned tables,
		       struct error *error);

/*
 * Adds what another source has made a table of: MiniDebugInfo, Go's own table. Labels, which have
 * no type, are left out. 0, -ENOMEM or -E2BIG.
 */
int function_list_add_table(struct function_list *list, const struct symbol_table *table);

/* Sorts what was added so far, and takes out what is there twice. 0 or -ENOMEM. */
int function_list_settle(struct function_list *list);

void function_list_clear(struct function_list *list);

#endif
