/*
 * Stubs are decoded first and sorted by the GOT slot through which they jump; then, in one pass
 * over the relocations, each one that fills such a slot names its stubs. Only the stubs and the
 * dynamic symbols are in memory, not the relocations, of which Chromium has a million.
 *
 * Stubs are recognised by their instructions, not by the layout of a particular linker: GNU ld,
 * gold, lld and mold order and pad them differently, but all use the same jump.
 *
 * x86-64:	[endbr64] [mov $index, %r11d] [bnd] jmp *slot(%rip) …
 * arm64:	[bti c] adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; … br x17
 *
 * The first stub in a lazy .plt, which calls the resolver, pushes something before it jumps; so do
 * the first halves of stubs in .plt whose second halves are in .plt.sec. Neither counts as a stub
 * here. On arm64 the first one looks like a stub, but no relocation refers to its slot.
 *
 * A slot without a symbol is filled with the result of an IFUNC resolver (IRELATIVE); its stub is
 * named like binutils does, by the resolver's address: `*ABS*+0x8d5d0@plt`.
 */
#include "elf/symbols/plt_stubs.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image/elf_image.h"

/* Skips the bytes if they come next. */
static bool skip_exactly(struct bytes *code, const void *expected, size_t nr)
{
	if (code->nr < nr || memcmp(code->at, expected, nr) != 0)
		return false;
	(void)bytes_skip(code, nr);
	return true;
}

/* --- x86-64 ---------------------------------------------------------------------------------- */

static size_t decode_x86_64(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot)
{
	size_t nr = code.nr;
	int32_t distance;

	(void)skip_exactly(&code, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
	if (skip_exactly(&code, "\x41\xbb", 2))		  /* mov $index, %r11d */
		(void)bytes_u32(&code);
	(void)skip_exactly(&code, "\xf2", 1); /* bnd */
	if (!skip_exactly(&code, "\xff\x25", 2))
		return 0;
	distance = (int32_t)bytes_u32(&code);
	if (code.failed)
		return 0;
	*ret_slot = address + (nr - code.nr) + (uint64_t)(int64_t)distance;
	return nr - code.nr > unit ? 2 * unit : unit;
}

/* --- arm64 ----------------------------------------------------------------------------------- */

#define INSTRUCTION 4

#define BTI_C		 0xd503245f
#define BR_X17		 0xd61f0220
#define ADRP_X16	 0x90000010
#define ADRP_X16_MASK	 0x9f00001f
#define LDR_X17_X16	 0xf9400211 /* bits 10 to 21: the offset in units of eight bytes */
#define LDR_X17_X16_MASK 0xffc003ff

#define INSTRUCTIONS_MAX 8 /* per stub */

/* The 21-bit page offset of an adrp: two bits from bit 29, the others from bit 5. */
static uint64_t adrp_page(uint32_t adrp, uint64_t address)
{
	uint64_t pages = (adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
	uint64_t sign = 1ULL << 20;

	return (address & ~0xfffULL) + (((pages ^ sign) - sign) << 12);
}

/* Skips the rest of a stub: up to its jump, and the padding after it. */
static bool skip_to_end(struct bytes *code)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
	size_t i;

	for (i = 0; i < INSTRUCTIONS_MAX; i++)
		if (bytes_u32(code) == BR_X17)
			break;
	while (skip_exactly(code, nop, sizeof(nop)))
		;
	return i < INSTRUCTIONS_MAX;
}

static size_t decode_arm64(struct bytes code, uint64_t address, size_t unit, uint64_t *ret_slot)
{
	uint32_t word = bytes_u32(&code), load;
	size_t nr = code.nr + INSTRUCTION;

	(void)unit;
	if (word == BTI_C) {
		word = bytes_u32(&code);
		address += INSTRUCTION;
	}
	load = bytes_u32(&code);
	if ((word & ADRP_X16_MASK) != ADRP_X16 || (load & LDR_X17_X16_MASK) != LDR_X17_X16 ||
	    !skip_to_end(&code))
		return 0;
	*ret_slot = adrp_page(word, address) + (load >> 10 & 0xfff) * 8;
	return nr - code.nr;
}

static const struct plt_machine machines[] = {
	{EM_X86_64, 0, decode_x86_64},
	{EM_AARCH64, INSTRUCTION, decode_arm64},
};

const struct plt_machine *plt_machine_find(uint16_t machine)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

/* --- the stubs of a file --------------------------------------------------------------------- */

/* libcrypto has 3,100 stubs, with names of 70 KB; Chromium 1,750. */
#define STUBS_MAX	      (256u << 10)
#define SECTION_MAX_BYTES     (8u << 20)
#define SYMBOLS_MAX_BYTES     (256u << 20) /* each of .dynsym, .dynstr */
#define NAME_MAX_BYTES	      (16u << 10)
#define NAMES_TOTAL_MAX_BYTES (64u << 20) /* stubs may share one long name */

struct stub {
	uint64_t slot; /* address of the word through which it jumps */
	uint64_t start;
	uint32_t bytes;
	bool is_named;
};

struct stubs {
	const struct elf_image *image;
	const struct plt_machine *machine;
	struct stub *stubs;
	size_t nr, capacity;
	uint8_t *symbols, *strings; /* of .dynsym */
	size_t nr_symbols, nr_string_bytes;
	size_t nr_name_bytes;
	struct symbol_table *table;
};

/*
 * The sections with stubs, and the distance between stubs if the section header does not have it.
 */
static const struct plt_section {
	const char *name;
	size_t unit;
} sections[] = {{".plt", 16}, {".plt.sec", 16}, {".plt.got", 8}, {".iplt", 16}};

/* --- decoding -------------------------------------------------------------------------------- */

static int decode_code(struct stubs *stubs, struct bytes code, uint64_t address, size_t unit)
{
	const struct plt_machine *machine = stubs->machine;
	size_t step = machine->step ? machine->step : unit, length;
	uint64_t slot = 0;

	for (; code.nr; (void)bytes_skip(&code, length), address += length) {
		length = machine->decode(code, address, unit, &slot);
		if (length) {
			if (stubs->nr == STUBS_MAX)
				return -ENOEXEC;
			if (ARRAY_ADD(stubs->stubs, stubs->nr, stubs->capacity,
				      (struct stub){.slot = slot,
						    .start = address,
						    .bytes = (uint32_t)length}) < 0)
				return -ENOMEM;
		}
		length = length ? length : step;
		length = length < code.nr ? length : code.nr;
	}
	return 0;
}

static int decode_sections(struct stubs *stubs)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(sections) && !err; i++) {
		cleanup_free uint8_t *code = NULL;
		size_t unit = sections[i].unit;
		GElf_Shdr header;

		if (elf_section_find(stubs->image, sections[i].name, &header) < 0 ||
		    !(header.sh_flags & SHF_EXECINSTR) || header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_entsize == 8 || header.sh_entsize == 16)
			unit = header.sh_entsize;
		err = elf_section_read(stubs->image, &header, SECTION_MAX_BYTES, &code);
		if (err == 0)
			err = decode_code(stubs, bytes_of(code, header.sh_size), header.sh_addr,
					  unit);
	}
	return err;
}

static int compare_stubs(const void *left, const void *right)
{
	const struct stub *a = left, *b = right;

	return COMPARE(a->slot, b->slot) ?: COMPARE(a->start, b->start);
}

/* --- naming ---------------------------------------------------------------------------------- */

/* A file without dynamic symbols (a static program) may have stubs, too. */
static int read_dynamic_symbols(struct stubs *stubs)
{
	GElf_Shdr symbols, strings;
	int err;

	if (elf_section_find_type(stubs->image, SHT_DYNSYM, &symbols) < 0)
		return 0;
	if (!gelf_getshdr(elf_getscn(stubs->image->elf, symbols.sh_link), &strings))
		return -ENOEXEC;
	err = elf_section_read(stubs->image, &symbols, SYMBOLS_MAX_BYTES, &stubs->symbols);
	if (err < 0)
		return err;
	err = elf_section_read(stubs->image, &strings, SYMBOLS_MAX_BYTES, &stubs->strings);
	if (err < 0)
		return err;
	stubs->nr_symbols = symbols.sh_size / sizeof(Elf64_Sym);
	stubs->nr_string_bytes = strings.sh_size;
	return 0;
}

/* The symbol's name without its version; NULL if it is missing or too long. */
static const char *symbol_name(const struct stubs *stubs, uint64_t number, int *ret_nr)
{
	const char *name;
	Elf64_Sym symbol;
	size_t room, nr;

	if (number >= stubs->nr_symbols)
		return NULL;
	memcpy(&symbol, stubs->symbols + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_name >= stubs->nr_string_bytes)
		return NULL;
	name = (const char *)stubs->strings + symbol.st_name;
	room = stubs->nr_string_bytes - symbol.st_name;
	nr = strnlen(name, room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES);
	if (!nr || nr == room || nr == NAME_MAX_BYTES)
		return NULL;
	*ret_nr = (int)strcspn(name, "@");
	return name;
}

/*
 * Names the stubs whose slot the relocation fills. If a slot has several relocations, the first one
 * counts.
 */
static int name_stubs(struct stubs *stubs, const GElf_Rela *relocation)
{
	size_t i = ARRAY_NR_BELOW(stubs->stubs, stubs->nr, slot, relocation->r_offset);
	uint64_t number = GELF_R_SYM(relocation->r_info), addend = (uint64_t)relocation->r_addend;
	const char *symbol = "*ABS*";
	char name[NAME_MAX_BYTES + 32];
	int nr = (int)strlen(symbol), err = 0;

	if (i == stubs->nr || stubs->stubs[i].slot != relocation->r_offset ||
	    stubs->stubs[i].is_named)
		return 0;
	if (number)
		symbol = symbol_name(stubs, number, &nr);
	if (!symbol)
		return 0;
	if (addend)
		(void)snprintf(name, sizeof(name), "%.*s+0x%" PRIx64 "@plt", nr, symbol, addend);
	else
		(void)snprintf(name, sizeof(name), "%.*s@plt", nr, symbol);
	for (; i < stubs->nr && stubs->stubs[i].slot == relocation->r_offset && !err; i++) {
		struct stub *stub = &stubs->stubs[i];

		stubs->nr_name_bytes += strlen(name);
		if (stubs->nr_name_bytes > NAMES_TOTAL_MAX_BYTES)
			return -ENOEXEC;
		stub->is_named = true;
		err = symbol_table_add(stubs->table, stub->start, stub->bytes, name);
	}
	return err;
}

static int read_stubs(struct stubs *stubs)
{
	struct relocations relocations;
	GElf_Rela relocation;
	int err = decode_sections(stubs);

	if (err < 0 || !stubs->nr)
		return err;
	err = read_dynamic_symbols(stubs);
	if (err < 0)
		return err;
	stubs->table = symbol_table_new();
	if (!stubs->table)
		return -ENOMEM;
	qsort(stubs->stubs, stubs->nr, sizeof(*stubs->stubs), compare_stubs);
	relocations_init(&relocations, stubs->image);
	while (err == 0 && relocations_next(&relocations, &relocation))
		err = name_stubs(stubs, &relocation);
	return err < 0 ? err : symbol_table_settle(stubs->table);
}

int plt_stubs_read(struct symbol_table **ret, const struct elf_image *image, struct error *error)
{
	struct stubs stubs = {.image = image, .machine = plt_machine_find(image->machine)};
	int err;

	*ret = NULL;
	if (!image->is_64 || !stubs.machine)
		return 0;
	err = read_stubs(&stubs);
	free(stubs.stubs);
	free(stubs.symbols);
	free(stubs.strings);
	if (err == 0)
		*ret = stubs.table;
	else
		symbol_table_free(stubs.table);
	if (err == -ENOMEM)
		return error_no_memory(error, "for PLT stubs");
	return err < 0 ? error_set(error, -ENOEXEC, "invalid PLT stubs") : 0;
}
