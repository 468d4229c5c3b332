/*
 * The words of a loaded file that the dynamic linker fills in: all of its SHT_RELA sections, read
 * in pieces, one relocation after the other.
 *
 *	struct relocations relocations;
 *	GElf_Rela relocation;
 *	relocations_init(&relocations, image);
 *	while (relocations_next(&relocations, &relocation))
 *		…
 *
 * What cannot be read is left out. Only files of 64 bits have any; those of 32 bits are none of the
 * machines that we walk. It holds nothing that must be given back; the image stays the caller's.
 */
#ifndef STOOK_ELF_IMAGE_RELOCATIONS_H
#define STOOK_ELF_IMAGE_RELOCATIONS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"

#define RELOCATIONS_CHUNK 512

struct relocations {
	const struct elf_image *image;
	Elf_Scn *section;
	uint64_t offset, end; /* in the file: what is left of the section */
	uint64_t nr_left;     /* that may still be read, of any section */
	Elf64_Rela chunk[RELOCATIONS_CHUNK];
	size_t at, nr; /* in the chunk */
};

void relocations_init(struct relocations *relocations, const struct elf_image *image);
bool relocations_next(struct relocations *relocations, GElf_Rela *ret);

#endif
