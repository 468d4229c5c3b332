/* elf/symbols/debug_data: compressed symbol tables: valid, truncated, damaged, hostile. */
#include "elf/symbols/debug_data.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static const struct tiny_symbol inside[] = {
	{"hidden", 0x10, 0x10, STB_LOCAL, STT_FUNC, false, 0},
	{"hidden_too", 0x20, 0x10, STB_LOCAL, STT_FUNC, false, 0},
	{"not_asked_for", 0x30, 0x10, STB_GLOBAL, STT_FUNC, true, 0},
};

static size_t pack(const void *bytes, size_t nr, uint8_t *to, size_t room)
{
	size_t nr_packed = 0;

	CHECK_EQ(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, nr, to, &nr_packed, room),
		LZMA_OK);
	return nr_packed;
}

/* Builds a stripped file with one dynamic symbol and these bytes as .gnu_debugdata. */
static size_t build(uint8_t *bytes, const void *packed, size_t nr)
{
	static const char strings[] = "\0exported";
	const Elf64_Sym symbols[] = {
		{0},
		{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, TINY_TEXT_ADDRESS + 0x80, 0x10},
	};
	const struct made_section sections[] = {
		{".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TINY_TEXT_ADDRESS, NULL,
		 TINY_TEXT_BYTES, 0, 0},
		{".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x2000, symbols, sizeof(symbols), 3, 24},
		{".dynstr", SHT_STRTAB, SHF_ALLOC, 0x3000, strings, sizeof(strings), 0, 0},
		{".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, nr, 0, 0},
	};

	return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
}

static size_t build_sound(uint8_t *bytes, uint8_t *packed, size_t *ret_nr_packed)
{
	uint8_t tiny[TINY_ROOM];
	size_t nr = tiny_elf_build(tiny, inside, ARRAY_SIZE(inside));

	*ret_nr_packed = pack(tiny, nr, packed, TINY_ROOM);
	return build(bytes, packed, *ret_nr_packed);
}

static int read_bytes(const uint8_t *bytes, size_t nr, struct symbol_table **ret)
{
	return made_elf_read(debug_data_read, bytes, nr, ret);
}

/* Returns the error for these bytes as .gnu_debugdata. */
static int read_packed(const void *packed, size_t nr)
{
	uint8_t bytes[MADE_ROOM];
	struct symbol_table *table;
	int err = read_bytes(bytes, build(bytes, packed, nr), &table);

	symbol_table_free(table);
	return err;
}

static const char *name_at(const struct symbol_table *table, uint64_t offset)
{
	const char *name = symbol_table_find(table, TINY_TEXT_ADDRESS + offset, NULL);

	return name ? name : "";
}

TEST(debug_data_is_merged_with_dynamic_symbols)
{
	uint8_t bytes[MADE_ROOM], packed[TINY_ROOM];
	struct symbol_table *table;
	size_t nr_packed, nr = build_sound(bytes, packed, &nr_packed);

	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	CHECK(table);
	CHECK_EQ(symbol_table_nr(table), 3);
	CHECK_STR(name_at(table, 0x15), "hidden");
	CHECK_STR(name_at(table, 0x2f), "hidden_too");
	CHECK_STR(name_at(table, 0x30), "");
	CHECK_STR(name_at(table, 0x80), "exported");
	symbol_table_free(table);
}

TEST(debug_data_of_a_file_without_it)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, inside, ARRAY_SIZE(inside));
	struct symbol_table *table;

	CHECK_EQ(read_bytes(bytes, nr, &table), 0);
	CHECK(!table);
}

TEST(debug_data_that_is_none)
{
	uint8_t packed[1024], text[100] = "not an ELF file";

	CHECK_EQ(read_packed("nothing of xz", 13), -ENOEXEC);
	CHECK_EQ(read_packed("", 0), -ENOEXEC);
	CHECK_EQ(read_packed(packed, pack(text, sizeof(text), packed, sizeof(packed))), -ENOEXEC);
	CHECK_EQ(read_packed(packed, pack(text, 0, packed, sizeof(packed))), -ENOEXEC);
}

/* Every length of the compressed bytes, with the correct section size. */
TEST(debug_data_truncated)
{
	uint8_t bytes[MADE_ROOM], packed[TINY_ROOM];
	size_t nr_packed;

	(void)build_sound(bytes, packed, &nr_packed);
	while (nr_packed--)
		CHECK_EQ(read_packed(packed, nr_packed), -ENOEXEC);
}

/* Every length of the file, with the original section size. */
TEST(debug_data_of_a_truncated_file)
{
	uint8_t bytes[MADE_ROOM], packed[TINY_ROOM];
	struct symbol_table *table;
	size_t nr_packed, nr = build_sound(bytes, packed, &nr_packed);

	while (nr--) {
		(void)read_bytes(test_guarded(bytes, nr), nr, &table);
		symbol_table_free(table);
	}
}

TEST(debug_data_damaged)
{
	uint8_t sound[MADE_ROOM], packed[TINY_ROOM];
	size_t nr_packed, nr = build_sound(sound, packed, &nr_packed), round;
	uint8_t *guarded = test_guarded(sound, nr);
	struct symbol_table *table;
	uint64_t state = 3;

	for (round = 0; round < 5000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		(void)read_bytes(guarded, nr, &table);
		symbol_table_free(table);
	}
}

/* The content is untrusted too: it is damaged before compression. */
TEST(debug_data_damaged_inside)
{
	uint8_t tiny[TINY_ROOM], packed[TINY_ROOM];
	size_t nr = tiny_elf_build(tiny, inside, ARRAY_SIZE(inside)), round;
	uint64_t state = 4;

	for (round = 0; round < 1000; round++) {
		uint8_t damaged[TINY_ROOM];

		memcpy(damaged, tiny, nr);
		tiny_damage(damaged, nr, &state);
		(void)read_packed(packed, pack(damaged, nr, packed, sizeof(packed)));
	}
}

/* A decompression bomb: 16 MB of zeros in 2.5 KB. */
TEST(debug_data_that_unpacks_to_much)
{
	size_t nr = 16u << 20;
	cleanup_free uint8_t *zeros = calloc(nr, 1);
	uint8_t packed[TINY_ROOM];

	CHECK(zeros);
	CHECK_EQ(read_packed(packed, pack(zeros, nr, packed, sizeof(packed))), -ENOEXEC);
}

/* The block header asks for a dictionary of 4 GiB. */
TEST(debug_data_whose_decoder_takes_much)
{
	enum { BLOCK = 12, LARGEST = 40 };
	uint8_t bytes[MADE_ROOM], packed[TINY_ROOM];
	struct symbol_table *table;
	size_t nr_packed, nr = build_sound(bytes, packed, &nr_packed), nr_header;
	struct elf_image image;
	struct error error;
	uint8_t *filter;
	uint32_t crc;

	/* The filter is LZMA2, 0x21, with one byte of properties; a CRC ends the header. */
	nr_header = (packed[BLOCK] + 1u) * 4;
	filter = memmem(packed + BLOCK, nr_header, "\x21\x01", 2);
	CHECK(filter);
	filter[2] = LARGEST;
	crc = lzma_crc32(packed + BLOCK, nr_header - sizeof(crc), 0);
	memcpy(packed + BLOCK + nr_header - sizeof(crc), &crc, sizeof(crc));
	nr = build(bytes, packed, nr_packed);
	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	CHECK_EQ(debug_data_read(&table, &image, &error), -ENOEXEC);
	CHECK(strstr(error.text, "needs too much memory"));
	elf_image_close(&image);
}

TEST(debug_data_out_of_memory)
{
	uint8_t bytes[MADE_ROOM], packed[TINY_ROOM];
	struct symbol_table *table = NULL;
	size_t nr_packed, nr = build_sound(bytes, packed, &nr_packed), nth;
	struct elf_image image;
	int err;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	for (nth = 1; !table; nth++) {
		test_fail_allocation(nth);
		err = debug_data_read(&table, &image, NULL);
		test_fail_allocation(0);
		CHECK(table ? err == 0 : err == -ENOMEM);
	}
	CHECK(nth > 6);
	elf_image_close(&image);
	symbol_table_free(table);
}
