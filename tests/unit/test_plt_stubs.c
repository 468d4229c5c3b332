/* elf/symbols/plt_stubs: stubs as linkers make them, in made-up files, also damaged. */
#include "elf/symbols/plt_stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define PLT 0x1000 /* addresses */
#define SEC 0x2000
#define GOT 0x3000
#define RELA(slot, symbol, type, addend)                 \
	{                                                \
		slot, ELF64_R_INFO(symbol, type), addend \
	}

static const char strings[] = "\0write\0read@OLD\0free\0unused";
static const Elf64_Sym symbols[] = {
	{0},
	{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0, 0, 0},
	{7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0, 0, 0},
	{16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0, 0, 0},
	{999, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 0, 0, 0},
};

/* A file with these stubs and relocations; a section of 0 bytes is left out. */
struct made {
	uint16_t machine;
	const void *plt, *sec, *got;
	size_t nr_plt, nr_sec, nr_got;
	const Elf64_Rela *relocations;
	size_t nr_relocations;
};

static size_t build(uint8_t *bytes, const struct made *made)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct made_section sections[MADE_SECTIONS_MAX] = {
		{".dynsym", SHT_DYNSYM, SHF_ALLOC, 0x100, symbols, sizeof(symbols), 2, 24},
		{".dynstr", SHT_STRTAB, SHF_ALLOC, 0x200, strings, sizeof(strings), 0, 0},
		{".rela.plt", SHT_RELA, SHF_ALLOC, 0x300, made->relocations,
		 made->nr_relocations * sizeof(Elf64_Rela), 1, 24},
	};
	size_t nr = 3;

	if (made->nr_plt)
		sections[nr++] = (struct made_section){".plt",	  SHT_PROGBITS, code, PLT,
						       made->plt, made->nr_plt, 0,    16};
	if (made->nr_sec)
		sections[nr++] = (struct made_section){".plt.sec", SHT_PROGBITS, code, SEC,
						       made->sec,  made->nr_sec, 0,    16};
	if (made->nr_got)
		sections[nr++] = (struct made_section){".plt.got", SHT_PROGBITS, code, GOT,
						       made->got,  made->nr_got, 0,    0};
	return made_elf_build(bytes, made->machine, sections, nr);
}

static int read_bytes(const uint8_t *bytes, size_t nr, struct symbol_table **ret)
{
	return made_elf_read(plt_stubs_read, bytes, nr, ret);
}

static struct symbol_table *read_made(const struct made *made)
{
	uint8_t bytes[MADE_ROOM];
	struct symbol_table *table;

	CHECK_EQ(read_bytes(bytes, build(bytes, made), &table), 0);
	return table;
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	const char *name = symbol_table_find(table, address, NULL);

	return name ? name : "";
}

/* A 32-bit word as little-endian bytes. */
#define WORD(w)	      (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24 & 0xff
#define NOPS_4	      0x0f, 0x1f, 0x40, 0x00
#define ENDBR	      0xf3, 0x0f, 0x1e, 0xfa
#define CALL_RESOLVER 0xff, 0x35, WORD(0x3002), 0xff, 0x25, WORD(0x3004), NOPS_4 /* push, jump */

/* Lazily bound stubs, which call the resolver first. */
static const uint8_t lazy[] = {
	CALL_RESOLVER,
	0xff,
	0x25,
	WORD(0x3002),
	0x68,
	WORD(0),
	0xe9,
	WORD(0xffffffe0), /* slot 0x4018 */
	0xff,
	0x25,
	WORD(0x2ffa),
	0x68,
	WORD(1),
	0xe9,
	WORD(0xffffffd0), /* slot 0x4020 */
};
/* The same, in two sections. */
static const uint8_t halves[] = {
	CALL_RESOLVER, ENDBR, 0x68, WORD(0), 0xf2, 0xe9, WORD(0xffffffe1),
	0x90,	       ENDBR, 0x68, WORD(1), 0xf2, 0xe9, WORD(0xffffffd1),
	0x90,
};
static const uint8_t second_halves[] = {
	ENDBR, 0xf2, 0xff, 0x25,	 WORD(0x200d), 0x0f, 0x1f, 0x44, 0, 0, /* slot 0x4018 */
	ENDBR, 0xff, 0x25, WORD(0x2006), 0x66,	       0x0f, 0x1f, 0x44, 0, 0, /* slot 0x4020 */
};
static const uint8_t by_got[] = {
	0xff, 0x25, WORD(0x102a), 0x66, 0x90, /* slot 0x4030 */
	0xff, 0x25, WORD(0x102a), 0x66, 0x90, /* slot 0x4038 */
	0xff, 0x25, WORD(0x1fff), 0x66, 0x90, /* slot without a relocation */
};
/* As lld and mold write them: the index is in a register. */
static const uint8_t with_index[] = {
	ENDBR, 0x41, 0xbb, WORD(0), 0xff, 0x25, WORD(0x3008), /* slot 0x4018 */
	ENDBR, 0x41, 0xbb, WORD(1), 0xff, 0x25, WORD(0x3000), /* slot 0x4020 */
};

static const Elf64_Rela relocations[] = {
	RELA(0x4000, 3, R_X86_64_GLOB_DAT, 0),	      RELA(0x4018, 1, R_X86_64_JUMP_SLOT, 0),
	RELA(0x4018, 3, R_X86_64_JUMP_SLOT, 0), /* the first one counts */
	RELA(0x4020, 2, R_X86_64_JUMP_SLOT, 0),	      RELA(0x4030, 3, R_X86_64_GLOB_DAT, 0),
	RELA(0x4038, 0, R_X86_64_IRELATIVE, 0x8d5d0),
};

#define ALL(array) .relocations = (array), .nr_relocations = ARRAY_SIZE(array)

TEST(plt_stubs_lazy_and_by_got)
{
	const struct made made = {EM_X86_64,
				  .plt = lazy,
				  .nr_plt = sizeof(lazy),
				  .got = by_got,
				  .nr_got = sizeof(by_got),
				  ALL(relocations)};
	struct symbol_table *table = read_made(&made);
	uint64_t start;

	CHECK_EQ(symbol_table_nr(table), 4);
	CHECK_STR(name_at(table, PLT), "");
	CHECK_STR(name_at(table, PLT + 0xf), "");
	CHECK_STR(symbol_table_find(table, PLT + 0x1f, &start), "write@plt");
	CHECK_EQ(start, PLT + 0x10);
	CHECK_STR(name_at(table, PLT + 0x20), "read@plt");
	CHECK_STR(name_at(table, PLT + 0x30), "");
	CHECK_STR(name_at(table, GOT), "free@plt");
	CHECK_STR(name_at(table, GOT + 7), "free@plt");
	CHECK_STR(name_at(table, GOT + 8), "*ABS*+0x8d5d0@plt");
	CHECK_STR(name_at(table, GOT + 0x10), "");
	symbol_table_free(table);
}

TEST(plt_stubs_in_two_halves)
{
	const struct made made = {EM_X86_64,
				  .plt = halves,
				  .nr_plt = sizeof(halves),
				  .sec = second_halves,
				  .nr_sec = sizeof(second_halves),
				  ALL(relocations)};
	struct symbol_table *table = read_made(&made);

	CHECK_EQ(symbol_table_nr(table), 2);
	CHECK_STR(name_at(table, PLT + 0x10), "");
	CHECK_STR(name_at(table, SEC), "write@plt");
	CHECK_STR(name_at(table, SEC + 0xf), "write@plt");
	CHECK_STR(name_at(table, SEC + 0x10), "read@plt");
	symbol_table_free(table);
}

TEST(plt_stubs_with_an_index)
{
	const struct made made = {EM_X86_64, .plt = with_index, .nr_plt = sizeof(with_index),
				  ALL(relocations)};
	struct symbol_table *table = read_made(&made);

	CHECK_EQ(symbol_table_nr(table), 2);
	CHECK_STR(name_at(table, PLT), "write@plt");
	CHECK_STR(name_at(table, PLT + 0x1f), "read@plt");
	symbol_table_free(table);
}

#define BTI 0xd503245f
#define NOP 0xd503201f
/* ADRP to the page `pages` ahead, and an offset in words. */
#define ADRP(pages)  (0x90000010u | ((pages)&3u) << 29 | ((pages) >> 2 & 0x7ffff) << 5)
#define LDR(words)   (0xf9400211u | (words) << 10)
#define ADD(words)   (0x91000210u | (words)*8 << 10)
#define BR	     0xd61f0220
#define AUTIA	     0xd503219f
#define STUB(p, w)   WORD(ADRP(p)), WORD(LDR(w)), WORD(ADD(w)), WORD(BR)
#define PUSH_X16_X30 0xa9bf7bf0

TEST(plt_stubs_of_arm64)
{
	static const uint8_t code[] = {
		WORD(BTI),
		WORD(PUSH_X16_X30),
		STUB(3u, 2u),
		WORD(NOP),
		WORD(NOP),
		STUB(3u, 3u),
		WORD(BTI),
		STUB(3u, 4u),
		WORD(NOP), /* 0x20, 0x30 */
		WORD(BTI),
		WORD(ADRP(3u)),
		WORD(LDR(6u)),
		WORD(ADD(6u)),
		WORD(AUTIA),
		WORD(BR),
		STUB(0xfffffffeu, 1u), /* 0x60: backwards, at -0x1000 + 8 */
	};
	static const Elf64_Rela words[] = {
		RELA(0x4018, 1, R_AARCH64_JUMP_SLOT, 0),
		RELA(0x4020, 2, R_AARCH64_JUMP_SLOT, 0),
		RELA(0x4030, 3, R_AARCH64_GLOB_DAT, 0),
		RELA(-0x1000 + 8ull, 0, R_AARCH64_IRELATIVE, 0x77),
	};
	const struct made made = {EM_AARCH64, .plt = code, .nr_plt = sizeof(code), ALL(words)};
	struct symbol_table *table = read_made(&made);
	uint64_t start;

	CHECK_EQ(symbol_table_nr(table), 4);
	CHECK_STR(name_at(table, PLT), "");
	CHECK_STR(name_at(table, PLT + 8), "");
	CHECK_STR(symbol_table_find(table, PLT + 0x2c, &start), "write@plt");
	CHECK_EQ(start, PLT + 0x20);
	CHECK_STR(symbol_table_find(table, PLT + 0x40, &start), "read@plt");
	CHECK_EQ(start, PLT + 0x30);
	CHECK_STR(symbol_table_find(table, PLT + 0x5c, &start), "free@plt");
	CHECK_EQ(start, PLT + 0x48);
	CHECK_STR(name_at(table, PLT + 0x60), "*ABS*+0x77@plt");
	symbol_table_free(table);
}

/* Every truncation of the stubs, in front of an unreadable page. */
TEST(plt_decode_truncated)
{
	static const uint8_t arm64[] = {WORD(BTI), STUB(3u, 2u), WORD(NOP)};
	const struct plt_machine *x86_64 = plt_machine_find(EM_X86_64);
	uint64_t slot = 0;
	size_t nr;

	for (nr = 0; nr < 14; nr++)
		CHECK_EQ(x86_64->decode(bytes_of(test_guarded(with_index, nr), nr), PLT, 16, &slot),
			 0);
	for (nr = 0; nr < sizeof(arm64); nr++)
		(void)plt_machine_find(EM_AARCH64)
			->decode(bytes_of(test_guarded(arm64, nr), nr), PLT, 4, &slot);
	CHECK(!plt_machine_find(EM_386));
}

TEST(plt_stubs_that_are_not_there)
{
	const struct made other = {EM_RISCV, .plt = lazy, .nr_plt = sizeof(lazy), ALL(relocations)};
	const struct made none = {EM_X86_64, ALL(relocations)};
	static const Elf64_Rela wrong[] = {
		RELA(0x4018, 99, R_X86_64_JUMP_SLOT, 0), /* no such symbol */
		RELA(0x4020, 4, R_X86_64_JUMP_SLOT, 0),	 /* no such name */
	};
	const struct made nameless = {EM_X86_64, .plt = lazy, .nr_plt = sizeof(lazy), ALL(wrong)};
	struct symbol_table *table;

	CHECK(!read_made(&other));
	CHECK(!read_made(&none));
	table = read_made(&nameless);
	CHECK_EQ(symbol_table_nr(table), 0);
	symbol_table_free(table);
}

static const struct made various = {EM_X86_64,	    lazy,
				    second_halves,  by_got,
				    sizeof(lazy),   sizeof(second_halves),
				    sizeof(by_got), ALL(relocations)};

TEST(plt_stubs_truncated)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = build(bytes, &various);
	struct symbol_table *table;

	for (; nr; nr--) {
		(void)read_bytes(test_guarded(bytes, nr - 1), nr - 1, &table);
		symbol_table_free(table);
	}
}

TEST(plt_stubs_damaged)
{
	uint8_t sound[MADE_ROOM];
	size_t nr = build(sound, &various), round;
	uint8_t *guarded = test_guarded(sound, nr);
	struct symbol_table *table;
	uint64_t state = 6;

	for (round = 0; round < 10000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		(void)read_bytes(guarded, nr, &table);
		symbol_table_free(table);
	}
}

TEST(plt_stubs_out_of_memory)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = build(bytes, &various), nth;
	struct symbol_table *table = NULL;
	struct elf_image image;
	int err;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	for (nth = 1; !table; nth++) {
		test_fail_allocation(nth);
		err = plt_stubs_read(&table, &image, NULL);
		test_fail_allocation(0);
		CHECK(table ? err == 0 : err == -ENOMEM);
	}
	CHECK(nth > 6);
	elf_image_close(&image);
	symbol_table_free(table);
}

/* Reads ten thousand stubs through one slot whose name has nr_name bytes; returns the result. */
static int read_sharing(size_t nr_name)
{
	enum { NR = 10000 };
	const struct made made = {EM_X86_64, .plt = lazy, .nr_plt = sizeof(lazy), ALL(relocations)};
	uint8_t small[MADE_ROOM];
	size_t nr = build(small, &made);
	uint8_t *large = calloc(1, nr + nr_name + NR * 8);
	Elf64_Shdr *sections;
	struct symbol_table *table;
	int32_t i;
	int err;

	CHECK(large);
	memcpy(large, small, nr);
	sections = (Elf64_Shdr *)(void *)(large + ((Elf64_Ehdr *)(void *)large)->e_shoff);
	sections[2].sh_offset = nr;
	sections[2].sh_size = nr_name;
	memset(large + nr, 'a', nr_name - 1);
	sections[4].sh_offset = nr + nr_name;
	sections[4].sh_size = (uint64_t)NR * 8;
	sections[4].sh_entsize = 8;
	for (i = 0; i < NR; i++) {
		uint8_t *code = large + nr + nr_name + (size_t)i * 8;
		int32_t distance = 0x4018 - (PLT + i * 8 + 6);

		memcpy(code, "\xff\x25", 2);
		memcpy(code + 2, &distance, sizeof(distance));
	}
	err = read_bytes(large, nr + nr_name + NR * 8, &table);
	CHECK(err < 0 || symbol_table_nr(table) == NR);
	symbol_table_free(table);
	free(large);
	return err;
}

/* Names of 80 bytes are copied per stub; of 8,000, refused: they would take 80 MB. */
TEST(plt_stubs_that_share_a_long_name)
{
	CHECK_EQ(read_sharing(80), 0);
	CHECK_EQ(read_sharing(8000), -ENOEXEC);
}
