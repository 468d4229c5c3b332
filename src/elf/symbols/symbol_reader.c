/*
 * Makes a symbol table of the functions of ELF symbol tables; a part of symbol_table. They pass by
 * (elf/symbols/symbol_scan), so the peak is the strings plus 16 bytes for each function, twice that while
 * they are sorted.
 *
 * What is a function: STT_FUNC and STT_GNU_IFUNC in an executable section, and STT_NOTYPE there,
 * the labels of assembly.
 */
#include <errno.h>
#include <stdbool.h>

#include "elf/symbols/symbol_scan.h"
#include "elf/symbols/symbol_table.h"
#include "elf/symbols/symbol_table_state.h"

struct reader {
	struct symbol_scan scan;
	struct symbol_table *table;
};

/* `$x`, `$d.42`: they mark code and data for disassemblers on arm64, and are no functions. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && (!name[2] || name[2] == '.');
}

static unsigned rank_of(const Elf64_Sym *symbol)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	unsigned rank = 0;

	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		rank |= SYMBOL_GLOBAL;
	if (binding != STB_WEAK)
		rank |= SYMBOL_NOT_WEAK;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE)
		rank |= SYMBOL_TYPED;
	if (symbol->st_size)
		rank |= SYMBOL_SIZED;
	return rank;
}

static int add_symbol(struct reader *reader, const Elf64_Sym *symbol, const struct code_range *code,
		      uint32_t name)
{
	uint64_t bytes = code->end - symbol->st_value; /* what is left of the section */
	struct symbol added = {
		.start = symbol->st_value,
		.name = name,
		.rank = rank_of(symbol),
	};
	int err;

	if (symbol->st_size && symbol->st_size < bytes)
		bytes = symbol->st_size;
	added.bytes = bytes < SYMBOL_MAX_BYTES ? (uint32_t)bytes : SYMBOL_MAX_BYTES;
	err = symbol_table_append(reader->table, &added);
	if (err == -E2BIG)
		return symbol_scan_refuse(&reader->scan, "there are too many symbols");
	return err < 0 ? symbol_scan_out_of_memory(&reader->scan) : 0;
}

/* Adds the symbol if it is a function. */
static int take_symbol(void *context, const Elf64_Sym *symbol, uint32_t name)
{
	struct reader *reader = context;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const char *text = reader->table->strings + name;
	const struct code_range *code;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	code = symbol_scan_code(&reader->scan, symbol);
	if (!code || !text[0] || (type == STT_NOTYPE && is_mapping_symbol(text)))
		return 0;
	return add_symbol(reader, symbol, code, name);
}

static int read_part(struct symbol_table *table, const struct symbol_part *part,
		     struct error *error)
{
	const struct symbol_strings strings = {&table->strings, &table->nr_string_bytes,
					       &table->string_capacity};
	struct reader reader = {.table = table};
	int err = symbol_scan_open(&reader.scan, part->image, error);

	if (err < 0)
		return err;
	err = symbol_scan_read(&reader.scan, part->tables, &strings, take_symbol, &reader);
	symbol_scan_close(&reader.scan);
	return err;
}

struct symbol_table *symbol_table_read(const struct symbol_part *parts, size_t nr,
				       struct error *error)
{
	struct symbol_table *table = symbol_table_new();
	int err = table ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < nr && err == 0; i++)
		err = read_part(table, &parts[i], error);
	if (err == 0)
		err = symbol_table_settle(table);
	if (err == 0)
		return table;
	if (err == -ENOMEM)
		(void)error_set(error, err, "out of memory for symbols");
	symbol_table_free(table);
	return NULL;
}
