/*
 * sym/file_symbols: which entries stay, told by made-up files. How many bytes a file's symbols have
 * is up to the file: those here have a .symtab of a chosen number of functions.
 */
#include "sym/file_symbols.h"

#include <string.h>

#include "base/clock.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define FUNCTIONS_MAX 100

static struct symbol_cache_key key_of(uint8_t build_id)
{
	struct symbol_cache_key key = {.build_id_bytes = 20, .file_bytes = 1000};

	memset(key.build_id, build_id, key.build_id_bytes);
	return key;
}

static struct file_symbols *get(struct symbol_cache *cache, uint8_t build_id)
{
	struct symbol_cache_key key = key_of(build_id);
	struct file_symbols *symbols = symbol_cache_get(cache, &key);

	CHECK(symbols != NULL);
	return symbols;
}

/* Reads a .symtab of 100 functions into an entry; returns how many bytes that takes. */
static size_t fill(struct file_symbols *symbols)
{
	struct tiny_symbol functions[FUNCTIONS_MAX];
	struct code_file file = {.fd = -1, .path = "made", .root_fd = -1};
	const struct debug_places places = {0};
	struct file_symbols_input input = {.file = &file, .places = &places};
	uint8_t bytes[TINY_ROOM];
	struct elf_image image;
	const char *name;
	size_t i, nr;

	for (i = 0; i < FUNCTIONS_MAX; i++)
		functions[i] =
			(struct tiny_symbol){"function", 8 * i, 8, STB_GLOBAL, STT_FUNC, false, 0};
	nr = tiny_elf_build(bytes, functions, FUNCTIONS_MAX);
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	input.image = &image;
	CHECK_EQ(file_symbols_find(symbols, &input, TINY_TEXT_ADDRESS, &name), 0);
	CHECK_STR(name, "function");
	elf_image_close(&image);
	return file_symbols_bytes(symbols);
}

TEST(symbol_cache_tells_files_apart)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	struct symbol_cache_key key = key_of(1), other = key;
	struct file_symbols *first = symbol_cache_get(cache, &key);

	CHECK(first != NULL);
	other.number = 5; /* the same content under another name */
	CHECK(symbol_cache_get(cache, &other) == first);
	other.file_bytes++; /* stripped */
	CHECK(symbol_cache_get(cache, &other) != first);
	other = key;
	other.build_id[19]++;
	CHECK(symbol_cache_get(cache, &other) != first);
	other = key;
	other.build_id_bytes--;
	CHECK(symbol_cache_get(cache, &other) != first);
	CHECK_EQ(symbol_cache_nr(cache), 4);
	CHECK(symbol_cache_get(cache, &key) == first);
	symbol_cache_free(cache);
	symbol_cache_free(NULL);
}

TEST(symbol_cache_without_build_ids)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	struct symbol_cache_key key = {.number = 1}, other = {.number = 2};
	struct file_symbols *first = symbol_cache_get(cache, &key);

	CHECK(symbol_cache_get(cache, &other) != first);
	key.file_bytes = 77; /* one file may grow */
	CHECK(symbol_cache_get(cache, &key) == first);
	memset(key.build_id, 1, sizeof(key.build_id)); /* none of it counts */
	CHECK(symbol_cache_get(cache, &key) == first);
	CHECK_EQ(symbol_cache_nr(cache), 2);
	symbol_cache_free(cache);
}

TEST(symbol_cache_counts_what_has_grown)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	size_t bytes;

	CHECK_EQ(symbol_cache_bytes(cache), 0);
	bytes = fill(get(cache, 1));
	CHECK(bytes > 16 * FUNCTIONS_MAX);
	CHECK_EQ(symbol_cache_bytes(cache), bytes);
	(void)get(cache, 2);
	CHECK(symbol_cache_bytes(cache) > bytes);
	bytes += fill(get(cache, 2));
	CHECK_EQ(symbol_cache_bytes(cache), bytes);
	CHECK_EQ(symbol_cache_bytes(cache), bytes);
	symbol_cache_free(cache);
}

/* Whether an entry is the one that was filled, and not a new one. */
static bool is_kept(struct symbol_cache *cache, uint8_t build_id)
{
	return file_symbols_bytes(get(cache, build_id)) > 16 * FUNCTIONS_MAX;
}

TEST(symbol_cache_drops_the_longest_unused)
{
	struct file_symbols *sample = file_symbols_new();
	size_t bytes = fill(sample);
	struct symbol_cache *cache = symbol_cache_new(3 * bytes + bytes / 2);

	file_symbols_free(sample);
	(void)fill(get(cache, 1));
	(void)fill(get(cache, 2));
	(void)fill(get(cache, 3));
	(void)get(cache, 1);
	(void)fill(get(cache, 4)); /* now it is too much, which is seen at the next call */
	(void)get(cache, 5);
	CHECK_EQ(symbol_cache_nr(cache), 4);
	CHECK(symbol_cache_bytes(cache) <= 3 * bytes + bytes / 2);
	CHECK(is_kept(cache, 1));
	CHECK(is_kept(cache, 3));
	CHECK(is_kept(cache, 4));
	CHECK(!is_kept(cache, 2));
	symbol_cache_free(cache);
}

/* Entries grow when they are used again, too. */
TEST(symbol_cache_keeps_its_limit_without_new_files)
{
	struct file_symbols *sample = file_symbols_new();
	size_t bytes = fill(sample);
	struct symbol_cache *cache = symbol_cache_new(2 * bytes);
	uint8_t i;

	file_symbols_free(sample);
	for (i = 1; i <= 20; i++)
		(void)get(cache, i);
	for (i = 1; i <= 20; i++) {
		(void)fill(get(cache, i));
		CHECK(symbol_cache_bytes(cache) <= 3 * bytes);
	}
	symbol_cache_free(cache);
}

/* One that is larger than all should be stays while it alone is used: it need not be read again. */
TEST(symbol_cache_keeps_the_latest)
{
	struct symbol_cache *cache = symbol_cache_new(1);
	struct file_symbols *symbols = get(cache, 1);

	(void)fill(symbols);
	CHECK(get(cache, 1) == symbols);
	CHECK(is_kept(cache, 1));
	(void)get(cache, 2);
	CHECK_EQ(symbol_cache_nr(cache), 1);
	CHECK(!is_kept(cache, 1));
	symbol_cache_free(cache);
}

/* A week of distinct short processes. */
TEST(symbol_cache_of_very_many_files)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	uint64_t began_ns = clock_now_ns();
	struct symbol_cache_key key = {0};
	size_t most = 0;

	for (key.number = 0; key.number < 100000; key.number++) {
		struct file_symbols *symbols = symbol_cache_get(cache, &key);

		CHECK(symbols != NULL);
		if (key.number % 100 == 0)
			(void)fill(symbols);
		if (symbol_cache_bytes(cache) > most)
			most = symbol_cache_bytes(cache);
	}
	CHECK(most <= (1 << 20) + 100 * FUNCTIONS_MAX);
	CHECK(symbol_cache_nr(cache) <= 1024);
	CHECK(clock_now_ns() - began_ns < 60 * NS_PER_SEC);
	symbol_cache_free(cache);
}

TEST(symbol_cache_without_memory)
{
	struct symbol_cache *cache;
	struct file_symbols *symbols = NULL;
	uint8_t i;

	(void)test_fail_allocation(1);
	CHECK(symbol_cache_new(100000) == NULL);
	(void)test_fail_allocation(0);
	cache = symbol_cache_new(100000);
	for (i = 1; i < 50; i++) {
		struct symbol_cache_key key = key_of(i);
		size_t nth = 0;

		do {
			(void)test_fail_allocation(++nth);
			symbols = symbol_cache_get(cache, &key);
			(void)test_fail_allocation(0);
			CHECK_EQ(symbol_cache_nr(cache) == i, symbols != NULL);
		} while (!symbols);
		CHECK(nth > 1);
	}
	symbol_cache_free(cache);
}
