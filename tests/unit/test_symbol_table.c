/* elf/symbols/symbol_table: compared with nm; made-up files with known symbols, also damaged. */
#include "elf/symbols/symbol_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static struct symbol_table *read_image(const struct elf_image *image, struct error *error)
{
	const struct symbol_part part = {image, SYMBOLS_STATIC | SYMBOLS_DYNAMIC};

	return symbol_table_read(&part, 1, error);
}

static struct symbol_table *read_bytes(uint8_t *bytes, size_t nr_bytes)
{
	struct symbol_table *table;
	struct elf_image image;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr_bytes, NULL), 0);
	table = read_image(&image, NULL);
	CHECK(table);
	elf_image_close(&image);
	return table;
}

static struct symbol_table *read_tiny(const struct tiny_symbol *symbols, size_t nr)
{
	uint8_t bytes[TINY_ROOM];

	return read_bytes(bytes, tiny_elf_build(bytes, symbols, nr));
}

/* Returns the name at an offset in .text, "" if there is none. */
static const char *name_at(const struct symbol_table *table, uint64_t offset)
{
	const char *name = symbol_table_find(table, TINY_TEXT_ADDRESS + offset, NULL);

	return name ? name : "";
}

#define FUNC   STT_FUNC
#define NOTYPE STT_NOTYPE
#define GLOBAL STB_GLOBAL
#define WEAK   STB_WEAK
#define LOCAL  STB_LOCAL

/* A file may have millions of names, each with megabytes of underscores, to compare. */
TEST(symbol_name_compare_looks_at_the_beginning_only)
{
	char few[1000], many[2000];

	memset(few, '_', sizeof(few));
	memset(many, '_', sizeof(many));
	few[sizeof(few) - 1] = many[sizeof(many) - 1] = '\0';
	CHECK_EQ(symbol_name_compare(few, many), 0);
	CHECK(symbol_name_compare("_read", "__read") < 0);
	CHECK(symbol_name_compare("__a", "_") > 0);
}

TEST(symbol_table_of_a_file_with_an_empty_section)
{
	static const struct tiny_symbol symbols[] = {{"f", 0x10, 0x10, GLOBAL, FUNC, false, 0}};
	uint8_t bytes[TINY_ROOM];
	size_t nr_bytes = tiny_elf_build(bytes, symbols, ARRAY_SIZE(symbols));
	uint8_t *sections = bytes + nr_bytes - TINY_NR_SECTIONS * sizeof(Elf64_Shdr);
	struct symbol_table *table;
	Elf64_Shdr empty;

	memcpy(&empty, sections + TINY_TEXT * sizeof(empty), sizeof(empty));
	empty.sh_size = 0;
	memcpy(sections + TINY_DATA * sizeof(empty), &empty, sizeof(empty));
	table = read_bytes(bytes, nr_bytes);
	CHECK_STR(name_at(table, 0x10), "f");
	symbol_table_free(table);
}

TEST(symbol_table_covers_sizes_and_gaps)
{
	static const struct tiny_symbol symbols[] = {
		{"second", 0x40, 0x10, GLOBAL, FUNC, false, 0},
		{"first", 0x10, 0x10, LOCAL, FUNC, false, 0},
		{"unsized", 0x60, 0, GLOBAL, FUNC, false, 0},
		{"third", 0x80, 0x20, GLOBAL, STT_GNU_IFUNC, true, 0},
		{"last", 0x300, 0, GLOBAL, FUNC, false, 0},
		{"data", 0x110, 8, GLOBAL, STT_OBJECT, false, 0},
		{"far", 0x400, 8, GLOBAL, FUNC, false, 0},
		{"elsewhere", 0x410, 8, GLOBAL, FUNC, false, TINY_DATA},
		{"misnumbered", 0x200, 8, GLOBAL, FUNC, true, TINY_DATA},
		{"absolute", 0x120, 8, GLOBAL, FUNC, false, SHN_ABS},
		{"", 0x130, 8, GLOBAL, FUNC, false, 0},
		{"beyond", 0x3f0, 0x1000, GLOBAL, FUNC, false, 0},
	};
	struct symbol_table *table = read_tiny(symbols, ARRAY_SIZE(symbols));
	uint64_t start;

	CHECK_EQ(symbol_table_nr(table), 7);
	CHECK_STR(name_at(table, 0), "");
	CHECK_STR(name_at(table, 0xf), "");
	CHECK_STR(name_at(table, 0x10), "first");
	CHECK_STR(name_at(table, 0x1f), "first");
	CHECK_STR(name_at(table, 0x20), "");
	CHECK_STR(name_at(table, 0x4f), "second");
	CHECK_STR(name_at(table, 0x50), "");
	CHECK_STR(name_at(table, 0x7f), "unsized");
	CHECK_STR(name_at(table, 0x80), "third");
	CHECK_STR(name_at(table, 0xa0), "");
	CHECK_STR(name_at(table, 0x110), "");
	CHECK_STR(name_at(table, 0x120), "");
	CHECK_STR(name_at(table, 0x130), "");
	CHECK_STR(name_at(table, 0x207), "misnumbered");
	CHECK_STR(name_at(table, 0x3ef), "last");
	CHECK_STR(name_at(table, 0x3ff), "beyond");
	CHECK_STR(name_at(table, 0x400), "");
	CHECK_STR(name_at(table, 0x410), "");
	CHECK(!symbol_table_find(table, 0, NULL));
	CHECK(!symbol_table_find(table, UINT64_MAX, NULL));
	CHECK_STR(symbol_table_find(table, TINY_TEXT_ADDRESS + 0x15, &start), "first");
	CHECK_EQ(start, TINY_TEXT_ADDRESS + 0x10);
	CHECK(symbol_table_bytes(table) < 1000);
	symbol_table_free(table);
}

TEST(symbol_table_chooses_an_alias)
{
	static const struct tiny_symbol symbols[] = {
		{"unsized_global", 0x00, 0, GLOBAL, FUNC, false, 0},
		{"sized_weak", 0x00, 8, WEAK, FUNC, false, 0},
		{"untyped_global", 0x10, 8, GLOBAL, NOTYPE, false, 0},
		{"typed_local", 0x10, 8, LOCAL, FUNC, false, 0},
		{"a_weak", 0x20, 8, WEAK, FUNC, false, 0},
		{"a_local", 0x20, 8, LOCAL, FUNC, false, 0},
		{"b_local", 0x30, 8, LOCAL, FUNC, false, 0},
		{"b_global", 0x30, 8, GLOBAL, FUNC, false, 0},
		{"b_weak", 0x30, 8, WEAK, FUNC, false, 0},
		{"__underscored", 0x40, 8, GLOBAL, FUNC, false, 0},
		{"_plain", 0x40, 8, GLOBAL, FUNC, false, 0},
		{"short", 0x50, 8, GLOBAL, FUNC, false, 0},
		{"longer", 0x50, 8, GLOBAL, FUNC, true, 0},
		{"same_b", 0x60, 8, GLOBAL, FUNC, false, 0},
		{"same_a", 0x60, 8, GLOBAL, FUNC, true, 0},
		/* As in glibc's debug file. */
		{"__GI___libc_write", 0x70, 8, LOCAL, FUNC, false, 0},
		{"__libc_write", 0x70, 8, GLOBAL, FUNC, false, 0},
		{"__write", 0x70, 8, WEAK, FUNC, false, 0},
		{"write", 0x70, 8, WEAK, FUNC, false, 0},
		{"write@@GLIBC_2.2.5", 0x70, 8, WEAK, FUNC, true, 0},
		{"__libc_start_main_impl", 0x80, 8, LOCAL, FUNC, false, 0},
		{"__libc_start_main@@GLIBC_2.34", 0x80, 8, GLOBAL, FUNC, true, 0},
		{"__GI___dup3", 0x90, 8, LOCAL, FUNC, false, 0},
		{"___dup_local", 0x90, 8, LOCAL, FUNC, false, 0},
	};
	static const struct {
		uint64_t at;
		const char *shown, *for_perf;
	} wanted[] = {
		{0x00, "sized_weak", "sized_weak"},
		{0x10, "typed_local", "typed_local"},
		{0x20, "a_weak", "a_local"},
		{0x30, "b_weak", "b_global"},
		{0x40, "_plain", "_plain"},
		{0x50, "short", "longer"},
		{0x60, "same_a", "same_a"},
		{0x70, "write", "__libc_write"},
		{0x80, "__libc_start_main", "__libc_start_main"},
		{0x90, "___dup_local", "__GI___dup3"},
	};
	struct symbol_table *table = read_tiny(symbols, ARRAY_SIZE(symbols));
	size_t i;

	CHECK_EQ(symbol_table_nr(table), ARRAY_SIZE(wanted));
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		uint64_t inside = TINY_TEXT_ADDRESS + wanted[i].at + 5;

		CHECK_STR(name_at(table, wanted[i].at), wanted[i].shown);
		CHECK_STR(symbol_table_find_for_perf(table, inside, NULL), wanted[i].for_perf);
	}
	CHECK(!symbol_table_find_for_perf(table, TINY_TEXT_ADDRESS + 0xa0, NULL));
	symbol_table_free(table);
}

TEST(symbol_table_nested_and_untyped)
{
	static const struct tiny_symbol symbols[] = {
		{"outer", 0x00, 0x100, GLOBAL, FUNC, false, 0},
		{"inner", 0x20, 0x10, GLOBAL, FUNC, false, 0},
		{"innermost", 0x24, 0x4, GLOBAL, FUNC, false, 0},
		{"label", 0x40, 0, LOCAL, NOTYPE, false, 0},
		{"entry", 0xf0, 0, GLOBAL, FUNC, false, 0},
		{"assembly", 0x180, 0, GLOBAL, NOTYPE, false, 0},
		{"$x", 0x1a0, 0, LOCAL, NOTYPE, false, 0},
		{"$d.17", 0x1a4, 0, LOCAL, NOTYPE, false, 0},
		{"$dollar", 0x200, 0x10, LOCAL, FUNC, false, 0},
	};
	struct symbol_table *table = read_tiny(symbols, ARRAY_SIZE(symbols));
	uint64_t start;

	CHECK_STR(name_at(table, 0x1f), "outer");
	CHECK_STR(name_at(table, 0x20), "inner");
	CHECK_STR(name_at(table, 0x24), "innermost");
	CHECK_STR(name_at(table, 0x28), "inner");
	CHECK_STR(symbol_table_find(table, TINY_TEXT_ADDRESS + 0x30, &start), "outer");
	CHECK_EQ(start, TINY_TEXT_ADDRESS);
	CHECK_STR(name_at(table, 0x40), "outer");
	CHECK_STR(name_at(table, 0xf0), "entry");
	CHECK_STR(name_at(table, 0xff), "entry");
	CHECK_STR(name_at(table, 0x100), "");
	CHECK_STR(name_at(table, 0x1ff), "assembly");
	CHECK_STR(name_at(table, 0x200), "$dollar");
	CHECK_STR(name_at(table, 0x210), "");
	symbol_table_free(table);
}

TEST(symbol_table_cuts_versions)
{
	static const struct tiny_symbol symbols[] = {
		{"read@@GLIBC_2.2.5", 0x00, 8, GLOBAL, FUNC, false, 0},
		{"write@OLD", 0x10, 8, GLOBAL, FUNC, false, 0},
		{"@odd", 0x20, 8, GLOBAL, FUNC, false, 0},
		{"plain", 0x30, 8, GLOBAL, FUNC, false, 0},
	};
	struct symbol_table *table = read_tiny(symbols, ARRAY_SIZE(symbols));

	CHECK_STR(name_at(table, 0x00), "read");
	CHECK_STR(name_at(table, 0x10), "write");
	CHECK_STR(name_at(table, 0x20), "@odd");
	CHECK_STR(name_at(table, 0x30), "plain");
	symbol_table_free(table);
}

TEST(symbol_table_empty)
{
	struct symbol_table *table = read_tiny(NULL, 0);

	CHECK_EQ(symbol_table_nr(table), 0);
	CHECK(!symbol_table_find(table, TINY_TEXT_ADDRESS, NULL));
	symbol_table_free(table);
	symbol_table_free(NULL);
}

/* The tables to read are given for each part; all images are of one program. */
TEST(symbol_table_of_chosen_tables)
{
	static const struct tiny_symbol of_program[] = {
		{"exported", 0x10, 0x10, GLOBAL, FUNC, true, 0},
		{"unwanted", 0x20, 0x10, GLOBAL, FUNC, false, 0},
		{"alias", 0x40, 0x10, WEAK, FUNC, true, 0},
	};
	static const struct tiny_symbol of_debug_file[] = {
		{"local", 0x30, 0x10, LOCAL, FUNC, false, 0},
		{"preferred", 0x40, 0x10, GLOBAL, FUNC, false, 0},
		{"unwanted_too", 0x50, 0x10, GLOBAL, FUNC, true, 0},
	};
	uint8_t program_bytes[TINY_ROOM], debug_bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(program_bytes, of_program, ARRAY_SIZE(of_program));
	struct elf_image program, debug;
	const struct symbol_part parts[] = {{&debug, SYMBOLS_STATIC}, {&program, SYMBOLS_DYNAMIC}};
	struct symbol_table *table;

	CHECK_EQ(elf_image_open_memory(&program, program_bytes, nr, NULL), 0);
	nr = tiny_elf_build(debug_bytes, of_debug_file, ARRAY_SIZE(of_debug_file));
	CHECK_EQ(elf_image_open_memory(&debug, debug_bytes, nr, NULL), 0);
	table = symbol_table_read(parts, ARRAY_SIZE(parts), NULL);
	elf_image_close(&program);
	elf_image_close(&debug);
	CHECK(table);
	CHECK_EQ(symbol_table_nr(table), 3);
	CHECK_STR(name_at(table, 0x10), "exported");
	CHECK_STR(name_at(table, 0x20), "");
	CHECK_STR(name_at(table, 0x30), "local");
	CHECK_STR(name_at(table, 0x40), "alias");
	CHECK_STR(symbol_table_find_for_perf(table, TINY_TEXT_ADDRESS + 0x40, NULL), "preferred");
	CHECK_STR(name_at(table, 0x50), "");
	symbol_table_free(table);
	table = symbol_table_read(NULL, 0, NULL);
	CHECK(table);
	CHECK_EQ(symbol_table_nr(table), 0);
	symbol_table_free(table);
}

/* A debug file has the program's section headers without the contents. */
TEST(symbol_table_of_sections_without_bytes)
{
	static const struct tiny_symbol symbol = {"f", 0x10, 0x10, GLOBAL, FUNC, false, 0};
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, &symbol, 1);
	size_t text = nr - (TINY_NR_SECTIONS - TINY_TEXT) * sizeof(Elf64_Shdr);
	const uint32_t no_bits = SHT_NOBITS;
	struct symbol_table *table;
	struct elf_image image;

	memcpy(bytes + text + offsetof(Elf64_Shdr, sh_type), &no_bits, sizeof(no_bits));
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	table = read_image(&image, NULL);
	elf_image_close(&image);
	CHECK(table);
	CHECK_STR(name_at(table, 0x1f), "f");
	symbol_table_free(table);
}

/* --- made-up files ------------------------------------------------------------------------- */

TEST(symbol_table_made_by_hand)
{
	struct symbol_table *table = symbol_table_new();
	char name[] = "second";

	CHECK(table);
	CHECK(!symbol_table_find(table, TINY_TEXT_ADDRESS, NULL));
	CHECK_EQ(symbol_table_settle(table), 0);
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS + 0x20, 0x10, name), 0);
	name[0] = 'x';
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS, 0x18, "_first"), 0);
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS, 0x18, "first"), 0);
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS + 0x40, 0, "empty"), 0);
	CHECK_EQ(symbol_table_add(table, UINT64_MAX - 1, 0x10, "last"), 0);
	CHECK_EQ(symbol_table_settle(table), 0);
	CHECK_EQ(symbol_table_nr(table), 4);
	CHECK_STR(name_at(table, 0x17), "first");
	CHECK_STR(name_at(table, 0x18), "");
	CHECK_STR(name_at(table, 0x20), "second");
	CHECK_STR(name_at(table, 0x40), "");
	CHECK_STR(symbol_table_find(table, UINT64_MAX - 1, NULL), "last");
	CHECK(symbol_table_bytes(table) < 300);
	symbol_table_free(table);
}

/* Addresses that differ in any byte, unordered; then the same in order. */
TEST(symbol_table_sorts_by_all_of_an_address)
{
	struct symbol_table *table = symbol_table_new();
	uint64_t starts[3000], state = 8, start;
	char name[32];
	size_t i;

	CHECK(table);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		starts[i] = tiny_random(&state) << tiny_random(&state) % 48;
		snprintf(name, sizeof(name), "f%016" PRIx64, starts[i]);
		CHECK_EQ(symbol_table_add(table, starts[i], 1, name), 0);
	}
	CHECK_EQ(symbol_table_settle(table), 0);
	CHECK_EQ(symbol_table_settle(table), 0);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		snprintf(name, sizeof(name), "f%016" PRIx64, starts[i]);
		CHECK_STR(symbol_table_find(table, starts[i], &start), name);
		CHECK_EQ(start, starts[i]);
	}
	symbol_table_free(table);
}

static struct symbol_table *make_small(void)
{
	struct symbol_table *table = symbol_table_new();

	if (table &&
	    (symbol_table_add(table, 0x20, 0x10, "a name that is longer than others") < 0 ||
	     symbol_table_add(table, 0x10, 0x10, "first") < 0 || symbol_table_settle(table) < 0)) {
		symbol_table_free(table);
		table = NULL;
	}
	return table;
}

TEST(symbol_table_made_out_of_memory)
{
	struct symbol_table *table = NULL;
	size_t nth;

	for (nth = 1; !table; nth++) {
		test_fail_allocation(nth);
		table = make_small();
		test_fail_allocation(0);
	}
	CHECK(nth > 5);
	CHECK_STR(symbol_table_find(table, 0x10, NULL), "first");
	symbol_table_free(table);
}

/* --- damage -------------------------------------------------------------------------------- */

static const struct tiny_symbol various[] = {
	{"outer", 0x00, 0x100, GLOBAL, FUNC, false, 0},
	{"inner", 0x20, 0x10, GLOBAL, FUNC, true, 0},
	{"alias@@V1", 0x20, 0x10, WEAK, FUNC, false, 0},
	{"label", 0x40, 0, LOCAL, NOTYPE, false, 0},
	{"unsized", 0x180, 0, GLOBAL, FUNC, true, 0},
	{"$x", 0x1a0, 0, LOCAL, NOTYPE, false, 0},
	{"other", 0x200, 0x10, LOCAL, FUNC, false, 0},
};

/* Reads symbols of arbitrary bytes and looks some up; only a crash is a failure. */
static void use(const uint8_t *bytes, size_t nr)
{
	struct symbol_table *table;
	struct elf_image image;
	uint64_t vaddr, start;
	size_t length = 0;

	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return;
	table = read_image(&image, NULL);
	elf_image_close(&image);
	if (!table)
		return;
	for (vaddr = TINY_TEXT_ADDRESS - 4; vaddr < TINY_TEXT_ADDRESS + 0x410; vaddr += 4) {
		const char *name = symbol_table_find(table, vaddr, &start);

		if (name)
			length += strlen(name) + (vaddr - start);
	}
	CHECK(length < 100000000);
	CHECK(symbol_table_bytes(table) < 4 * TINY_ROOM);
	symbol_table_free(table);
}

TEST(symbol_table_truncated)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various));

	for (; nr > 0; nr--)
		use(test_guarded(bytes, nr - 1), nr - 1);
}

/* A valid file whose sections come first, so that truncation cuts symbols and strings. */
TEST(symbol_table_shrunk_while_open)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various));
	cleanup_file FILE *file = tmpfile();
	struct symbol_table *table;
	struct elf_image image;
	size_t shorter;

	CHECK(file);
	for (shorter = 0; shorter < nr; shorter += 8) {
		CHECK_EQ(pwrite(fileno(file), bytes, nr, 0), nr);
		CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
		CHECK_EQ(ftruncate(fileno(file), (off_t)shorter), 0);
		table = read_image(&image, NULL);
		CHECK(!table || symbol_table_nr(table) <= ARRAY_SIZE(various));
		symbol_table_free(table);
		elf_image_close(&image);
	}
}

/* A sparse file of a terabyte, all of it claimed by its tables: refused, not read. */
TEST(symbol_table_of_a_sparse_file)
{
	static const enum tiny_section liars[] = {TINY_SYMTAB, TINY_STRTAB, TINY_DYNSYM,
						  TINY_DYNSTR};
	const uint64_t huge = 1ULL << 39;
	uint8_t bytes[TINY_ROOM];
	size_t i, nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various));
	size_t sections = nr - TINY_NR_SECTIONS * sizeof(Elf64_Shdr);
	cleanup_file FILE *file = tmpfile();
	struct elf_image image;
	struct error error;

	CHECK(file);
	if (ftruncate(fileno(file), 1LL << 40) < 0)
		SKIP("needs a file system with sparse files in /tmp");
	for (i = 0; i < ARRAY_SIZE(liars); i++) {
		size_t claim =
			sections + liars[i] * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size);

		CHECK_EQ(pwrite(fileno(file), bytes, nr, 0), nr);
		CHECK_EQ(pwrite(fileno(file), &huge, sizeof(huge), (off_t)claim), sizeof(huge));
		CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
		CHECK(!read_image(&image, &error));
		CHECK_EQ(error.code, -ENOEXEC);
		elf_image_close(&image);
	}
}

TEST(symbol_table_damaged)
{
	uint8_t sound[TINY_ROOM];
	size_t nr = tiny_elf_build(sound, various, ARRAY_SIZE(various));
	uint8_t *guarded = test_guarded(sound, nr);
	size_t text_end = TINY_TEXT_OFFSET + TINY_TEXT_BYTES;
	uint64_t state = 2;
	size_t round;

	for (round = 0; round < 10000; round++) {
		memcpy(guarded, sound, nr);
		if (round % 8 == 0)
			tiny_damage(guarded, nr, &state);
		else
			tiny_damage(guarded + text_end, nr - text_end, &state);
		use(guarded, nr);
	}
}

TEST(symbol_table_out_of_memory)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various));
	struct symbol_table *table = NULL;
	struct elf_image image;
	struct error error;
	size_t nth;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	for (nth = 1; !table; nth++) {
		error = (struct error){0};
		test_fail_allocation(nth);
		table = read_image(&image, &error);
		test_fail_allocation(0);
		CHECK(table || error.code == -ENOMEM);
	}
	CHECK(nth > 5);
	elf_image_close(&image);
	symbol_table_free(table);
}

/* --- compared with binutils ---------------------------------------------------------------- */

static struct symbol_table *read_path(const char *path)
{
	cleanup_file FILE *file = fopen(path, "r");
	struct symbol_table *table;
	struct elf_image image;

	CHECK(file);
	CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
	table = read_image(&image, NULL);
	elf_image_close(&image);
	CHECK(table);
	return table;
}

/*
 * Checks that every function that nm lists with a size is found at its start, under one of the
 * names that nm has for that address. Returns the number of functions.
 */
static size_t check_against_nm(const char *path, const char *options)
{
	struct symbol_table *table = read_path(path);
	uint64_t address, size, start, previous = 0;
	size_t nr = 0, nr_names = 0, nr_matches = 1;
	char line[4096], type, name[4001];
	FILE *nm;

	snprintf(line, sizeof(line), "nm -nS --defined-only %s '%s' 2>/dev/null", options, path);
	nm = popen(line, "r");
	CHECK(nm);
	while (fgets(line, sizeof(line), nm)) {
		const char *found;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %4000s", &address, &size, &type,
			   name) != 4 ||
		    !strchr("TtWwi", type))
			continue;
		name[strcspn(name, "@")] = '\0';
		if (address != previous) {
			CHECK(nr_matches > 0);
			nr_matches = nr_names = 0;
			previous = address;
		}
		found = symbol_table_find(table, address, &start);
		if (!found)
			fprintf(stderr, "  %s: nothing at %" PRIx64 "\n", name, address);
		CHECK(found);
		CHECK_EQ(start, address);
		nr_matches += !strcmp(found, name);
		nr_names++;
		nr++;
	}
	CHECK(nr_matches > 0);
	pclose(nm);
	symbol_table_free(table);
	return nr;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret_path)
{
	if (strstr(info->dlpi_name, "/libc.so"))
		snprintf(ret_path, 256, "%s", info->dlpi_name);
	return 0;
}

TEST(symbol_table_of_this_program_as_nm_has_it)
{
	char path[256] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	if (system("nm --version >/dev/null 2>&1"))
		SKIP("needs nm");
	CHECK(check_against_nm(path, "") > 30);
}

TEST(symbol_table_of_libc_as_nm_has_it)
{
	char path[256] = "";

	dl_iterate_phdr(find_libc, path);
	if (!path[0] || system("nm --version >/dev/null 2>&1"))
		SKIP("needs nm, and a shared libc");
	CHECK(check_against_nm(path, "-D") > 1000);
}

/* A 32-bit object file, assembled for x86 on any machine. */
TEST(symbol_table_of_32_bits)
{
	char path[] = "/tmp/stook-test-XXXXXX";
	cleanup_fd int fd = mkstemp(path);
	struct symbol_table *table;
	char command[256];
	int status;

	CHECK(fd >= 0);
	snprintf(command, sizeof(command),
		 "printf '.globl f\\n.type f,@function\\nf: nop\\nnop\\n.size f,.-f\\nnop\\n"
		 "label: nop\\n' | as --32 -o %s - 2>/dev/null",
		 path);
	status = system(command);
	if (status) {
		unlink(path);
		SKIP("needs an assembler for x86");
	}
	table = read_path(path);
	unlink(path);
	CHECK_STR(symbol_table_find(table, 1, NULL), "f");
	CHECK(!symbol_table_find(table, 2, NULL));
	CHECK_STR(symbol_table_find(table, 3, NULL), "label");
	CHECK(!symbol_table_find(table, 4, NULL));
	symbol_table_free(table);
}
