/*
 * A small ELF file in memory, with the symbols that a test asks for:
 *
 *	offset 0x400, address 0x401400: .text, 0x400 bytes, an executable PT_LOAD
 *	a note with the build id 00 01 02 … 13, in a PT_NOTE and in a section
 *	.symtab, .strtab, .dynsym, .dynstr, as given
 */
#ifndef STOOK_TESTS_UNIT_TINY_ELF_H
#define STOOK_TESTS_UNIT_TINY_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TINY_TEXT_OFFSET    0x400
#define TINY_TEXT_ADDRESS   0x401400
#define TINY_TEXT_BYTES	    0x400
#define TINY_BUILD_ID_BYTES 20
#define TINY_ROOM	    8192

enum tiny_section {
	TINY_NONE,
	TINY_TEXT,
	TINY_DATA,
	TINY_NOTE,
	TINY_SYMTAB,
	TINY_STRTAB,
	TINY_DYNSYM,
	TINY_DYNSTR,
	TINY_NR_SECTIONS,
};

struct tiny_symbol {
	const char *name;
	uint64_t offset; /* in .text, or past it */
	uint64_t size;
	unsigned char binding, type; /* STB_*, STT_* */
	bool dynamic;
	uint16_t section; /* 0: .text */
};

/* Writes one symbol table and its strings at *end. */
static inline void tiny_put_symbols(uint8_t *bytes, size_t *end, Elf64_Shdr *table,
				    Elf64_Shdr *strings, const struct tiny_symbol *symbols,
				    size_t nr, bool dynamic)
{
	size_t i, text;

	table->sh_offset = *end;
	table->sh_entsize = sizeof(Elf64_Sym);
	*end += sizeof(Elf64_Sym);
	for (i = 0; i < nr; i++)
		*end += symbols[i].dynamic == dynamic ? sizeof(Elf64_Sym) : 0;
	table->sh_size = *end - table->sh_offset;
	strings->sh_type = SHT_STRTAB;
	strings->sh_offset = (*end)++;
	for (i = 0, text = table->sh_offset + sizeof(Elf64_Sym); i < nr; i++) {
		Elf64_Sym symbol = {
			.st_name = (uint32_t)(*end - strings->sh_offset),
			.st_info =
				(unsigned char)ELF64_ST_INFO(symbols[i].binding, symbols[i].type),
			.st_shndx = symbols[i].section ? symbols[i].section : TINY_TEXT,
			.st_value = TINY_TEXT_ADDRESS + symbols[i].offset,
			.st_size = symbols[i].size,
		};

		if (symbols[i].dynamic != dynamic)
			continue;
		memcpy(bytes + text, &symbol, sizeof(symbol));
		memcpy(bytes + *end, symbols[i].name, strlen(symbols[i].name) + 1);
		text += sizeof(symbol);
		*end += strlen(symbols[i].name) + 1;
	}
	strings->sh_size = *end - strings->sh_offset;
	*end = (*end + 7) / 8 * 8;
}

static inline size_t tiny_put_note(uint8_t *bytes)
{
	Elf64_Nhdr note = {sizeof("GNU"), TINY_BUILD_ID_BYTES, NT_GNU_BUILD_ID};
	uint8_t i;

	memcpy(bytes, &note, sizeof(note));
	memcpy(bytes + sizeof(note), "GNU", sizeof("GNU"));
	for (i = 0; i < TINY_BUILD_ID_BYTES; i++)
		bytes[sizeof(note) + sizeof("GNU") + i] = i;
	return sizeof(note) + sizeof("GNU") + TINY_BUILD_ID_BYTES;
}

/* Fills TINY_ROOM bytes; returns the size of the file in them. */
static inline size_t tiny_elf_build(uint8_t *bytes, const struct tiny_symbol *symbols, size_t nr)
{
	Elf64_Shdr sections[TINY_NR_SECTIONS] = {0};
	Elf64_Phdr segments[2] = {{PT_LOAD, PF_R | PF_X, TINY_TEXT_OFFSET, TINY_TEXT_ADDRESS, 0,
				   TINY_TEXT_BYTES, TINY_TEXT_BYTES, 0x1000},
				  {PT_NOTE, PF_R, 0x200, 0x401200, 0, 0, 0, 4}};
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN, .e_machine = EM_X86_64};
	size_t end = TINY_TEXT_OFFSET + TINY_TEXT_BYTES;

	memset(bytes, 0, TINY_ROOM);
	segments[1].p_filesz = tiny_put_note(bytes + 0x200);
	sections[TINY_TEXT] = (Elf64_Shdr){0,
					   SHT_PROGBITS,
					   SHF_ALLOC | SHF_EXECINSTR,
					   TINY_TEXT_ADDRESS,
					   TINY_TEXT_OFFSET,
					   TINY_TEXT_BYTES,
					   0,
					   0,
					   16,
					   0};
	sections[TINY_DATA] = (Elf64_Shdr){
		0, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x401800, 0x400, 0x100, 0, 0, 8, 0};
	sections[TINY_NOTE] = (Elf64_Shdr){
		0, SHT_NOTE, SHF_ALLOC, 0x401200, 0x200, segments[1].p_filesz, 0, 0, 4, 0};
	sections[TINY_SYMTAB].sh_type = SHT_SYMTAB;
	sections[TINY_SYMTAB].sh_link = TINY_STRTAB;
	sections[TINY_DYNSYM].sh_type = SHT_DYNSYM;
	sections[TINY_DYNSYM].sh_link = TINY_DYNSTR;
	tiny_put_symbols(bytes, &end, &sections[TINY_SYMTAB], &sections[TINY_STRTAB], symbols, nr,
			 false);
	tiny_put_symbols(bytes, &end, &sections[TINY_DYNSYM], &sections[TINY_DYNSTR], symbols, nr,
			 true);

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_version = EV_CURRENT;
	header.e_ehsize = sizeof(header);
	header.e_phoff = sizeof(header);
	header.e_phentsize = sizeof(segments[0]);
	header.e_phnum = 2;
	header.e_shoff = end;
	header.e_shentsize = sizeof(sections[0]);
	header.e_shnum = TINY_NR_SECTIONS;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + header.e_phoff, segments, sizeof(segments));
	memcpy(bytes + end, sections, sizeof(sections));
	return end + sizeof(sections);
}

/* Returns the next number of a fixed pseudo-random sequence, used to damage copies. */
static inline uint64_t tiny_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return (*state ^ (*state >> 29)) * 0xbf58476d1ce4e5b9ULL >> 16;
}

/* Damages one to four places: a bit, a byte, or a whole word set to an extreme value. */
static inline void tiny_damage(uint8_t *bytes, size_t nr, uint64_t *state)
{
	static const uint64_t words[] = {0, UINT64_MAX, INT64_MAX, UINT32_MAX, 0x80000000, 1};
	size_t places = 1 + tiny_random(state) % 4;

	while (places--) {
		size_t at = tiny_random(state) % nr;

		switch (tiny_random(state) % 3) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << tiny_random(state) % 8);
			break;
		case 1:
			bytes[at] = (uint8_t)tiny_random(state);
			break;
		default:
			at = at / 8 * 8;
			if (at + 8 <= nr)
				memcpy(bytes + at, &words[tiny_random(state) % 6], 8);
		}
	}
}

#endif
