/* elf/symbols/function_list, and sorting by address: made-up files, also damaged. */
#include "elf/symbols/function_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/symbols/symbol_table_state.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define BOTH   (SYMBOLS_STATIC | SYMBOLS_DYNAMIC)
#define FUNC   STT_FUNC
#define NOTYPE STT_NOTYPE
#define GLOBAL STB_GLOBAL
#define WEAK   STB_WEAK
#define LOCAL  STB_LOCAL

static int read_bytes(struct function_list *list, const uint8_t *bytes, size_t nr, unsigned tables)
{
	struct error error = {0};
	struct elf_image image;
	int err;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	err = function_list_read(list, &image, tables, &error);
	CHECK_EQ(err, error.code);
	elf_image_close(&image);
	return err;
}

static struct function_list list_tiny(const struct tiny_symbol *symbols, size_t nr, unsigned tables)
{
	struct function_list list = {0};
	uint8_t bytes[TINY_ROOM];
	size_t nr_bytes = tiny_elf_build(bytes, symbols, nr);

	CHECK_EQ(read_bytes(&list, bytes, nr_bytes, tables), 0);
	CHECK_EQ(function_list_settle(&list), 0);
	return list;
}

/* Returns the list as "10 name file l;…", with i for an IFUNC. */
static const char *text_of(const struct function_list *list)
{
	static char text[4096];
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i < list->nr; i++) {
		const struct listed_function *function = &list->functions[i];

		at += (size_t)snprintf(
			text + at, sizeof(text) - at, "%s%llx+%llx %s %s%s%s", i ? "; " : "",
			(unsigned long long)(function->vaddr - TINY_TEXT_ADDRESS),
			(unsigned long long)function->bytes,
			function_list_text(list, function->name),
			function_list_text(list, function->source), function->is_local ? "l" : "",
			function->is_ifunc ? "i" : "");
		CHECK(at < sizeof(text));
	}
	return text;
}

TEST(function_list_has_functions_only)
{
	static const struct tiny_symbol symbols[] = {
		{"second", 0x40, 0x10, GLOBAL, FUNC, false, 0},
		{"first", 0x10, 0x10, WEAK, FUNC, false, 0},
		{"unsized", 0x60, 0, GLOBAL, FUNC, false, 0},
		{"chosen", 0x80, 0x20, GLOBAL, STT_GNU_IFUNC, true, 0},
		{"label", 0x90, 0, GLOBAL, NOTYPE, false, 0},
		{"$x", 0x90, 0, LOCAL, NOTYPE, false, 0},
		{"data", 0x110, 8, GLOBAL, STT_OBJECT, false, 0},
		{"elsewhere", 0x410, 8, GLOBAL, FUNC, false, TINY_DATA},
		{"misnumbered", 0x200, 8, GLOBAL, FUNC, true, TINY_DATA},
		{"absolute", 0x120, 8, GLOBAL, FUNC, false, SHN_ABS},
		{"", 0x130, 8, GLOBAL, FUNC, false, 0},
		{"beyond", 0x3f0, 0x1000, GLOBAL, FUNC, false, 0},
		{"versioned@@V2", 0x300, 1, GLOBAL, FUNC, true, 0},
		{"versioned@V1", 0x310, 1, GLOBAL, FUNC, true, 0},
	};
	struct function_list list = list_tiny(symbols, ARRAY_SIZE(symbols), BOTH);

	CHECK_STR(text_of(&list),
		  "10+10 first ; 40+10 second ; 60+0 unsized ; 80+20 chosen i; "
		  "200+8 misnumbered ; 300+1 versioned ; 310+1 versioned ; 3f0+10 beyond ");
	function_list_clear(&list);
	list = list_tiny(symbols, ARRAY_SIZE(symbols), SYMBOLS_DYNAMIC);
	CHECK_EQ(list.nr, 4);
	function_list_clear(&list);
}

TEST(function_list_has_every_name_once)
{
	static const struct tiny_symbol symbols[] = {
		{"__read", 0x10, 8, WEAK, FUNC, false, 0},
		{"read", 0x10, 8, GLOBAL, FUNC, false, 0},
		{"__libc_read", 0x10, 8, LOCAL, FUNC, false, 0},
		{"read@@V", 0x10, 8, GLOBAL, FUNC, true, 0},
		{"__read@@V", 0x10, 9, WEAK, FUNC, true, 0},
		{"read", 0x20, 8, GLOBAL, FUNC, true, 0},
	};
	struct function_list list = list_tiny(symbols, ARRAY_SIZE(symbols), BOTH);
	const char *wanted = "10+8 __libc_read l; 10+9 __read ; 10+8 read ; 20+8 read ";

	CHECK_STR(text_of(&list), wanted);
	CHECK_EQ(function_list_settle(&list), 0);
	CHECK_STR(text_of(&list), wanted);
	function_list_clear(&list);
}

TEST(function_list_knows_the_files_of_local_functions)
{
	static const struct tiny_symbol symbols[] = {
		{"early", 0x00, 8, LOCAL, FUNC, false, 0},
		{"a.c", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
		{"twin", 0x20, 8, LOCAL, FUNC, false, 0},
		{"b.c", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
		{"twin", 0x10, 8, LOCAL, FUNC, false, 0},
		{"clone.isra.0", 0x30, 8, LOCAL, FUNC, false, 0},
		{"", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
		{"of_the_linker", 0x40, 8, LOCAL, FUNC, false, 0},
		{"c.c", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
		{"global", 0x50, 8, GLOBAL, FUNC, false, 0},
	};
	struct function_list list = list_tiny(symbols, ARRAY_SIZE(symbols), BOTH);

	CHECK_STR(text_of(&list), "0+8 early l; 10+8 twin b.cl; 20+8 twin a.cl; "
				  "30+8 clone.isra.0 b.cl; 40+8 of_the_linker l; 50+8 global ");
	function_list_clear(&list);
}

/* A debug file has the program's section headers without the contents. */
TEST(function_list_of_a_program_and_its_debug_file)
{
	static const struct tiny_symbol of_program = {"exported", 0x10, 0x10, GLOBAL,
						      FUNC,	  true, 0};
	static const struct tiny_symbol of_debug_file[] = {
		{"a.c", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
		{"local", 0x30, 0x10, LOCAL, FUNC, false, 0},
		{"exported", 0x10, 0x10, GLOBAL, FUNC, false, 0},
	};
	struct function_list list = {0};
	const uint32_t no_bits = SHT_NOBITS;
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, &of_program, 1), text;

	CHECK_EQ(read_bytes(&list, bytes, nr, BOTH), 0);
	nr = tiny_elf_build(bytes, of_debug_file, ARRAY_SIZE(of_debug_file));
	text = nr - (TINY_NR_SECTIONS - TINY_TEXT) * sizeof(Elf64_Shdr);
	memcpy(bytes + text + offsetof(Elf64_Shdr, sh_type), &no_bits, sizeof(no_bits));
	CHECK_EQ(read_bytes(&list, bytes, nr, SYMBOLS_STATIC), 0);
	CHECK_EQ(function_list_settle(&list), 0);
	CHECK_STR(text_of(&list), "10+10 exported ; 30+10 local a.cl");
	function_list_clear(&list);
}

TEST(function_list_of_another_table)
{
	static const struct tiny_symbol symbols[] = {
		{"typed", 0x10, 0x10, LOCAL, FUNC, false, 0},
		{"label", 0x40, 0x10, GLOBAL, NOTYPE, false, 0},
	};
	struct function_list list = list_tiny(symbols, ARRAY_SIZE(symbols), BOTH);
	struct symbol_table *table = symbol_table_new();
	uint8_t bytes[TINY_ROOM];
	struct symbol_part part;
	struct elf_image image;
	size_t nr;

	CHECK(table);
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS + 0x20, 8, "main.main"), 0);
	CHECK_EQ(symbol_table_add(table, TINY_TEXT_ADDRESS + 0x10, 8, "typed"), 0);
	CHECK_EQ(symbol_table_settle(table), 0);
	CHECK_EQ(function_list_add_table(&list, table), 0);
	symbol_table_free(table);
	nr = tiny_elf_build(bytes, symbols, ARRAY_SIZE(symbols));
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	part = (struct symbol_part){&image, BOTH};
	table = symbol_table_read(&part, 1, NULL);
	elf_image_close(&image);
	CHECK(table);
	CHECK_EQ(function_list_add_table(&list, table), 0);
	symbol_table_free(table);
	CHECK_EQ(function_list_settle(&list), 0);
	CHECK_STR(text_of(&list), "10+10 typed ; 20+8 main.main ");
	function_list_clear(&list);
}

TEST(function_list_of_nothing)
{
	struct function_list list = {0};
	struct symbol_table *table = symbol_table_new();

	CHECK(table);
	CHECK_EQ(function_list_settle(&list), 0);
	CHECK_EQ(function_list_add_table(&list, table), 0);
	CHECK_EQ(function_list_settle(&list), 0);
	CHECK_EQ(list.nr, 0);
	symbol_table_free(table);
	function_list_clear(&list);
	list = list_tiny(NULL, 0, BOTH);
	CHECK_EQ(list.nr, 0);
	function_list_clear(&list);
}

/* --- sorting ------------------------------------------------------------------------------- */

TEST(address_sort_keeps_the_order_of_equals)
{
	struct item {
		uint64_t address;
		uint32_t number, unused;
	} items[3000];
	uint64_t state = 8;
	uint32_t i;

	CHECK_EQ(address_sort(items, 0, sizeof(*items)), 0);
	for (i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = (struct item){
			tiny_random(&state) % 1000 << 8 * (tiny_random(&state) % 7), i, 0};
	CHECK_EQ(address_sort(items, ARRAY_SIZE(items), sizeof(*items)), 0);
	for (i = 1; i < ARRAY_SIZE(items); i++)
		CHECK(items[i - 1].address < items[i].address ||
		      (items[i - 1].address == items[i].address &&
		       items[i - 1].number < items[i].number));
}

/* --- damage -------------------------------------------------------------------------------- */

static const struct tiny_symbol various[] = {
	{"a.c", 0, 0, LOCAL, STT_FILE, false, SHN_ABS},
	{"local", 0x200, 0x10, LOCAL, FUNC, false, 0},
	{"outer", 0x00, 0x100, GLOBAL, FUNC, false, 0},
	{"inner@@V1", 0x20, 0x10, GLOBAL, FUNC, true, 0},
	{"alias", 0x20, 0x10, WEAK, FUNC, false, 0},
	{"chosen", 0x180, 0, GLOBAL, STT_GNU_IFUNC, true, 0},
};

/* Lists the functions of arbitrary bytes; only a crash is a failure. */
static void use(const uint8_t *bytes, size_t nr)
{
	struct function_list list = {0};
	struct elf_image image;
	size_t i, length = 0;

	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return;
	if (function_list_read(&list, &image, BOTH, NULL) < 0)
		CHECK_EQ(list.nr, 0);
	elf_image_close(&image);
	CHECK_EQ(function_list_settle(&list), 0);
	for (i = 0; i < list.nr; i++) {
		const struct listed_function *function = &list.functions[i];

		length += strlen(function_list_text(&list, function->name));
		length += strlen(function_list_text(&list, function->source));
		CHECK(i == 0 || function[-1].vaddr <= function->vaddr);
	}
	CHECK(length < 100000000);
	function_list_clear(&list);
}

TEST(function_list_truncated)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various));

	for (; nr > 0; nr--)
		use(test_guarded(bytes, nr - 1), nr - 1);
}

TEST(function_list_damaged)
{
	uint8_t sound[TINY_ROOM], *guarded;
	size_t nr = tiny_elf_build(sound, various, ARRAY_SIZE(various)), round;
	uint64_t state = 9;

	guarded = test_guarded(sound, nr);
	for (round = 0; round < 10000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		use(guarded, nr);
	}
}

TEST(function_list_shrunk_while_open)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various)), shorter;
	cleanup_file FILE *file = tmpfile();

	CHECK(file);
	for (shorter = 0; shorter < nr; shorter += 8) {
		struct function_list list = {0};
		struct elf_image image;

		CHECK_EQ(pwrite(fileno(file), bytes, nr, 0), nr);
		CHECK_EQ(elf_image_open(&image, fileno(file), NULL), 0);
		CHECK_EQ(ftruncate(fileno(file), (off_t)shorter), 0);
		if (function_list_read(&list, &image, BOTH, NULL) < 0)
			CHECK_EQ(list.nr, 0);
		function_list_clear(&list);
		elf_image_close(&image);
	}
}

/* Many symbols share one long name: reading every name in full would take forever. */
TEST(function_list_of_endless_names)
{
	enum { NR = 80000, NAME_BYTES = 16384 };
	const size_t nr_symbols = NR * sizeof(Elf64_Sym);
	cleanup_free uint8_t *bytes = calloc(1, MADE_ROOM + nr_symbols + NAME_BYTES);
	const struct made_section sections[] = {
		{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "\xc3", 1, 0, 0},
		{".symtab", SHT_SYMTAB, 0, 0, NULL, nr_symbols, 3, sizeof(Elf64_Sym)},
		{".strtab", SHT_STRTAB, 0, 0, NULL, NAME_BYTES, 0, 0},
	};
	const Elf64_Sym symbol = {
		.st_info = ELF64_ST_INFO(GLOBAL, FUNC), .st_shndx = 1, .st_value = 0x1000};
	struct function_list list = {0};
	Elf64_Shdr *headers;
	Elf64_Ehdr header;
	size_t i;

	CHECK(bytes);
	made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
	memcpy(&header, bytes, sizeof(header));
	headers = (void *)(bytes + header.e_shoff);
	headers[2].sh_offset = MADE_ROOM;
	headers[3].sh_offset = MADE_ROOM + nr_symbols;
	for (i = 0; i < NR; i++)
		memcpy(bytes + MADE_ROOM + i * sizeof(symbol), &symbol, sizeof(symbol));
	memset(bytes + MADE_ROOM + nr_symbols, 'a', NAME_BYTES);
	CHECK_EQ(read_bytes(&list, bytes, MADE_ROOM + nr_symbols + NAME_BYTES, BOTH), -E2BIG);
	CHECK_EQ(list.nr, 0);
	CHECK_EQ(list.nr_name_bytes, 0);
	function_list_clear(&list);
}

static int make_list(struct function_list *list, const struct elf_image *image)
{
	struct symbol_table *table = symbol_table_new();
	int err = table ? symbol_table_add(table, 0x10, 0x10, "a name that is longer than others")
			: -ENOMEM;

	if (err == 0)
		err = function_list_read(list, image, BOTH, NULL);
	if (err == 0)
		err = function_list_add_table(list, table);
	if (err == 0)
		err = function_list_settle(list);
	symbol_table_free(table);
	return err;
}

TEST(function_list_out_of_memory)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, various, ARRAY_SIZE(various)), nth;
	int err = -ENOMEM;

	for (nth = 1; err < 0; nth++) {
		struct function_list list = {0};
		struct elf_image image;

		CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
		test_fail_allocation(nth);
		err = make_list(&list, &image);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK(err < 0 || list.nr == 6);
		function_list_clear(&list);
		elf_image_close(&image);
	}
	CHECK(nth > 8);
}
