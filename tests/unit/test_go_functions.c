/* elf/symbols/go_functions: made-up tables of all versions: valid, damaged and truncated. */
#include "elf/symbols/go_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define TEXT	   0x401000
#define TABLE	   0x500000
#define TABLE_ROOM 1024

enum { GO_1_2, GO_1_16, GO_1_18, GO_1_20, GO_NR };
static const uint32_t magics[GO_NR] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

static const struct {
	uint64_t offset; /* from TEXT */
	const char *name;
} functions[] = {
	{0x00, "internal/cpu.Initialize"},
	{0x40, "main.Map[...]"},
	{0x60, "main.(*tree[...]).add"},
	{0x90, "type:.eq.[2]interface {}"},
};
#define NR_FUNCTIONS ARRAY_SIZE(functions)
#define TEXT_BYTES   0xc0 /* end of the last function */

struct writer {
	uint8_t *bytes;
	size_t nr;
};

static void put(struct writer *writer, uint64_t value, unsigned nr)
{
	memcpy(writer->bytes + writer->nr, &value, nr);
	writer->nr += nr;
}

static size_t put_names(struct writer *writer, uint64_t *ret_names)
{
	size_t i;

	for (i = 0; i < NR_FUNCTIONS; i++) {
		ret_names[i] = writer->nr;
		strcpy((char *)writer->bytes + writer->nr, functions[i].name);
		writer->nr += strlen(functions[i].name) + 1;
	}
	writer->nr = (writer->nr + 7) / 8 * 8;
	return writer->nr;
}

/*
 * Writes a pair for each function (its start and the offset of its data), then the data. base: what
 * offsets count from; width: bytes per number of a pair.
 */
static void put_functions(struct writer *writer, size_t base, unsigned width, uint64_t text,
			  const uint64_t *names, uint64_t names_base)
{
	size_t more = writer->nr - base + (2 * NR_FUNCTIONS + 1) * width, i;

	for (i = 0; i < NR_FUNCTIONS; i++) {
		put(writer, text + functions[i].offset, width);
		put(writer, more + i * (width + 4), width);
	}
	put(writer, text + TEXT_BYTES, width);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		put(writer, text + functions[i].offset, width);
		put(writer, names[i] - names_base, 4);
	}
}

/* Fills TABLE_ROOM bytes; text: start of the code according to the header or the addresses. */
static size_t make_table(uint8_t *bytes, int version, unsigned pointer, uint64_t text)
{
	struct writer writer = {bytes, 0};
	uint64_t names[NR_FUNCTIONS];
	bool has_offsets = version >= GO_1_18;
	size_t names_at, names_end, i;

	memset(bytes, 0, TABLE_ROOM);
	put(&writer, magics[version], 4);
	put(&writer, 0, 2);
	put(&writer, 1, 1);
	put(&writer, pointer, 1);
	put(&writer, NR_FUNCTIONS, pointer);
	if (version == GO_1_2) {
		struct writer behind = {bytes, 512};

		(void)put_names(&behind, names);
		put_functions(&writer, 0, pointer, text, names, 0);
		return behind.nr;
	}
	put(&writer, 0, pointer);
	if (has_offsets)
		put(&writer, text, pointer);
	names_at = writer.nr + 5 * pointer;
	names_end = put_names(&(struct writer){bytes, names_at}, names);
	put(&writer, names_at, pointer);
	for (i = 0; i < 4; i++)
		put(&writer, names_end, pointer);
	writer.nr = names_end;
	put_functions(&writer, names_end, has_offsets ? 4 : pointer, has_offsets ? 0 : text, names,
		      names_at);
	return writer.nr;
}

/* Builds a file with a table in the named section, and up to two more sections. */
static size_t build(uint8_t *bytes, const char *name, const uint8_t *table, size_t nr_table,
		    const struct made_section *more, size_t nr_more)
{
	struct made_section sections[MADE_SECTIONS_MAX] = {
		{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, "\xc3", 1, 0, 0},
		{name, SHT_PROGBITS, SHF_ALLOC, TABLE, table, nr_table, 0, 0},
	};
	size_t i;

	for (i = 0; i < nr_more; i++)
		sections[2 + i] = more[i];
	return made_elf_build(bytes, EM_X86_64, sections, 2 + nr_more);
}

static int read_bytes(const uint8_t *bytes, size_t nr, struct symbol_table **ret)
{
	return made_elf_read(go_functions_read, bytes, nr, ret);
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	const char *name = symbol_table_find(table, address, NULL);

	return name ? name : "";
}

static void check_functions(const struct symbol_table *table, uint64_t text)
{
	size_t i;

	CHECK(table);
	CHECK_EQ(symbol_table_nr(table), NR_FUNCTIONS);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		uint64_t end = i + 1 < NR_FUNCTIONS ? functions[i + 1].offset : TEXT_BYTES, start;

		CHECK_STR(name_at(table, text + functions[i].offset), functions[i].name);
		CHECK_STR(symbol_table_find(table, text + end - 1, &start), functions[i].name);
		CHECK_EQ(start, text + functions[i].offset);
	}
	CHECK_STR(name_at(table, text - 1), "");
	CHECK_STR(name_at(table, text + TEXT_BYTES), "");
}

TEST(go_functions_of_all_versions)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	struct symbol_table *table;
	int version;

	for (version = 0; version < 2 * GO_NR; version++) {
		size_t nr = make_table(made, version / 2, version % 2 ? 4 : 8, TEXT);

		nr = build(bytes, names[version % 2], made, nr, NULL, 0);
		CHECK_EQ(read_bytes(bytes, nr, &table), 0);
		check_functions(table, TEXT);
		symbol_table_free(table);
	}
}

TEST(go_functions_of_a_file_without_them)
{
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, TEXT);
	struct symbol_table *table;

	/* The table is in another section of a file that is not marked as a Go program. */
	nr = build(bytes, ".rodata", made, nr, NULL, 0);
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	CHECK(!table);
	/* A debug file: the section has no contents. */
	nr = build(bytes, ".gopclntab", NULL, 1000, NULL, 0);
	((Elf64_Shdr *)(void *)(bytes + ((Elf64_Ehdr *)(void *)bytes)->e_shoff))[2].sh_type =
		SHT_NOBITS;
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	CHECK(!table);
}

/* Removes the section headers. */
static void hide_sections(uint8_t *bytes)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;

	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
}

TEST(go_functions_found_by_their_beginning)
{
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM + 0x100] = {0};
	struct symbol_table *table;
	int version;

	for (version = 0; version < GO_NR; version++) {
		size_t nr = make_table(made + 0x100, version, 8, TEXT);

		memcpy(made + 0x40, &magics[version], 4); /* wrong place */
		nr = build(bytes, ".rodata", made, 0x100 + nr, NULL, 0);
		hide_sections(bytes);
		CHECK_EQ(read_bytes(bytes, nr, &table), 0);
		check_functions(table, TEXT);
		symbol_table_free(table);
	}
}

/* The section has another name; a note marks the file as Go's. */
TEST(go_functions_found_by_a_note)
{
	static const uint8_t note[] = {4, 0, 0,	  0,   3, 0, 0,	  0,   4, 0,
				       0, 0, 'G', 'o', 0, 0, 'i', 'd', 0};
	const struct made_section more = {".other", SHT_NOTE,	  SHF_ALLOC, 0x600000,
					  note,	    sizeof(note), 0,	     0};
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, TEXT);
	struct symbol_table *table;
	Elf64_Phdr *segments;

	nr = build(bytes, ".renamed", made, nr, &more, 1);
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	CHECK(!table);
	segments = (Elf64_Phdr *)(void *)(bytes + ((Elf64_Ehdr *)(void *)bytes)->e_phoff);
	CHECK_EQ(segments[2].p_vaddr, 0x600000);
	segments[2].p_type = PT_NOTE;
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	check_functions(table, TEXT);
	symbol_table_free(table);
}

/* Go 1.26 leaves the header field empty: the code then starts at .text. */
TEST(go_functions_without_a_beginning_of_code)
{
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, 0);
	struct symbol_table *table;

	nr = build(bytes, ".gopclntab", made, nr, NULL, 0);
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	check_functions(table, TEXT);
	symbol_table_free(table);
	hide_sections(bytes);
	CHECK_EQ(read_bytes(bytes, nr, &table), -ENOEXEC);
}

/* Or where the runtime's module data says, here through a relocation. */
TEST(go_functions_with_a_module)
{
	static const uint8_t module[256];
	const Elf64_Rela relocation = {0x700000 + 22 * 8, ELF64_R_INFO(0, R_X86_64_RELATIVE),
				       TEXT + 0x800};
	const struct made_section more[] = {
		{".go.module", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x700000, module,
		 sizeof(module), 0, 0},
		{".rela", SHT_RELA, SHF_ALLOC, 0x800000, &relocation, sizeof(relocation), 0, 24},
	};
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, 0);
	struct symbol_table *table;

	nr = build(bytes, ".gopclntab", made, nr, more, ARRAY_SIZE(more));
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	check_functions(table, TEXT + 0x800);
	symbol_table_free(table);
}

/* A position-independent program: the dynamic linker fills in the addresses. */
TEST(go_functions_with_relocations)
{
	const Elf64_Rela text = {TABLE + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT};
	Elf64_Rela addresses[NR_FUNCTIONS + 1];
	struct made_section more = {".rela", SHT_RELA,	   SHF_ALLOC, 0x800000,
				    &text,   sizeof(text), 0,	      24};
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_18, 8, 0), i;
	struct symbol_table *table;

	nr = build(bytes, ".data.rel.ro.gopclntab", made, nr, &more, 1);
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	check_functions(table, TEXT);
	symbol_table_free(table);

	nr = make_table(made, GO_1_2, 8, 0);
	for (i = 0; i <= NR_FUNCTIONS; i++)
		addresses[i] = (Elf64_Rela){
			TABLE + 16 + 16 * i, ELF64_R_INFO(0, R_X86_64_RELATIVE),
			TEXT + (int64_t)(i < NR_FUNCTIONS ? functions[i].offset : TEXT_BYTES)};
	more.bytes = addresses;
	more.nr = sizeof(addresses);
	nr = build(bytes, ".data.rel.ro.gopclntab", made, nr, &more, 1);
	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	check_functions(table, TEXT);
	symbol_table_free(table);
}

/* --- damage -------------------------------------------------------------------------------- */

TEST(go_table_header_with_lies)
{
	static const struct {
		size_t at;
		uint64_t value;
	} lies[] = {
		{8, 0},		  {8, UINT64_MAX},  {8, 1u << 20}, {8, 1ULL << 61}, /* functions */
		{32, 0xffff},	  {32, UINT64_MAX},				    /* names */
		{40, 0},	  {40, UINT64_MAX},				    /* names end */
		{64, TABLE_ROOM}, {64, UINT64_MAX}, /* function table offset */
	};
	uint8_t made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, TEXT), i;
	struct go_header header;

	CHECK_EQ(go_header_parse(&header, bytes_of(made, nr), nr), 0);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		make_table(made, GO_1_20, 8, TEXT);
		memcpy(made + lies[i].at, &lies[i].value, sizeof(lies[i].value));
		CHECK_EQ(go_header_parse(&header, bytes_of(made, nr), nr), -ENOEXEC);
	}
}

/* Every truncation of the table itself; the rest may list fewer functions, or none. */
TEST(go_table_truncated)
{
	uint8_t made[TABLE_ROOM];
	int version;

	for (version = 0; version < GO_NR; version++) {
		size_t nr = make_table(made, version, 8, TEXT), i;

		for (; nr; nr--) {
			uint8_t *guarded = test_guarded(made, nr - 1);
			struct go_function function;
			struct go_header header;

			if (go_header_parse(&header, bytes_of(guarded, nr - 1), nr - 1) < 0)
				continue;
			for (i = 0; i < header.nr_functions; i++)
				(void)go_function_parse(
					&function, &header,
					bytes_of(guarded + header.parts, nr - 1 - header.parts), i);
		}
	}
}

TEST(go_functions_truncated)
{
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	struct symbol_table *table;
	int version, is_hidden;

	for (version = 0; version < GO_NR; version++)
		for (is_hidden = 0; is_hidden < 2; is_hidden++) {
			size_t nr = make_table(made, version, 8, TEXT);

			nr = build(bytes, ".gopclntab", made, nr, NULL, 0);
			if (is_hidden)
				hide_sections(bytes);
			for (; nr; nr--) {
				(void)read_bytes(test_guarded(bytes, nr - 1), nr - 1, &table);
				symbol_table_free(table);
			}
		}
}

TEST(go_functions_damaged)
{
	uint8_t sound[MADE_ROOM], made[TABLE_ROOM];
	struct symbol_table *table;
	uint64_t state = 7;
	int version;

	for (version = 0; version < GO_NR; version++) {
		size_t nr_table = make_table(made, version, 8, TEXT), round;
		size_t nr = build(sound, ".gopclntab", made, nr_table, NULL, 0), at = 0;
		uint8_t *guarded = test_guarded(sound, nr);

		while (memcmp(sound + at, made, nr_table) != 0)
			at++;
		for (round = 0; round < 5000; round++) {
			memcpy(guarded, sound, nr);
			if (round % 8 == 0)
				tiny_damage(guarded, nr, &state);
			else
				tiny_damage(guarded + at, nr_table, &state);
			(void)read_bytes(guarded, nr, &table);
			symbol_table_free(table);
		}
	}
}

static void run_out_of_memory(const uint8_t *bytes, size_t nr)
{
	struct symbol_table *table = NULL;
	struct elf_image image;
	size_t nth;
	int err;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	for (nth = 1; !table; nth++) {
		test_fail_allocation(nth);
		err = go_functions_read(&table, &image, NULL);
		test_fail_allocation(0);
		CHECK(table ? err == 0 : err == -ENOMEM);
	}
	CHECK(nth > 5);
	elf_image_close(&image);
	symbol_table_free(table);
}

TEST(go_functions_out_of_memory)
{
	static const uint8_t module[256];
	const struct made_section more = {".go.module",
					  SHT_PROGBITS,
					  SHF_ALLOC | SHF_WRITE,
					  0x700000,
					  module,
					  sizeof(module),
					  0,
					  0};
	uint8_t bytes[MADE_ROOM], made[TABLE_ROOM];
	size_t nr = make_table(made, GO_1_20, 8, 0);

	nr = build(bytes, ".gopclntab", made, nr, &more, 1);
	run_out_of_memory(bytes, nr);
	nr = make_table(made, GO_1_20, 8, TEXT);
	nr = build(bytes, ".gopclntab", made, nr, NULL, 0);
	hide_sections(bytes);
	run_out_of_memory(bytes, nr);
}
