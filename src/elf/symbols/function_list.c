/*
 * Lists functions one by one, with names in copies of the symbol tables' strings. Most names are
 * both in .symtab and .dynsym: duplicates are found by sorting all functions by address, and then
 * the names at each address.
 *
 * A local symbol's file is the STT_FILE symbol before it; the linker ends a file's symbols with the
 * next one, which may have an empty name.
 *
 * Users compare every name, so not only the number of names is limited: in a hostile file millions
 * of symbols could share one very long name.
 */
#include "elf/symbols/function_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/symbols/symbol_table_state.h"

#define FUNCTIONS_MAX	(16u << 20) /* the largest programs have a quarter of this */
#define NAMES_MAX_BYTES (1u << 30)

struct reader {
	struct symbol_scan scan;
	struct function_list *list;
	uint32_t source; /* file of the following local symbols */
};

/* --- adding ---------------------------------------------------------------------------------- */

/* The strings begin with an empty one, so that offset 0 is never a name from a file. */
static int begin_strings(struct function_list *list)
{
	if (list->nr_string_bytes)
		return 0;
	if (ARRAY_RESERVE(list->strings, list->string_capacity, 1) < 0)
		return -ENOMEM;
	list->strings[0] = '\0';
	list->nr_string_bytes = 1;
	return 0;
}

/* The function's name must be in the strings. 0, -E2BIG or -ENOMEM. */
static int add_function(struct function_list *list, const struct listed_function *function)
{
	size_t room = NAMES_MAX_BYTES - list->nr_name_bytes;
	size_t nr = strnlen(list->strings + function->name, room);

	if (list->nr >= FUNCTIONS_MAX || nr == room)
		return -E2BIG;
	if (ARRAY_ADD(list->functions, list->nr, list->capacity, *function) < 0)
		return -ENOMEM;
	list->nr_name_bytes += nr;
	return 0;
}

/* Removes all that was added since `before`. Reserved memory is kept. */
static void roll_back(struct function_list *list, const struct function_list *before)
{
	list->nr = before->nr;
	list->nr_string_bytes = before->nr_string_bytes;
	list->nr_name_bytes = before->nr_name_bytes;
}

/* --- from symbol tables ---------------------------------------------------------------------- */

static int take_symbol(void *context, const Elf64_Sym *symbol, uint32_t name)
{
	struct reader *reader = context;
	struct listed_function function = {
		.vaddr = symbol->st_value,
		.bytes = symbol->st_size,
		.name = name,
		.is_ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
		.is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL,
	};
	const struct code_range *code;
	int err;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_FILE)
		reader->source = reader->list->strings[name] ? name : 0;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC && !function.is_ifunc)
		return 0;
	code = symbol_scan_code(&reader->scan, symbol);
	if (!code || !reader->list->strings[name])
		return 0;
	if (function.bytes > code->end - function.vaddr)
		function.bytes = code->end - function.vaddr;
	if (function.is_local)
		function.source = reader->source;
	err = add_function(reader->list, &function);
	if (err == -E2BIG)
		return error_set(reader->scan.error, err, "too many functions, or names too long");
	return err < 0 ? error_no_memory(reader->scan.error, "for symbols") : 0;
}

int function_list_read(struct function_list *list, const struct elf_image *image, unsigned tables,
		       struct error *error)
{
	const struct symbol_strings strings = {&list->strings, &list->nr_string_bytes,
					       &list->string_capacity};
	struct reader reader = {.list = list};
	struct function_list before;
	int err = symbol_scan_open(&reader.scan, image, error);

	if (err < 0)
		return err;
	if (begin_strings(list) < 0) {
		err = error_no_memory(error, "for symbols");
	} else {
		before = *list;
		err = symbol_scan_read(&reader.scan, tables, &strings, take_symbol, &reader);
		if (err < 0)
			roll_back(list, &before);
	}
	symbol_scan_close(&reader.scan);
	return err;
}

/* --- from tables of other sources ------------------------------------------------------------ */

static int add_symbol(struct function_list *list, const struct symbol *symbol, const char *name)
{
	size_t nr = strlen(name) + 1;
	struct listed_function function = {
		.vaddr = symbol->start,
		.bytes = symbol->bytes,
		.name = (uint32_t)list->nr_string_bytes,
		.is_local = (symbol->rank & (SYMBOL_GLOBAL | SYMBOL_NOT_WEAK)) == SYMBOL_NOT_WEAK,
	};

	if (nr > SYMBOL_STRINGS_MAX_BYTES - list->nr_string_bytes)
		return -E2BIG;
	if (ARRAY_RESERVE(list->strings, list->string_capacity, list->nr_string_bytes + nr) < 0)
		return -ENOMEM;
	memcpy(list->strings + list->nr_string_bytes, name, nr);
	list->nr_string_bytes += nr;
	return add_function(list, &function);
}

int function_list_add_table(struct function_list *list, const struct symbol_table *table)
{
	struct function_list before;
	int err = begin_strings(list);
	size_t i;

	before = *list;
	for (i = 0; i < table->nr && err == 0; i++) {
		const struct symbol *symbol = &table->symbols[i];

		if (symbol->rank & SYMBOL_TYPED)
			err = add_symbol(list, symbol, table->strings + symbol->name);
	}
	if (err < 0)
		roll_back(list, &before);
	return err;
}

/* --- sorting and merging --------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right, void *context)
{
	const struct listed_function *a = left, *b = right;
	const char *strings = context;

	return a->name == b->name ? 0 : strcmp(strings + a->name, strings + b->name);
}

/* Merges two symbols with the same name and address: each may lack some information. */
static void merge(struct listed_function *into, const struct listed_function *other)
{
	if (other->bytes > into->bytes)
		into->bytes = other->bytes;
	if (!into->source)
		into->source = other->source;
	into->is_ifunc |= other->is_ifunc;
	into->is_local &= other->is_local;
}

/*
 * Sorts nr functions at one address by name and appends them, without duplicates, to the first
 * nr_kept.
 */
static size_t keep_names(struct function_list *list, size_t first, size_t nr, size_t nr_kept)
{
	struct listed_function *functions = list->functions;
	size_t i, first_kept = nr_kept;

	if (nr > 1)
		qsort_r(functions + first, nr, sizeof(*functions), compare_names, list->strings);
	for (i = first; i < first + nr; i++) {
		if (nr_kept > first_kept &&
		    !compare_names(&functions[nr_kept - 1], &functions[i], list->strings))
			merge(&functions[nr_kept - 1], &functions[i]);
		else
			functions[nr_kept++] = functions[i];
	}
	return nr_kept;
}

int function_list_settle(struct function_list *list)
{
	size_t first, nr, nr_kept = 0;

	if (address_sort(list->functions, list->nr, sizeof(*list->functions)) < 0)
		return -ENOMEM;
	for (first = 0; first < list->nr; first += nr) {
		uint64_t vaddr = list->functions[first].vaddr;

		for (nr = 1; first + nr < list->nr; nr++)
			if (list->functions[first + nr].vaddr != vaddr)
				break;
		nr_kept = keep_names(list, first, nr, nr_kept);
	}
	list->nr = nr_kept;
	return 0;
}

void function_list_clear(struct function_list *list)
{
	free(list->functions);
	free(list->strings);
	*list = (struct function_list){0};
}
