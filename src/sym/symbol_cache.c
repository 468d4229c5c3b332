/*
 * An array of few entries with many bytes each: looked through from one end to the other, next to
 * reading a symbol table that is nothing. How large an entry has grown is asked when the next one
 * is wanted.
 */
#include "sym/symbol_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Small files are many: past so many the oldest goes, however little it holds. */
#define ENTRIES_MAX 1024

struct entry {
	struct symbol_cache_key key;
	struct file_symbols *symbols;
	size_t bytes; /* when it was last looked at */
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
	return a->file_bytes == b->file_bytes && a->root == b->root &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static void drop_oldest(struct symbol_cache *cache)
{
	size_t i, oldest = 0;

	for (i = 1; i < cache->nr; i++)
		if (cache->entries[i].last_use < cache->entries[oldest].last_use)
			oldest = i;
	cache->bytes -= cache->entries[oldest].bytes;
	file_symbols_free(cache->entries[oldest].symbols);
	cache->entries[oldest] = cache->entries[--cache->nr];
}

/* Notes how much the last entry handed out has become. */
static void measure(struct symbol_cache *cache)
{
	struct entry *entry = &cache->entries[cache->in_use];

	if (cache->in_use >= cache->nr)
		return;
	cache->bytes -= entry->bytes;
	entry->bytes = file_symbols_bytes(entry->symbols);
	cache->bytes += entry->bytes;
}

/* The latest one stays, even if it alone is larger than all should be together. */
static void make_room(struct symbol_cache *cache)
{
	while (cache->nr > 1 && (cache->nr > ENTRIES_MAX || cache->bytes > cache->max_bytes))
		drop_oldest(cache);
}

/* The place of an entry, or cache->nr. */
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

	if (!symbols || array_reserve(&cache->entries, &cache->capacity, cache->nr + 1,
				      sizeof(*cache->entries)) < 0) {
		file_symbols_free(symbols);
		return -ENOMEM;
	}
	cache->entries[cache->nr++] = (struct entry){.key = *key, .symbols = symbols};
	return 0;
}

struct file_symbols *symbol_cache_get(struct symbol_cache *cache,
				      const struct symbol_cache_key *key)
{
	size_t i;

	measure(cache);
	i = find(cache, key);
	if (i == cache->nr && add(cache, key) < 0)
		return NULL;
	cache->entries[i].last_use = ++cache->nr_uses;
	make_room(cache);
	cache->in_use = find(cache, key); /* dropping moves entries */
	return cache->entries[cache->in_use].symbols;
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
