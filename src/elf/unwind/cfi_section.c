/*
 * Finds and reads sections of call frame information.
 *
 * libelf gives the headers; names and contents are read past it, with one pread each, so that no
 * claim of the file makes us allocate more than the file has or the limit allows. The linker writes
 * .eh_frame's address into a program header too (PT_GNU_EH_FRAME): that is how it is found in a
 * file whose section headers were taken away. Its size is then unknown, and it is read up to the
 * end of its segment.
 *
 * Left out on purpose: sections compressed with zstd, which none of the linkers does by default.
 */
#include "elf/unwind/cfi_section.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "elf/unwind/cfi_entries.h"

#define NAME_MAX_BYTES 16 /* of a section that we look for */

/* .eh_frame_hdr: version, three encodings, then the encoded address of .eh_frame. */
#define EH_FRAME_HDR_BYTES   16
#define EH_FRAME_HDR_VERSION 1

/* zlib packs a thousand zeros into one byte, and not more: what claims more is lying. */
#define INFLATE_MAX_RATIO 1100

struct headers {
	bool is_eh_frame_there; /* maybe without bytes, as in a file of debug information */
	bool is_go;
	GElf_Shdr eh_frame, debug_frame, zdebug_frame; /* sh_size 0 if there is none with bytes */
	uint64_t text, got;
};

static void take_section(struct headers *headers, const char *name, const GElf_Shdr *header)
{
	bool has_bytes = header->sh_type != SHT_NOBITS;

	if (!strcmp(name, ".eh_frame")) {
		headers->is_eh_frame_there = true;
		if (has_bytes && !headers->eh_frame.sh_size)
			headers->eh_frame = *header;
	} else if (!strcmp(name, ".debug_frame") && has_bytes) {
		headers->debug_frame = *header;
	} else if (!strcmp(name, ".zdebug_frame") && has_bytes) {
		headers->zdebug_frame = *header;
	} else if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab")) {
		headers->is_go = true;
	} else if (!strcmp(name, ".text")) {
		headers->text = header->sh_addr;
	} else if (!strcmp(name, ".got")) {
		headers->got = header->sh_addr;
	}
}

/* Section headers that cannot be read are as good as not there. */
static void read_headers(const struct elf_image *image, struct headers *headers)
{
	Elf_Scn *section = NULL;
	GElf_Shdr names, header;
	size_t names_index;

	if (elf_getshdrstrndx(image->elf, &names_index) < 0 ||
	    !gelf_getshdr(elf_getscn(image->elf, names_index), &names))
		return;
	while ((section = elf_nextscn(image->elf, section))) {
		char name[NAME_MAX_BYTES + 1] = "";
		uint64_t nr = NAME_MAX_BYTES;

		if (!gelf_getshdr(section, &header) || header.sh_name >= names.sh_size)
			continue;
		if (nr > names.sh_size - header.sh_name)
			nr = names.sh_size - header.sh_name;
		if (names.sh_offset > image->bytes ||
		    elf_image_read(image, names.sh_offset + header.sh_name, name, nr) < 0)
			continue;
		take_section(headers, name, &header);
	}
}

/* --- contents ------------------------------------------------------------------------------ */

/* Reads nr bytes at an offset into *ret, which is malloc'ed. -ENOEXEC if the file has them not. */
static int read_bytes(const struct elf_image *image, uint64_t offset, uint64_t nr, uint8_t **ret,
		      struct error *error)
{
	cleanup_free uint8_t *bytes = NULL;
	int err;

	if (!nr || nr > CFI_SECTION_MAX_BYTES || nr > image->bytes || offset > image->bytes - nr)
		return -ENOEXEC;
	bytes = malloc(nr);
	if (!bytes)
		return error_set(error, -ENOMEM, "out of memory for call frame information");
	err = elf_image_read(image, offset, bytes, nr);
	if (err < 0 && err != -ENOEXEC)
		return error_set(error, err, "cannot read call frame information: %s",
				 strerror(-err));
	if (err == 0)
		*ret = take_pointer(&bytes);
	return err;
}

static int inflate_section(struct cfi_section *section, struct bytes packed, uint64_t nr,
			   struct error *error)
{
	uLongf inflated = nr;
	uint8_t *bytes;

	if (packed.failed || !nr || nr > CFI_SECTION_MAX_BYTES ||
	    nr / INFLATE_MAX_RATIO > packed.nr)
		return -ENOEXEC;
	bytes = malloc(nr);
	if (!bytes)
		return error_set(error, -ENOMEM, "out of memory for call frame information");
	if (uncompress(bytes, &inflated, packed.at, packed.nr) != Z_OK || inflated != nr) {
		free(bytes);
		return -ENOEXEC;
	}
	free(section->bytes);
	section->bytes = bytes;
	section->nr = nr;
	return 0;
}

/* A section with SHF_COMPRESSED: an Elf64_Chdr, then what zlib made. */
static int inflate_elf(struct cfi_section *section, struct error *error)
{
	struct bytes bytes = bytes_of(section->bytes, section->nr);
	uint32_t type = bytes_u32(&bytes);
	uint64_t nr;

	(void)bytes_u32(&bytes); /* reserved */
	nr = bytes_u64(&bytes);
	(void)bytes_u64(&bytes); /* alignment */
	if (type != ELFCOMPRESS_ZLIB)
		return -ENOEXEC;
	return inflate_section(section, bytes, nr, error);
}

/* .zdebug_frame: "ZLIB", the size as eight bytes with the highest first, then what zlib made. */
static int inflate_gnu(struct cfi_section *section, struct error *error)
{
	struct bytes bytes = bytes_of(section->bytes, section->nr);
	const uint8_t *magic = bytes_skip(&bytes, 4);
	uint64_t nr = __builtin_bswap64(bytes_u64(&bytes));

	if (!magic || memcmp(magic, "ZLIB", 4))
		return -ENOEXEC;
	return inflate_section(section, bytes, nr, error);
}

static int read_section(struct cfi_section *section, const struct elf_image *image,
			const GElf_Shdr *header, bool is_gnu_packed, struct error *error)
{
	int err = read_bytes(image, header->sh_offset, header->sh_size, &section->bytes, error);

	if (err < 0)
		return err;
	section->nr = header->sh_size;
	section->address = header->sh_addr;
	if (is_gnu_packed)
		return inflate_gnu(section, error);
	return header->sh_flags & SHF_COMPRESSED ? inflate_elf(section, error) : 0;
}

/* What makes no sense is broken, and that is all; running out of memory is an error. */
static int settle(struct cfi_section *section, int err, bool *is_broken)
{
	if (err < 0)
		cfi_section_clear(section);
	if (err != -ENOEXEC)
		return err;
	*is_broken = true;
	return 0;
}

/* --- without section headers --------------------------------------------------------------- */

static bool find_segment(const struct elf_image *image, uint32_t type, uint64_t vaddr,
			 GElf_Phdr *ret)
{
	size_t nr_headers = 0, i;

	(void)elf_getphdrnum(image->elf, &nr_headers);
	for (i = 0; i < nr_headers; i++)
		if (gelf_getphdr(image->elf, (int)i, ret) && ret->p_type == type &&
		    (type != PT_LOAD ||
		     (vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr < ret->p_filesz)))
			return true;
	return false;
}

/* The address of .eh_frame out of .eh_frame_hdr. */
static int read_eh_frame_address(const struct elf_image *image, const GElf_Phdr *segment,
				 uint64_t *ret_address)
{
	uint8_t bytes[EH_FRAME_HDR_BYTES] = {0};
	struct cfi_section header = {.bytes = bytes,
				     .nr = sizeof(bytes),
				     .address = segment->p_vaddr,
				     .got = segment->p_vaddr};
	struct bytes cursor = bytes_of(bytes, sizeof(bytes));
	uint8_t version, encoding;

	if (segment->p_filesz < sizeof(bytes) ||
	    elf_image_read(image, segment->p_offset, bytes, sizeof(bytes)) < 0)
		return -ENOEXEC;
	version = bytes_u8(&cursor);
	encoding = bytes_u8(&cursor);
	(void)bytes_u16(&cursor); /* how the search table is encoded */
	if (version != EH_FRAME_HDR_VERSION)
		return -ENOEXEC;
	return cfi_pointer_read(&cursor, &header, encoding, 8, 0, ret_address) < 0 ? -ENOEXEC : 0;
}

static int read_eh_frame_of_segment(struct cfi_section *section, const struct elf_image *image,
				    struct error *error)
{
	GElf_Phdr header, load;
	uint64_t address, skipped;
	int err;

	if (!find_segment(image, PT_GNU_EH_FRAME, 0, &header))
		return 0;
	err = read_eh_frame_address(image, &header, &address);
	if (err < 0)
		return err;
	if (!find_segment(image, PT_LOAD, address, &load))
		return -ENOEXEC;
	skipped = address - load.p_vaddr;
	if (load.p_offset > image->bytes || load.p_filesz > image->bytes - load.p_offset)
		return -ENOEXEC;
	section->address = address;
	section->ends_at_zero = true;
	section->nr = load.p_filesz - skipped;
	err = read_bytes(image, load.p_offset + skipped, section->nr, &section->bytes, error);
	return err;
}

/* --- the two kinds ------------------------------------------------------------------------- */

int cfi_section_read_eh_frame(struct cfi_section *section, const struct elf_image *image,
			      bool *is_broken, struct error *error)
{
	struct headers headers = {0};
	int err;

	read_headers(image, &headers);
	*section =
		(struct cfi_section){.text = headers.text, .got = headers.got, .is_eh_frame = true};
	if (headers.eh_frame.sh_size)
		err = read_section(section, image, &headers.eh_frame, false, error);
	else if (!headers.is_eh_frame_there)
		err = read_eh_frame_of_segment(section, image, error);
	else
		err = 0;
	return settle(section, err, is_broken);
}

int cfi_section_read_debug_frame(struct cfi_section *section, const struct elf_image *image,
				 bool *is_broken, struct error *error)
{
	struct headers headers = {0};
	int err = 0;

	read_headers(image, &headers);
	*section = (struct cfi_section){.text = headers.text, .got = headers.got};
	if (headers.debug_frame.sh_size)
		err = read_section(section, image, &headers.debug_frame, false, error);
	else if (headers.zdebug_frame.sh_size)
		err = read_section(section, image, &headers.zdebug_frame, true, error);
	return settle(section, err, is_broken);
}

bool cfi_section_is_of_go(const struct elf_image *image)
{
	struct headers headers = {0};

	read_headers(image, &headers);
	return headers.is_go;
}

void cfi_section_clear(struct cfi_section *section)
{
	free(section->bytes);
	section->bytes = NULL;
	section->nr = 0;
}
