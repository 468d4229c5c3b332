/*
 * All functions of a program or library, for selecting functions by name, whereas symbol_table.h is
 * for looking up addresses. All names of an address are listed.
 *
 *	struct function_list list = {0};
 *	function_list_read(&list, &image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC, &error);	as often as needed
 *	function_list_settle(&list);
 *	… list.functions[i] …
 *	function_list_clear(&list);
 *
 * A call that fails leaves the list unchanged.
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
	uint64_t vaddr, bytes; /* as linked; bytes 0: unknown. vaddr is first for sorting */
	uint32_t name;	       /* offset in the strings; without a version `@…` */
	uint32_t source;       /* offset in the strings: the file of a local symbol; 0: unknown */
	bool is_ifunc;	       /* vaddr is the resolver's */
	bool is_local;
};

struct function_list {
	struct listed_function *functions; /* once settled: by vaddr, then name; no duplicates */
	size_t nr, capacity;
	char *strings;
	size_t nr_string_bytes, string_capacity;
	size_t nr_name_bytes; /* of all names; shared strings count for each */
};

static inline const char *function_list_text(const struct function_list *list, uint32_t text)
{
	return list->strings + text;
}

/*
 * Adds the functions in an image's symbol tables (SYMBOLS_… of symbol_table.h): defined symbols of
 * type FUNC or GNU_IFUNC in code. The image may be a debug file of the program. 0, -ENOMEM, -E2BIG
 * beyond a limit, or -ENOEXEC.
 */
int function_list_read(struct function_list *list, const struct elf_image *image, unsigned tables,
		       struct error *error);

/*
 * Adds the functions of a table made by another source: MiniDebugInfo, Go's own table. Labels,
 * which have no type, are skipped. 0, -ENOMEM or -E2BIG.
 */
int function_list_add_table(struct function_list *list, const struct symbol_table *table);

/* Sorts the functions and removes duplicates. 0 or -ENOMEM. */
int function_list_settle(struct function_list *list);

void function_list_clear(struct function_list *list);

#endif
