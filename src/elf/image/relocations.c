/* The iterator over relocations: sections, chunks of them, and entries, one inside the other. */
#include "elf/image/relocations.h"

/* Sections may lie one over the other, so their sizes don't bound the work. Chromium has 1.1 M. */
#define RELOCATIONS_MAX (16u << 20)

void relocations_init(struct relocations *relocations, const struct elf_image *image)
{
	relocations->image = image;
	relocations->section = NULL;
	relocations->offset = relocations->end = 0;
	relocations->nr_left = image->is_64 ? RELOCATIONS_MAX : 0;
	relocations->at = relocations->nr = 0;
}

/* Goes to the next section that has relocations; false if there is none. */
static bool next_section(struct relocations *relocations)
{
	uint64_t bytes = relocations->image->bytes;
	GElf_Shdr header;

	while ((relocations->section =
			elf_nextscn(relocations->image->elf, relocations->section))) {
		if (!gelf_getshdr(relocations->section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC) || header.sh_flags & SHF_COMPRESSED ||
		    header.sh_offset > bytes || header.sh_size > bytes - header.sh_offset)
			continue;
		relocations->offset = header.sh_offset;
		relocations->end = header.sh_offset + header.sh_size;
		return true;
	}
	relocations->nr_left = 0;
	return false;
}

static bool next_chunk(struct relocations *relocations)
{
	uint64_t nr = (relocations->end - relocations->offset) / sizeof(Elf64_Rela);

	if (nr > RELOCATIONS_CHUNK)
		nr = RELOCATIONS_CHUNK;
	if (nr > relocations->nr_left)
		nr = relocations->nr_left;
	if (!nr || elf_image_read(relocations->image, relocations->offset, relocations->chunk,
				  nr * sizeof(Elf64_Rela)) < 0)
		return false;
	relocations->offset += nr * sizeof(Elf64_Rela);
	relocations->nr_left -= nr;
	relocations->nr = nr;
	relocations->at = 0;
	return true;
}

bool relocations_next(struct relocations *relocations, GElf_Rela *ret)
{
	while (relocations->at == relocations->nr && !next_chunk(relocations))
		if (!relocations->nr_left || !next_section(relocations))
			return false;
	*ret = relocations->chunk[relocations->at++];
	return true;
}
