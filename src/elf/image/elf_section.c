/*
 * Sections by name or type. libelf gives the headers; names and contents are read past it, so that
 * no claim of the file makes us hold more than the file has, or the caller allows.
 */
#include "elf/image/elf_section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Whether the section's name, in the strings of all names, is the one that is wanted. */
static bool has_name(const struct elf_image *image, const GElf_Shdr *names, uint64_t at,
		     const char *wanted)
{
	char name[SECTION_NAME_MAX_BYTES + 1];
	size_t nr = strlen(wanted) + 1;

	if (nr > sizeof(name) || at > names->sh_size || nr > names->sh_size - at ||
	    names->sh_offset > image->bytes || at > image->bytes - names->sh_offset)
		return false;
	return !elf_image_read(image, names->sh_offset + at, name, nr) && !memcmp(name, wanted, nr);
}

int elf_section_find(const struct elf_image *image, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr names, header;
	size_t names_index;

	if (elf_getshdrstrndx(image->elf, &names_index) < 0 ||
	    !gelf_getshdr(elf_getscn(image->elf, names_index), &names))
		return -ENOENT;
	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    !has_name(image, &names, header.sh_name, name))
			continue;
		*ret = header;
		return 0;
	}
	return -ENOENT;
}

int elf_section_find_type(const struct elf_image *image, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		*ret = header;
		return 0;
	}
	return -ENOENT;
}

int elf_section_read(const struct elf_image *image, const GElf_Shdr *header, uint64_t max_bytes,
		     uint8_t **ret)
{
	cleanup_free uint8_t *bytes = NULL;
	int err;

	if (header->sh_type == SHT_NOBITS || header->sh_flags & SHF_COMPRESSED ||
	    !header->sh_size || header->sh_size > max_bytes || header->sh_size > image->bytes)
		return -ENOEXEC;
	bytes = malloc(header->sh_size);
	if (!bytes)
		return -ENOMEM;
	err = elf_image_read(image, header->sh_offset, bytes, header->sh_size);
	if (err < 0)
		return err;
	*ret = take_pointer(&bytes);
	return 0;
}
