/*
 * Sections by name or by type, and their bytes. A file without section headers, or with headers
 * that cannot be read, has none.
 */
#ifndef STOOK_ELF_IMAGE_ELF_SECTION_H
#define STOOK_ELF_IMAGE_ELF_SECTION_H

#include <gelf.h>

#include "elf/image/elf_image.h"

#define SECTION_NAME_MAX_BYTES 31 /* of a name that is looked for */

/* The first section of that name, or type. 0 or -ENOENT. */
int elf_section_find(const struct elf_image *image, const char *name, GElf_Shdr *ret);
int elf_section_find_type(const struct elf_image *image, uint32_t type, GElf_Shdr *ret);

/*
 * Reads all of a section, of at most max_bytes, into memory that is the caller's to free. -ENOEXEC
 * if it is empty, larger, compressed, not in the file, or has no bytes there (SHT_NOBITS); -ENOMEM.
 */
int elf_section_read(const struct elf_image *image, const GElf_Shdr *header, uint64_t max_bytes,
		     uint8_t **ret);

#endif
