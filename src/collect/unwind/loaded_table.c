/* Copying tables into the pool, page by page; see loaded_table.h. */
#include "collect/unwind/loaded_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A new piece of the pool, noted; its place, or a negative errno. */
static int64_t add_piece(struct loaded_table *loaded, struct unwind_pool *pool, size_t bytes)
{
	uint32_t place;

	if (bytes > UNWIND_POOL_MAX_PIECE)
		return -E2BIG;
	if (array_reserve(&loaded->pieces, &loaded->capacity, loaded->nr_pieces + 1,
			  sizeof(*loaded->pieces)) < 0)
		return -ENOMEM;
	place = unwind_pool_allocate(pool, bytes);
	if (!place)
		return -ENOSPC;
	loaded->pieces[loaded->nr_pieces++] = (struct loaded_piece){place, (uint32_t)bytes};
	return place;
}

static int64_t add_copy(struct loaded_table *loaded, struct unwind_pool *pool, const void *from,
			size_t bytes)
{
	int64_t place = add_piece(loaded, pool, bytes);

	if (place > 0)
		memcpy(unwind_pool_at(pool, (uint32_t)place), from, bytes);
	return place;
}

/* The places of all pages; a page that is equal to the one before has that one's. */
static int load_pages(struct loaded_table *loaded, struct unwind_pool *pool,
		      const struct unwind_table *table, uint32_t *places)
{
	uint32_t words = UNWIND_NO_PAGE, i;
	int64_t place = 0;

	for (i = 0; i < table->nr_pages; i++) {
		if (table->pages[i] == UNWIND_NO_PAGE) {
			places[i] = 0;
			continue;
		}
		if (table->pages[i] != words)
			place = add_copy(loaded, pool, table->words + table->pages[i],
					 table->page_words[i] * sizeof(uint32_t));
		if (place < 0)
			return (int)place;
		words = table->pages[i];
		places[i] = (uint32_t)place;
	}
	return 0;
}

static int load(struct loaded_table *loaded, struct unwind_pool *pool,
		const struct unwind_table *table, struct unwind_table_entry *entry)
{
	uint64_t first = table->start >> UNWIND_PAGE_SHIFT;
	int64_t directory, wide = 0;
	uint32_t *places;

	if (!table->nr_pages)
		return 0;
	directory = add_piece(loaded, pool, (first + table->nr_pages) * sizeof(*places));
	if (directory < 0)
		return (int)directory;
	places = unwind_pool_at(pool, (uint32_t)directory);
	memset(places, 0, first * sizeof(*places));
	if (table->nr_wide)
		wide = add_copy(loaded, pool, table->wide, table->nr_wide * sizeof(*table->wide));
	if (wide < 0)
		return (int)wide;
	entry->pages = (uint32_t)directory;
	entry->nr_pages = (uint32_t)first + table->nr_pages;
	entry->wide = (uint32_t)wide;
	entry->nr_wide = (uint32_t)table->nr_wide;
	return load_pages(loaded, pool, table, places + first);
}

int loaded_table_load(struct loaded_table *loaded, struct unwind_pool *pool, uint32_t number,
		      const struct unwind_table *table)
{
	struct unwind_table_entry *slot = &unwind_pool_tables(pool)[number];
	struct unwind_table_entry entry = {0};
	int err;

	*loaded = (struct loaded_table){.number = number};
	err = load(loaded, pool, table, &entry);
	if (err < 0) {
		loaded_table_unload(loaded, pool, (enum unwind_table_state)slot->state);
		return err;
	}
	slot->pages = entry.pages;
	slot->nr_pages = entry.nr_pages;
	slot->wide = entry.wide;
	slot->nr_wide = entry.nr_wide;
	__atomic_store_n(&slot->state, UNWIND_TABLE_READY, __ATOMIC_RELEASE);
	return 0;
}

void loaded_table_unload(struct loaded_table *loaded, struct unwind_pool *pool,
			 enum unwind_table_state state)
{
	size_t i;

	__atomic_store_n(&unwind_pool_tables(pool)[loaded->number].state, state, __ATOMIC_RELEASE);
	for (i = 0; i < loaded->nr_pieces; i++)
		unwind_pool_release(pool, loaded->pieces[i].place, loaded->pieces[i].bytes);
	loaded_table_clear(loaded);
}

void loaded_table_clear(struct loaded_table *loaded)
{
	free(loaded->pieces);
	*loaded = (struct loaded_table){0};
}

size_t loaded_table_bytes(const struct loaded_table *loaded)
{
	size_t bytes = 0, i;

	for (i = 0; i < loaded->nr_pieces; i++)
		bytes += loaded->pieces[i].bytes;
	return bytes;
}
