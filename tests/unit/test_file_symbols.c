/*
 * sym/file_symbols: which symbol source is read for which name, and when. Each source of a file has
 * a different name for the same function, so that the name shows its source. In every file except
 * "code", only a source late in the search order has the name.
 */
#include "sym/file_symbols.h"

#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/clock.h"
#include "unit/made_code.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static const char *named; /* folder with debug files */

static struct file_symbols_input input_of(struct made_code *code)
{
	static struct debug_places places;

	named = in_folder("named");
	places = (struct debug_places){&named, 1};
	return (struct file_symbols_input){
		.file = &code->file, .image = &code->image, .places = &places};
}

static const char *find(struct file_symbols *symbols, struct made_code *code, uint64_t address)
{
	const struct file_symbols_input input = input_of(code);
	struct file_function function = {"unset", 0};

	CHECK_EQ(file_symbols_find(symbols, &input, address, &function), 0);
	return function.name ? function.name : "";
}

/* Adds a debug file, found by build id, with other names for hidden() and shown(). */
static void plant_debug_file(const struct made_code *code)
{
	const char *id = build_id_of(code);
	char command[512];

	(void)snprintf(
		command, sizeof(command),
		"mkdir -p named/.build-id/%.2s && objcopy --redefine-sym hidden=debug_hidden "
		"--redefine-sym shown=debug_shown code.debug named/.build-id/%.2s/%s.debug",
		id, id, id + 2);
	CHECK(run_in_folder(command));
}

/* Copies the file `from` to "mini", with a .gnu_debugdata that has another name for hidden(). */
static void make_mini(const char *from)
{
	char command[512];

	(void)snprintf(command, sizeof(command),
		       "objcopy --redefine-sym hidden=mini_hidden code.debug data && xz -k data && "
		       "objcopy --add-section .gnu_debugdata=data.xz %s mini",
		       from);
	if (run_in_folder(command))
		return;
	leave_folder();
	SKIP("needs objcopy and xz");
}

/* Set-up and tear-down shared by most tests. */
struct fixture {
	struct file_symbols *symbols;
	struct made_code code; /* opened by the test */
	uint64_t hidden, shown;
};

static void fixture_make(struct fixture *fixture)
{
	make_code("sha1");
	fixture->symbols = file_symbols_new();
	fixture->hidden = address_in_code("hidden");
	fixture->shown = address_in_code("shown");
}

static void fixture_close(struct fixture *fixture)
{
	file_symbols_free(fixture->symbols);
	close_code(&fixture->code);
	leave_folder();
}

/* --- each source ----------------------------------------------------------------------------- */

TEST(file_symbols_of_a_whole_file)
{
	struct fixture made;

	fixture_make(&made);
	open_code(&made.code, "code", "/code");
	plant_debug_file(&made.code);
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "hidden");
	CHECK_STR(find(made.symbols, &made.code, made.hidden + 1), "hidden");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	CHECK_EQ(file_symbols_nr_failed(made.symbols), 0);
	file_symbols_free(NULL);
	fixture_close(&made);
}

TEST(file_symbols_of_a_debug_file)
{
	struct fixture made;

	fixture_make(&made);
	make_mini("stripped");
	open_code(&made.code, "mini", "/mini");
	plant_debug_file(&made.code);
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "debug_hidden");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "debug_shown"); /* before .dynsym */
	fixture_close(&made);
}

/* Until the debug file can be looked for, there are the other sources; then all is read anew. */
TEST(file_symbols_whose_debug_file_cannot_be_looked_for)
{
	struct rlimit before, few;
	struct fixture made;
	const char *name;

	fixture_make(&made);
	open_code(&made.code, "stripped", "/stripped");
	plant_debug_file(&made.code);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	name = find(made.symbols, &made.code, made.shown);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_STR(name, "shown");
	CHECK(file_symbols_are_provisional(made.symbols));
	file_symbols_free(made.symbols);
	debug_files_forget(&made.code.file);
	made.symbols = file_symbols_new();
	CHECK_STR(find(made.symbols, &made.code, made.shown), "debug_shown");
	CHECK(!file_symbols_are_provisional(made.symbols));
	fixture_close(&made);
}

TEST(file_symbols_of_debug_data)
{
	struct fixture made;

	fixture_make(&made);
	make_mini("stripped");
	open_code(&made.code, "mini", "/mini");
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "mini_hidden");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	CHECK_EQ(file_symbols_nr_failed(made.symbols), 0);
	fixture_close(&made);
}

TEST(file_symbols_of_dynsym)
{
	struct fixture made;

	fixture_make(&made);
	open_code(&made.code, "stripped", "/stripped");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "");
	CHECK_STR(find(made.symbols, &made.code, UINT64_MAX), "");
	CHECK_EQ(file_symbols_nr_failed(made.symbols), 0);
	fixture_close(&made);
}

/* Symbol tables have no names for PLT stubs. */
TEST(file_symbols_of_plt_stubs)
{
	static const char *const names[] = {"code", "stripped"};
	struct made_code code;
	size_t i;

	make_code("sha1");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct file_symbols *symbols = file_symbols_new();
		bool found = false;
		uint64_t at, end;

		open_code(&code, names[i], "/code");
		CHECK(code.image.nr_segments == 1);
		at = code.image.segments[0].vaddr;
		end = at + code.image.segments[0].bytes;
		for (; at < end && !found; at++)
			found = !strcmp(find(symbols, &code, at), "puts@plt");
		CHECK(found);
		file_symbols_free(symbols);
		close_code(&code);
	}
	leave_folder();
}

/* The build id was stored while the file existed. */
TEST(file_symbols_of_a_file_that_is_gone)
{
	struct fixture made;
	struct file_symbols_input input;
	struct file_function function;

	fixture_make(&made);
	open_code(&made.code, "stripped", "/stripped");
	plant_debug_file(&made.code);
	close_code(&made.code);
	made.code.file.fd = -1;
	input = input_of(&made.code);
	input.image = NULL;
	CHECK_EQ(file_symbols_find(made.symbols, &input, made.hidden, &function), 0);
	CHECK_STR(function.name, "debug_hidden");
	CHECK_EQ(file_symbols_find(made.symbols, &input, 1, &function), 0);
	CHECK(function.name == NULL);
	file_symbols_free(made.symbols);
	leave_folder();
}

/* Where no source has a name, .eh_frame has the function's start. */
TEST(file_symbols_of_a_function_without_a_name)
{
	struct fixture made;
	struct file_symbols_input input;
	struct file_function function;

	fixture_make(&made);
	open_code(&made.code, "stripped", "/stripped");
	input = input_of(&made.code);
	CHECK_EQ(file_symbols_find(made.symbols, &input, made.hidden + 3, &function), 0);
	CHECK_STR(function.name, "");
	CHECK_EQ(function.start, made.hidden);
	input.no_starts = true;
	CHECK_EQ(file_symbols_find(made.symbols, &input, made.hidden + 3, &function), 0);
	CHECK(function.name == NULL);
	fixture_close(&made);
}

/* --- order of reading ------------------------------------------------------------------------ */

TEST(file_symbols_ask_when_it_is_needed)
{
	struct fixture made;
	size_t bytes, nothing;

	fixture_make(&made);
	nothing = file_symbols_bytes(made.symbols);
	CHECK(run_in_folder("objcopy --strip-symbol=hidden code partial"));
	open_code(&made.code, "partial", "/partial");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	bytes = file_symbols_bytes(made.symbols);
	CHECK(bytes > nothing);
	/* The debug file is added after the first lookup, but before any lookup that needs it. */
	plant_debug_file(&made.code);
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	CHECK_EQ(file_symbols_bytes(made.symbols), bytes);
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "debug_hidden");
	CHECK(file_symbols_bytes(made.symbols) > bytes);
	fixture_close(&made);
}

TEST(file_symbols_ask_once)
{
	struct fixture made;
	size_t bytes;

	fixture_make(&made);
	open_code(&made.code, "stripped", "/stripped");
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "");
	bytes = file_symbols_bytes(made.symbols);
	plant_debug_file(&made.code);
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "");
	CHECK_EQ(file_symbols_bytes(made.symbols), bytes);
	fixture_close(&made);
}

/* --- failures -------------------------------------------------------------------------------- */

TEST(file_symbols_pass_over_nonsense)
{
	struct fixture made;

	fixture_make(&made);
	CHECK(run_in_folder("objcopy --add-section .gnu_debugdata=code.c stripped bad"));
	open_code(&made.code, "bad", "/bad");
	CHECK_STR(find(made.symbols, &made.code, made.shown), "shown");
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "");
	CHECK_EQ(file_symbols_nr_failed(made.symbols), 1);
	fixture_close(&made);
}

/* The file shrinks while it is open: only its names are lost. */
TEST(file_symbols_of_a_file_that_shrinks)
{
	struct fixture made;

	fixture_make(&made);
	CHECK(run_in_folder("cp code shrinking"));
	open_code(&made.code, "shrinking", "/shrinking");
	CHECK_EQ(truncate(in_folder("shrinking"), 100), 0);
	CHECK_STR(find(made.symbols, &made.code, made.hidden), "");
	CHECK(file_symbols_nr_failed(made.symbols) > 0);
	fixture_close(&made);
}

/* After any failed allocation, the answer is right once memory is available again. */
static void find_without_memory(const char *file, uint64_t address, const char *expected)
{
	size_t nth, nr = SIZE_MAX;

	for (nth = 1; nr >= nth - 1; nth++) {
		struct file_symbols *symbols = file_symbols_new();
		struct file_symbols_input input;
		struct made_code code;
		struct file_function function = {"", 0};
		int err;

		open_code(&code, file, "/code");
		input = input_of(&code);
		(void)test_fail_allocation(nth);
		err = file_symbols_find(symbols, &input, address, &function);
		nr = test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK_STR(err ? "" : expected, function.name);
		CHECK_STR(find(symbols, &code, address), expected);
		file_symbols_free(symbols);
		close_code(&code);
	}
	CHECK(nth > 3);
}

TEST(file_symbols_without_memory)
{
	struct made_code code;
	uint64_t hidden, shown;

	(void)test_fail_allocation(1);
	CHECK(file_symbols_new() == NULL);
	(void)test_fail_allocation(0);
	make_code("sha1");
	hidden = address_in_code("hidden");
	shown = address_in_code("shown");
	make_mini("stripped");
	find_without_memory("code", hidden, "hidden");
	find_without_memory("stripped", shown, "shown");
	find_without_memory("mini", hidden, "mini_hidden");
	open_code(&code, "code", "/code");
	plant_debug_file(&code);
	close_code(&code);
	find_without_memory("stripped", hidden, "debug_hidden");
	leave_folder();
}

/* --- eviction ----------------------------------------------------------------------------- */

/*
 * Eviction is tested with made-up files. The size of a file's symbols depends on the file; these
 * files have a .symtab with a chosen number of functions.
 */

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

/* Reads a .symtab of 100 functions into an entry; returns the entry's size in bytes. */
static size_t fill(struct file_symbols *symbols)
{
	struct tiny_symbol functions[FUNCTIONS_MAX];
	struct code_file file = {.fd = -1, .path = "made", .root_fd = -1};
	const struct debug_places places = {0};
	struct file_symbols_input input = {.file = &file, .places = &places};
	uint8_t bytes[TINY_ROOM];
	struct elf_image image;
	struct file_function function;
	size_t i, nr;

	for (i = 0; i < FUNCTIONS_MAX; i++)
		functions[i] =
			(struct tiny_symbol){"function", 8 * i, 8, STB_GLOBAL, STT_FUNC, false, 0};
	nr = tiny_elf_build(bytes, functions, FUNCTIONS_MAX);
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	input.image = &image;
	CHECK_EQ(file_symbols_find(symbols, &input, TINY_TEXT_ADDRESS, &function), 0);
	CHECK_STR(function.name, "function");
	elf_image_close(&image);
	return file_symbols_bytes(symbols);
}

TEST(symbol_cache_tells_files_apart)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	struct symbol_cache_key key = key_of(1), other = key;
	struct file_symbols *first = symbol_cache_get(cache, &key);

	CHECK(first != NULL);
	other.number = 5; /* the same content, another name */
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
	size_t bytes;

	CHECK(symbol_cache_get(cache, &other) != first);
	key.file_bytes = 77; /* without a build id, the file may grow */
	CHECK(symbol_cache_get(cache, &key) == first);
	memset(key.build_id, 1, sizeof(key.build_id)); /* ignored, as unused */
	CHECK(symbol_cache_get(cache, &key) == first);
	CHECK_EQ(symbol_cache_nr(cache), 2);
	/* Another program was written into the file. */
	(void)fill(symbol_cache_get(cache, &key));
	bytes = symbol_cache_bytes(cache);
	key.changed_ns = 1;
	first = symbol_cache_get(cache, &key);
	CHECK_EQ(symbol_cache_nr(cache), 2);
	CHECK(symbol_cache_bytes(cache) < bytes);
	/* It cannot be read any more: what it had is still right. */
	key.changed_ns = key.file_bytes = 0;
	CHECK(symbol_cache_get(cache, &key) == first);
	CHECK_EQ(symbol_cache_nr(cache), 2);
	symbol_cache_free(cache);
}

TEST(symbol_cache_drops_the_last)
{
	struct symbol_cache *cache = symbol_cache_new(1 << 20);
	struct symbol_cache_key key = key_of(1), other = key_of(2);
	const struct file_symbols *first = symbol_cache_get(cache, &key);

	CHECK(symbol_cache_get(cache, &other) != NULL);
	symbol_cache_drop_last(cache);
	CHECK_EQ(symbol_cache_nr(cache), 1);
	symbol_cache_drop_last(cache); /* it is gone already */
	CHECK_EQ(symbol_cache_nr(cache), 1);
	CHECK(symbol_cache_get(cache, &key) == first);
	CHECK(symbol_cache_get(cache, &other) != NULL);
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

/* Returns true if the entry is the filled one and not a new one. */
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
	(void)fill(get(cache, 4)); /* over the limit; seen by the next call */
	(void)get(cache, 5);
	CHECK_EQ(symbol_cache_nr(cache), 4);
	CHECK(symbol_cache_bytes(cache) <= 3 * bytes + bytes / 2);
	CHECK(is_kept(cache, 1));
	CHECK(is_kept(cache, 3));
	CHECK(is_kept(cache, 4));
	CHECK(!is_kept(cache, 2));
	symbol_cache_free(cache);
}

/* The limit also holds for entries that grow on later use. */
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

/* An entry larger than the limit stays while it alone is in use, so it is not read again. */
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

/* A week of distinct short-lived processes. */
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
