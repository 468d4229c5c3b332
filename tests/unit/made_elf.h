/*
 * Builds an ELF file in memory from a test's sections. Headers come first, so that truncation
 * removes contents:
 *
 *	file header, a PT_LOAD for each section with SHF_ALLOC and bytes, section headers, contents,
 *	the section names last
 *
 * Sections are numbered from 1, in the order given.
 */
#ifndef STOOK_TESTS_UNIT_MADE_ELF_H
#define STOOK_TESTS_UNIT_MADE_ELF_H

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf/symbols/symbol_table.h"
#include "unit/test.h"

#define MADE_ROOM	  16384
#define MADE_SECTIONS_MAX 8

struct made_section {
	const char *name;
	uint32_t type;
	uint64_t flags, address;
	const void *bytes; /* NULL for SHT_NOBITS */
	size_t nr;
	uint32_t link;
	uint64_t entry_bytes;
};

static inline void made_put_segment(uint8_t *bytes, Elf64_Ehdr *header,
				    const struct made_section *section, size_t offset)
{
	Elf64_Phdr segment = {.p_type = PT_LOAD,
			      .p_flags = PF_R | (section->flags & SHF_EXECINSTR ? PF_X : 0) |
					 (section->flags & SHF_WRITE ? PF_W : 0),
			      .p_offset = offset,
			      .p_vaddr = section->address,
			      .p_filesz = section->nr,
			      .p_memsz = section->nr,
			      .p_align = 1};

	if (section->bytes && section->flags & SHF_ALLOC)
		memcpy(bytes + header->e_phoff + header->e_phnum++ * sizeof(segment), &segment,
		       sizeof(segment));
}

/* Fills MADE_ROOM bytes; returns the size of the file in them. */
static inline size_t made_elf_build(uint8_t *bytes, uint16_t machine,
				    const struct made_section *sections, size_t nr)
{
	Elf64_Shdr headers[MADE_SECTIONS_MAX + 2] = {0};
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = machine,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header),
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_shoff = sizeof(header) + MADE_SECTIONS_MAX * sizeof(Elf64_Phdr),
			     .e_shentsize = sizeof(headers[0]),
			     .e_shnum = (uint16_t)(nr + 2),
			     .e_shstrndx = (uint16_t)(nr + 1)};
	size_t at = header.e_shoff + sizeof(headers), i, nr_names = 1;
	char names[256] = "";

	memset(bytes, 0, MADE_ROOM);
	for (i = 0; i < nr; i++) {
		const struct made_section *section = &sections[i];

		headers[i + 1] = (Elf64_Shdr){(uint32_t)nr_names,
					      section->type,
					      section->flags,
					      section->address,
					      at,
					      section->nr,
					      section->link,
					      0,
					      16,
					      section->entry_bytes};
		made_put_segment(bytes, &header, section, at);
		if (section->bytes) {
			memcpy(bytes + at, section->bytes, section->nr);
			at += (section->nr + 15) / 16 * 16;
		}
		memcpy(names + nr_names, section->name, strlen(section->name) + 1);
		nr_names += strlen(section->name) + 1;
	}
	headers[nr + 1] = (Elf64_Shdr){0, SHT_STRTAB, 0, 0, at, nr_names, 0, 0, 1, 0};
	memcpy(bytes + at, names, nr_names);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + header.e_shoff, headers, sizeof(headers));
	return at + nr_names;
}

/* Reads the functions of a file in memory; returns -ENOEXEC also if it is not an ELF file. */
static inline int made_elf_read(symbol_source *read, const uint8_t *bytes, size_t nr,
				struct symbol_table **ret)
{
	struct error error = {0};
	struct elf_image image;
	int err;

	*ret = NULL;
	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return -ENOEXEC;
	err = read(ret, &image, &error);
	CHECK_EQ(err, error.code);
	CHECK(err == 0 || !*ret);
	elf_image_close(&image);
	return err;
}

#endif
