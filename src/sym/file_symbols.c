/*
 * Sources are rows of a table. For a file with all its symbols, only the first source is ever read.
 * A file that cannot be opened can still get names by its build id. .symtab is merged with .dynsym;
 * so is .gnu_debugdata, which has only the symbols that .dynsym does not have.
 *
 * The cache is an array of few, large entries: a linear search costs nothing compared to reading a
 * symbol table. An entry grows while it is used, so its size is updated when the next entry is
 * requested.
 */
#include "sym/file_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbols/debug_data.h"
#include "elf/symbols/go_functions.h"
#include "elf/symbols/plt_stubs.h"
#include "elf/symbols/symbol_table.h"
#include "elf/unwind/function_starts.h"

/* --- the sources ----------------------------------------------------------------------------- */

/* *ret is unchanged if the requested tables have no function. */
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

/* Reads .symtab and .dynsym; nothing if there is no .symtab. */
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

enum source {
	SYMTAB,
	PLT, /* before DEBUG_FILE, which has no PLT stubs and need not be searched for them */
	DEBUG_FILE,
	DEBUG_DATA,
	DYNSYM,
	GO,
	DEBUGINFOD,
	STARTS, /* start addresses, for functions that no other source has */
	NR_SOURCES,
};

/*
 * The file that a source is read from: the sampled file, its debug file, or one from a server. If
 * the sampled file can't be opened, the "debug file" may be a whole copy, from perf's or
 * debuginfod's cache.
 */
enum place { FILE_ONLY, FILE_OR_DEBUG_FILE, DEBUG_FILE_ONLY, SERVER };

static const struct {
	enum place place;
	symbol_source *read;
} sources[] = {
	[SYMTAB] = {FILE_ONLY, symtab_read},
	[PLT] = {FILE_OR_DEBUG_FILE, plt_stubs_read},
	[DEBUG_FILE] = {DEBUG_FILE_ONLY, symtab_read},
	[DEBUG_DATA] = {FILE_OR_DEBUG_FILE, debug_data_read},
	[DYNSYM] = {FILE_OR_DEBUG_FILE, dynsym_read},
	[GO] = {FILE_OR_DEBUG_FILE, go_functions_read},
	[DEBUGINFOD] = {SERVER, symtab_read},
	[STARTS] = {FILE_OR_DEBUG_FILE, function_starts_read},
};

/* *is_passing is set if the file with the source could not be looked for. */
static int read_source(enum source source, const struct file_symbols_input *input,
		       struct symbol_table **ret, bool *is_passing, struct error *error)
{
	enum place place = sources[source].place;
	cleanup_fd int asked = -1;
	struct elf_image image;
	int fd, err;

	if (input->image && place <= FILE_OR_DEBUG_FILE)
		return sources[source].read(ret, input->image, error);
	if (place == SERVER)
		asked = debug_files_from_server(input->places, input->file);
	fd = asked;
	if (place == FILE_OR_DEBUG_FILE || place == DEBUG_FILE_ONLY)
		fd = debug_files_find(input->places, input->file, input->image);
	*is_passing |= worker_is_passing(fd);
	if (fd < 0)
		return 0;
	err = elf_image_open(&image, fd, error);
	if (err < 0)
		return err;
	image.budget = input->budget;
	err = sources[source].read(ret, &image, error);
	elf_image_close(&image);
	return err;
}

/* --- all of them ----------------------------------------------------------------------------- */

struct file_symbols {
	struct symbol_table *tables[NR_SOURCES]; /* NULL: no symbols, or not tried yet */
	size_t nr_tried;
	size_t nr_failed;
	bool are_provisional;
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

/* True with a full symbol table: no server can add to it, the address is in no function. */
static bool has_full_table(const struct file_symbols *symbols)
{
	return symbols->tables[SYMTAB] || symbols->tables[DEBUG_FILE];
}

/* A malformed source is skipped. A source cut short by the budget is tried again later. */
static int try_next(struct file_symbols *symbols, const struct file_symbols_input *input)
{
	size_t i = symbols->nr_tried;
	struct error error = {0};
	int err = 0, refused;

	if (i != DEBUGINFOD || !has_full_table(symbols))
		err = read_source((enum source)i, input, &symbols->tables[i],
				  &symbols->are_provisional, &error);
	if (err == -ENOMEM)
		return err;
	refused = read_budget_take(input->budget, 0);
	if (refused < 0 && !symbols->tables[i])
		return refused;
	symbols->nr_failed += err < 0;
	symbols->nr_tried++;
	return 0;
}

int file_symbols_find(struct file_symbols *symbols, const struct file_symbols_input *input,
		      uint64_t vaddr, struct file_function *ret)
{
	const size_t nr_sources = input->no_starts ? STARTS : NR_SOURCES;
	uint64_t start = 0;
	const char *name = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < nr_sources && !name && err == 0; i++) {
		if (i == symbols->nr_tried)
			err = try_next(symbols, input);
		if (!symbols->tables[i])
			continue;
		name = input->raw_aliases
			       ? symbol_table_find_for_perf(symbols->tables[i], vaddr, &start)
			       : symbol_table_find(symbols->tables[i], vaddr, &start);
	}
	if (err == -ENOMEM)
		return err;
	*ret = (struct file_function){name, start};
	return 0;
}

bool file_symbols_are_provisional(const struct file_symbols *symbols)
{
	return symbols->are_provisional;
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

/* --- the cache -------------------------------------------------------------------------------- */

/* Limit for many small files: past it the oldest entry is dropped, whatever its size. */
#define ENTRIES_MAX 1024

struct entry {
	struct symbol_cache_key key;
	struct file_symbols *symbols;
	size_t bytes; /* as of the last measure() */
	uint64_t last_use;
};

struct symbol_cache {
	struct entry *entries;
	size_t nr, capacity;
	size_t bytes, max_bytes;
	uint64_t nr_uses;
	size_t in_use; /* the entry handed out last: it may have grown */
};

struct symbol_cache *symbol_cache_new(size_t max_bytes)
{
	struct symbol_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->max_bytes = max_bytes;
	return cache;
}

void symbol_cache_limit(struct symbol_cache *cache, size_t max_bytes)
{
	cache->max_bytes = max_bytes;
}

void symbol_cache_free(struct symbol_cache *cache)
{
	size_t i;

	if (!cache)
		return;
	for (i = 0; i < cache->nr; i++)
		file_symbols_free(cache->entries[i].symbols);
	free(cache->entries);
	free(cache);
}

static bool same_key(const struct symbol_cache_key *a, const struct symbol_cache_key *b)
{
	if (a->build_id_bytes != b->build_id_bytes)
		return false;
	if (!a->build_id_bytes)
		return a->number == b->number;
	return a->file_bytes == b->file_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/* True if a file without a trusted build id was written to. One that cannot be read now has what it had. */
static bool is_outdated(const struct symbol_cache_key *former, const struct symbol_cache_key *key)
{
	return !key->build_id_bytes && key->changed_ns && key->changed_ns != former->changed_ns;
}

static void drop(struct symbol_cache *cache, size_t i)
{
	cache->bytes -= cache->entries[i].bytes;
	file_symbols_free(cache->entries[i].symbols);
	cache->entries[i] = cache->entries[--cache->nr];
}

static void drop_oldest(struct symbol_cache *cache)
{
	size_t i, oldest = 0;

	for (i = 1; i < cache->nr; i++)
		if (cache->entries[i].last_use < cache->entries[oldest].last_use)
			oldest = i;
	drop(cache, oldest);
}

/* Updates the size of the entry handed out last. */
static void measure(struct symbol_cache *cache)
{
	struct entry *entry = &cache->entries[cache->in_use];

	if (cache->in_use >= cache->nr)
		return;
	cache->bytes -= entry->bytes;
	entry->bytes = file_symbols_bytes(entry->symbols);
	cache->bytes += entry->bytes;
}

/* Keeps the latest entry, even if it alone exceeds the limit. */
static void make_room(struct symbol_cache *cache)
{
	while (cache->nr > 1 && (cache->nr > ENTRIES_MAX || cache->bytes > cache->max_bytes))
		drop_oldest(cache);
}

/* Returns the index of an entry, cache->nr if there is none. */
static size_t find(const struct symbol_cache *cache, const struct symbol_cache_key *key)
{
	size_t i;

	for (i = 0; i < cache->nr; i++)
		if (same_key(&cache->entries[i].key, key))
			break;
	return i;
}

static int add(struct symbol_cache *cache, const struct symbol_cache_key *key)
{
	struct file_symbols *symbols = file_symbols_new();

	if (symbols && ARRAY_ADD(cache->entries, cache->nr, cache->capacity,
				 (struct entry){.key = *key, .symbols = symbols}) == 0)
		return 0;
	file_symbols_free(symbols);
	return -ENOMEM;
}

struct file_symbols *symbol_cache_get(struct symbol_cache *cache,
				      const struct symbol_cache_key *key)
{
	size_t i;

	measure(cache);
	i = find(cache, key);
	if (i < cache->nr && is_outdated(&cache->entries[i].key, key)) {
		drop(cache, i);
		i = cache->nr;
	}
	if (i == cache->nr && add(cache, key) < 0)
		return NULL;
	cache->entries[i].last_use = ++cache->nr_uses;
	make_room(cache);
	cache->in_use = find(cache, key); /* dropping moves entries */
	return cache->entries[cache->in_use].symbols;
}

void symbol_cache_drop_last(struct symbol_cache *cache)
{
	if (cache->in_use < cache->nr)
		drop(cache, cache->in_use);
	cache->in_use = SIZE_MAX;
}

size_t symbol_cache_nr(const struct symbol_cache *cache)
{
	return cache->nr;
}

size_t symbol_cache_bytes(struct symbol_cache *cache)
{
	measure(cache);
	return cache->bytes;
}
