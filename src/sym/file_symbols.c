/*
 * The table of sources. Where a file has all its symbols, only the first one is ever read; a file
 * that is not to be had at all can still have names by its build id.
 *
 * A .symtab is merged with .dynsym: they are of one piece. So is .gnu_debugdata, which holds only
 * what .dynsym does not.
 */
#include "sym/file_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/symbols/debug_data.h"
#include "elf/symbols/go_functions.h"
#include "elf/symbols/plt_stubs.h"
#include "elf/symbols/symbol_table.h"
#include "sym/debuginfod.h"

/* --- the sources ----------------------------------------------------------------------------- */

/* *ret: NULL if the tables that were asked for have no function. */
static int read_tables(const struct elf_image *image, unsigned tables, struct symbol_table **ret,
		       struct error *error)
{
	const struct symbol_part part = {image, tables};
	struct symbol_table *table = symbol_table_read(&part, 1, error);

	if (!table)
		return error->code;
	if (symbol_table_nr(table)) {
		*ret = table;
		return 0;
	}
	symbol_table_free(table);
	return 0;
}

/* The whole table, or nothing. */
static int symtab_read(struct symbol_table **ret, const struct elf_image *image,
		       struct error *error)
{
	if (!elf_image_has_section(image, SHT_SYMTAB))
		return 0;
	return read_tables(image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC, ret, error);
}

static int dynsym_read(struct symbol_table **ret, const struct elf_image *image,
		       struct error *error)
{
	return read_tables(image, SYMBOLS_DYNAMIC, ret, error);
}

/* From another file than the one that was sampled; fd: below 0 if there is none. */
static int read_from(int fd, symbol_source *read, struct symbol_table **ret, struct error *error)
{
	struct elf_image image;
	int err;

	if (fd < 0)
		return 0;
	err = elf_image_open(&image, fd, error);
	if (err < 0)
		return err;
	err = read(ret, &image, error);
	elf_image_close(&image);
	return err;
}

static int read_from_debug_file(const struct file_symbols_input *input, symbol_source *read,
				struct symbol_table **ret, struct error *error)
{
	return read_from(debug_files_find(input->places, input->file, input->image), read, ret,
			 error);
}

/*
 * From the file itself. Where it is not to be had, what lies among the debug files may be all of it:
 * perf's and debuginfod's caches have such.
 */
static int read_from_file(const struct file_symbols_input *input, symbol_source *read,
			  struct symbol_table **ret, struct error *error)
{
	if (input->image)
		return read(ret, input->image, error);
	return read_from_debug_file(input, read, ret, error);
}

static int read_symtab(const struct file_symbols_input *input, struct symbol_table **ret,
		       struct error *error)
{
	return input->image ? symtab_read(ret, input->image, error) : 0;
}

static int read_debug_file(const struct file_symbols_input *input, struct symbol_table **ret,
			   struct error *error)
{
	return read_from_debug_file(input, symtab_read, ret, error);
}

static int read_debug_data(const struct file_symbols_input *input, struct symbol_table **ret,
			   struct error *error)
{
	return read_from_file(input, debug_data_read, ret, error);
}

static int read_dynsym(const struct file_symbols_input *input, struct symbol_table **ret,
		       struct error *error)
{
	return read_from_file(input, dynsym_read, ret, error);
}

static int read_go(const struct file_symbols_input *input, struct symbol_table **ret,
		   struct error *error)
{
	return read_from_file(input, go_functions_read, ret, error);
}

static int read_plt(const struct file_symbols_input *input, struct symbol_table **ret,
		    struct error *error)
{
	return read_from_file(input, plt_stubs_read, ret, error);
}

static int read_debuginfod(const struct file_symbols_input *input, struct symbol_table **ret,
			   struct error *error)
{
	cleanup_fd int fd = -1;

	if (!input->debuginfod)
		return 0;
	fd = debuginfod_open(input->debuginfod, input->file->build_id, input->file->build_id_bytes);
	return read_from(fd, symtab_read, ret, error);
}

enum {
	SYMTAB,
	PLT, /* no other table has these: they need not make us look for one */
	DEBUG_FILE,
	DEBUG_DATA,
	DYNSYM,
	GO,
	DEBUGINFOD,
	NR_SOURCES,
};

static int (*const sources[])(const struct file_symbols_input *input, struct symbol_table **ret,
			      struct error *error) = {
	[SYMTAB] = read_symtab,		[PLT] = read_plt,	[DEBUG_FILE] = read_debug_file,
	[DEBUG_DATA] = read_debug_data, [DYNSYM] = read_dynsym, [GO] = read_go,
	[DEBUGINFOD] = read_debuginfod,
};

/* --- all of them ----------------------------------------------------------------------------- */

struct file_symbols {
	struct symbol_table *tables[NR_SOURCES]; /* NULL: it had nothing, or was not tried */
	size_t nr_tried;
	size_t nr_failed;
};

struct file_symbols *file_symbols_new(void)
{
	return calloc(1, sizeof(struct file_symbols));
}

void file_symbols_free(struct file_symbols *symbols)
{
	size_t i;

	if (!symbols)
		return;
	for (i = 0; i < symbols->nr_tried; i++)
		symbol_table_free(symbols->tables[i]);
	free(symbols);
}

/* Where all symbols are known a server has no more: the address is in no function. */
static bool knows_all(const struct file_symbols *symbols)
{
	return symbols->tables[SYMTAB] || symbols->tables[DEBUG_FILE];
}

/* A source that makes no sense is passed over. */
static int try_next(struct file_symbols *symbols, const struct file_symbols_input *input)
{
	size_t i = symbols->nr_tried;
	struct error error = {0};
	int err = 0;

	if (i != DEBUGINFOD || !knows_all(symbols))
		err = sources[i](input, &symbols->tables[i], &error);
	if (err == -ENOMEM)
		return err;
	symbols->nr_failed += err < 0;
	symbols->nr_tried++;
	return 0;
}

int file_symbols_find(struct file_symbols *symbols, const struct file_symbols_input *input,
		      uint64_t vaddr, const char **ret)
{
	const char *name = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < NR_SOURCES && !name && err == 0; i++) {
		if (i == symbols->nr_tried)
			err = try_next(symbols, input);
		if (symbols->tables[i])
			name = symbol_table_find(symbols->tables[i], vaddr, NULL);
	}
	if (err == 0)
		*ret = name;
	return err;
}

size_t file_symbols_bytes(const struct file_symbols *symbols)
{
	size_t i, bytes = sizeof(*symbols);

	for (i = 0; i < symbols->nr_tried; i++)
		if (symbols->tables[i])
			bytes += symbol_table_bytes(symbols->tables[i]);
	return bytes;
}

size_t file_symbols_nr_failed(const struct file_symbols *symbols)
{
	return symbols->nr_failed;
}
