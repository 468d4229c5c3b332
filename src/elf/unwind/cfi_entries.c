/*
 * Finds, reads and iterates over .eh_frame and .debug_frame. They differ only in how a CIE is
 * distinguished from an FDE and how an FDE refers to its CIE, and in augmentations, which only
 * .eh_frame needs:
 *
 *	length		4 bytes, or ffffffff and 8 bytes
 *	id		CIE: 0 in .eh_frame, else all ones. FDE: the position of its CIE: in .eh_frame
 *			the distance back from here, else the offset in the section
 *	CIE:		version 1, 3 or 4, augmentation, alignments, return address column
 *	FDE:		start and length of the code
 *	program		to the end
 *
 * libelf provides the section headers; names and contents are read with elf_image_read(), one pread
 * each, so that no value in the file makes us allocate more than the file has or the limit allows.
 * The linker also writes .eh_frame's address into a program header (PT_GNU_EH_FRAME), which is used
 * if the section headers were stripped. Its size is then unknown, and it is read up to the end of
 * its segment.
 *
 * Nothing is allocated for entries: recent CIEs are cached in the reader, by their offset. A
 * hostile file could make us read the same long CIE for each of its FDEs; therefore the size of
 * CIEs has a limit, and reading them has a budget in proportion to the section.
 *
 * An FDE whose range is empty or wraps around is broken. Linkers only leave such FDEs for discarded
 * code.
 *
 * Not supported: sections compressed with zstd, which no linker does by default.
 */
#include "elf/unwind/cfi_entries.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* --- sections -------------------------------------------------------------------------------- */

/* .eh_frame_hdr: version, three encodings, then the encoded address of .eh_frame. */
#define EH_FRAME_HDR_BYTES   16
#define EH_FRAME_HDR_VERSION 1

/* zlib's maximum ratio is about a thousand; a section that claims a higher one is invalid. */
#define INFLATE_MAX_RATIO 1100

struct headers {
	bool is_eh_frame_there; /* possibly without content, as in a debug file */
	bool is_go;
	GElf_Shdr eh_frame, debug_frame, zdebug_frame; /* sh_size 0 if there is none with content */
	uint64_t text, got;
};

/* Unreadable section headers are treated as missing. */
static void read_headers(const struct elf_image *image, struct headers *headers)
{
	Elf_Scn *section = NULL;
	GElf_Shdr names, header;
	size_t names_index;

	if (elf_getshdrstrndx(image->elf, &names_index) < 0 ||
	    !gelf_getshdr(elf_getscn(image->elf, names_index), &names))
		return;
	while ((section = elf_nextscn(image->elf, section))) {
		char name[SECTION_NAME_MAX_BYTES + 1] = "";
		uint64_t nr = SECTION_NAME_MAX_BYTES;
		bool has_bytes;

		if (!gelf_getshdr(section, &header) || header.sh_name >= names.sh_size)
			continue;
		if (nr > names.sh_size - header.sh_name)
			nr = names.sh_size - header.sh_name;
		if (names.sh_offset > image->bytes ||
		    elf_image_read(image, names.sh_offset + header.sh_name, name, nr) < 0)
			continue;
		has_bytes = header.sh_type != SHT_NOBITS;
		if (!strcmp(name, ".eh_frame")) {
			headers->is_eh_frame_there = true;
			if (has_bytes && !headers->eh_frame.sh_size)
				headers->eh_frame = header;
		} else if (!strcmp(name, ".debug_frame") && has_bytes) {
			headers->debug_frame = header;
		} else if (!strcmp(name, ".zdebug_frame") && has_bytes) {
			headers->zdebug_frame = header;
		} else if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab")) {
			headers->is_go = true;
		} else if (!strcmp(name, ".text")) {
			headers->text = header.sh_addr;
		} else if (!strcmp(name, ".got")) {
			headers->got = header.sh_addr;
		}
	}
}

/* --- contents -------------------------------------------------------------------------------- */

/*
 * Reads nr bytes at an offset into *ret, allocated with malloc(). -ENOEXEC if they are not in the
 * file.
 */
static int read_bytes(const struct elf_image *image, uint64_t offset, uint64_t nr, uint8_t **ret,
		      struct error *error)
{
	cleanup_free uint8_t *bytes = NULL;
	int err;

	if (!nr || nr > CFI_SECTION_MAX_BYTES || nr > image->bytes || offset > image->bytes - nr)
		return -ENOEXEC;
	bytes = malloc(nr);
	if (!bytes)
		return error_no_memory(error, "for call frame information");
	err = elf_image_read(image, offset, bytes, nr);
	if (err < 0 && err != -ENOEXEC)
		return error_set(error, err, "cannot read call frame information: %s",
				 strerror(-err));
	if (err == 0)
		*ret = take_pointer(&bytes);
	return err;
}

/*
 * Decompresses a zlib section, which has a header. With SHF_COMPRESSED that is an Elf64_Chdr; in
 * .zdebug_frame it is "ZLIB" and the size as eight bytes, big-endian.
 */
static int inflate_section(struct cfi_section *section, bool is_gnu, struct error *error)
{
	struct bytes packed = bytes_of(section->bytes, section->nr);
	const uint8_t *magic = bytes_skip(&packed, 4);
	uint32_t type = ELFCOMPRESS_ZLIB;
	uint8_t *bytes;
	uLongf inflated;
	uint64_t nr;

	if (is_gnu) {
		nr = __builtin_bswap64(bytes_u64(&packed));
	} else {
		if (magic)
			memcpy(&type, magic, sizeof(type));
		(void)bytes_u32(&packed); /* reserved */
		nr = bytes_u64(&packed);
		(void)bytes_u64(&packed); /* alignment */
	}
	if (packed.failed || (is_gnu && memcmp(magic, "ZLIB", 4)) || type != ELFCOMPRESS_ZLIB ||
	    !nr || nr > CFI_SECTION_MAX_BYTES || nr / INFLATE_MAX_RATIO > packed.nr)
		return -ENOEXEC;
	bytes = malloc(nr);
	if (!bytes)
		return error_no_memory(error, "for call frame information");
	inflated = nr;
	if (uncompress(bytes, &inflated, packed.at, packed.nr) != Z_OK || inflated != nr) {
		free(bytes);
		return -ENOEXEC;
	}
	free(section->bytes);
	section->bytes = bytes;
	section->nr = nr;
	return 0;
}

static int read_section(struct cfi_section *section, const struct elf_image *image,
			const GElf_Shdr *header, bool is_gnu_packed, struct error *error)
{
	int err = read_bytes(image, header->sh_offset, header->sh_size, &section->bytes, error);

	if (err < 0)
		return err;
	section->nr = header->sh_size;
	section->address = header->sh_addr;
	if (!is_gnu_packed && !(header->sh_flags & SHF_COMPRESSED))
		return 0;
	return inflate_section(section, is_gnu_packed, error);
}

/* An invalid section is only marked as broken; other errors are returned. */
static int settle(struct cfi_section *section, int err, bool *is_broken)
{
	if (err < 0)
		cfi_section_clear(section);
	if (err != -ENOEXEC)
		return err;
	*is_broken = true;
	return 0;
}

/* --- without section headers ----------------------------------------------------------------- */

static bool find_segment(const struct elf_image *image, uint32_t type, uint64_t vaddr,
			 GElf_Phdr *ret)
{
	size_t i = 0;

	while (elf_segment_next(image, type, &i, ret))
		if (type != PT_LOAD ||
		    (vaddr >= ret->p_vaddr && vaddr - ret->p_vaddr < ret->p_filesz))
			return true;
	return false;
}

/* Reads the address of .eh_frame from .eh_frame_hdr. */
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
	(void)bytes_u16(&cursor); /* encodings of the search table */
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

/* --- the two kinds --------------------------------------------------------------------------- */

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

/* Real ones have 16 to 60 bytes; one with a rule for each register of arm64 would have 300. */
#define COMMON_MAX_BYTES 1024

/*
 * How many times the section's size may be read as CIEs, for CIEs that evict each other from the
 * cache.
 */
#define BUDGET_PER_BYTE 16
#define BUDGET_LEAST	65536

#define LENGTH_64	0xffffffffU
#define LENGTH_RESERVED 0xfffffff0U

struct entry {
	size_t offset, next; /* in the section: its first byte, and the one after it */
	size_t id_offset;
	uint64_t id;
	bool is_common;
	struct bytes rest; /* after the id */
};

/* --- pointers -------------------------------------------------------------------------------- */

/* Parts of the encoding byte: the format of the number, and its base. */
#define ENCODING_FORM 0x0f
#define ENCODING_BASE 0x70

static uint64_t read_form(struct bytes *bytes, uint8_t form, uint8_t address_bytes)
{
	switch (form) {
	case DW_EH_PE_absptr:
		return address_bytes == 4 ? bytes_u32(bytes) : bytes_u64(bytes);
	case DW_EH_PE_uleb128:
		return bytes_uleb(bytes);
	case DW_EH_PE_udata2:
		return bytes_u16(bytes);
	case DW_EH_PE_udata4:
		return bytes_u32(bytes);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return bytes_u64(bytes);
	case DW_EH_PE_sleb128:
		return (uint64_t)bytes_sleb(bytes);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)bytes_u16(bytes);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)bytes_u32(bytes);
	default:
		bytes->failed = true;
		return 0;
	}
}

int cfi_pointer_read(struct bytes *bytes, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_bytes, uint64_t function, uint64_t *ret_pointer)
{
	uint8_t form = encoding & ENCODING_FORM;
	uint64_t base = 0, address;

	if (encoding & DW_EH_PE_indirect || bytes->failed)
		return -EINVAL;
	address = section->address + (uint64_t)(bytes->at - section->bytes);
	switch (encoding & ENCODING_BASE) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = address;
		break;
	case DW_EH_PE_textrel:
		base = section->text;
		break;
	case DW_EH_PE_datarel:
		base = section->got;
		break;
	case DW_EH_PE_funcrel:
		base = function;
		break;
	case DW_EH_PE_aligned:
		(void)bytes_skip(bytes, -address & (uint64_t)(address_bytes - 1));
		form = DW_EH_PE_absptr;
		break;
	default:
		return -EINVAL;
	}
	base += read_form(bytes, form, address_bytes);
	if (bytes->failed)
		return -EINVAL;
	*ret_pointer = address_bytes == 4 ? (uint32_t)base : base;
	return 0;
}

/* --- entries --------------------------------------------------------------------------------- */

void cfi_reader_init(struct cfi_reader *reader, const struct cfi_section *section)
{
	memset(reader, 0, sizeof(*reader));
	reader->section = section;
	reader->budget = BUDGET_LEAST + (uint64_t)section->nr * BUDGET_PER_BYTE;
}

/*
 * Reads the header of the entry at an offset. 1; 0 if its length is 0; or -EINVAL if it exceeds the
 * section, in which case no further entries can be found.
 */
static int read_entry(const struct cfi_section *section, size_t offset, struct entry *entry)
{
	struct bytes bytes = bytes_of(section->bytes + offset, section->nr - offset);
	uint64_t length = bytes_u32(&bytes);
	bool is_64 = length == LENGTH_64;

	if (is_64)
		length = bytes_u64(&bytes);
	else if (length >= LENGTH_RESERVED)
		return -EINVAL;
	entry->rest = bytes_cut(&bytes, length);
	if (entry->rest.failed)
		return -EINVAL;
	entry->offset = offset;
	entry->next = (size_t)(bytes.at - section->bytes);
	if (!length)
		return 0;
	entry->id_offset = (size_t)(entry->rest.at - section->bytes);
	/* .eh_frame has 4-byte ids, whatever the length's format. */
	if (is_64 && !section->is_eh_frame) {
		entry->id = bytes_u64(&entry->rest);
		entry->is_common = entry->id == UINT64_MAX;
	} else {
		entry->id = bytes_u32(&entry->rest);
		entry->is_common = entry->id == (section->is_eh_frame ? 0 : UINT32_MAX);
	}
	return 1;
}

/* --- common entries -------------------------------------------------------------------------- */

/*
 * Reads the augmentation data, in the order of the augmentation's letters. An unknown letter ends
 * it; that is an error unless "z" gave the length of the data.
 */
static int read_augmentation(struct cfi_common *common, const struct cfi_section *section,
			     const char *letters, struct bytes *bytes)
{
	struct bytes *data = bytes, sized;
	uint64_t personality;

	if (letters[0] == 'z') {
		common->has_augmentation_data = true;
		sized = bytes_cut(bytes, bytes_uleb(bytes));
		data = &sized;
		letters++;
	}
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			common->pointer_encoding = bytes_u8(data);
			break;
		case 'P':
			if (cfi_pointer_read(data, section,
					     bytes_u8(data) & (uint8_t)~DW_EH_PE_indirect,
					     common->address_bytes, 0, &personality) < 0)
				return -EINVAL;
			break;
		case 'L':
			(void)bytes_u8(data);
			break;
		case 'S':
			common->is_signal_frame = true;
			break;
		case 'B': /* arm64: the return address is signed with key B */
		case 'G': /* arm64: memory of the stack is tagged */
			break;
		default:
			return common->has_augmentation_data && !data->failed ? 0 : -EINVAL;
		}
	}
	return data->failed ? -EINVAL : 0;
}

static int parse_common(struct cfi_common *common, const struct cfi_section *section,
			struct bytes bytes)
{
	uint8_t version = bytes_u8(&bytes);
	const char *letters = bytes_string(&bytes);

	if (!letters || (version != 1 && version != 3 && version != 4))
		return -EINVAL;
	if (version == 4) {
		common->address_bytes = bytes_u8(&bytes);
		common->segment_bytes = bytes_u8(&bytes);
		if (common->address_bytes != 4 && common->address_bytes != 8)
			return -EINVAL;
	}
	if (!strncmp(letters, "eh", 2)) { /* GCC before 3.0; a pointer to its own data */
		letters += 2;
		(void)bytes_skip(&bytes, common->address_bytes);
	}
	common->code_align = bytes_uleb(&bytes);
	common->data_align = bytes_sleb(&bytes);
	common->ra_column = version == 1 ? bytes_u8(&bytes) : bytes_uleb(&bytes);
	if (read_augmentation(common, section, letters, &bytes) < 0)
		return -EINVAL;
	common->program = bytes;
	return bytes.failed ? -EINVAL : 0;
}

static void read_common(struct cfi_reader *reader, size_t offset, struct cfi_common *common)
{
	struct entry entry;

	*common = (struct cfi_common){.offset = offset, .is_read = true, .address_bytes = 8};
	if (read_entry(reader->section, offset, &entry) <= 0 || !entry.is_common)
		return;
	if (entry.rest.nr > COMMON_MAX_BYTES || entry.rest.nr > reader->budget)
		return;
	reader->budget -= entry.rest.nr;
	common->is_sound = parse_common(common, reader->section, entry.rest) == 0;
}

/* Returns the common entry at an offset, or NULL. */
static struct cfi_common *find_common(struct cfi_reader *reader, uint64_t offset)
{
	struct cfi_common *common = &reader->recent[hash_u64(offset) % CFI_NR_RECENT];

	if (offset >= reader->section->nr)
		return NULL;
	if (!common->is_read || common->offset != offset)
		read_common(reader, offset, common);
	return common->is_sound ? common : NULL;
}

/* --- functions' entries ---------------------------------------------------------------------- */

static int parse_function(struct cfi_reader *reader, const struct entry *entry,
			  struct cfi_function *function)
{
	bool is_eh_frame = reader->section->is_eh_frame;
	struct bytes bytes = entry->rest;
	struct cfi_common *common;
	uint64_t nr = 0;

	common = find_common(reader, is_eh_frame ? entry->id_offset - entry->id : entry->id);
	if (!common)
		return -EINVAL;
	(void)bytes_skip(&bytes, common->segment_bytes);
	if (cfi_pointer_read(&bytes, reader->section, common->pointer_encoding,
			     common->address_bytes, 0, &function->start) < 0 ||
	    cfi_pointer_read(&bytes, reader->section, common->pointer_encoding & ENCODING_FORM,
			     common->address_bytes, 0, &nr) < 0)
		return -EINVAL;
	if (common->has_augmentation_data)
		(void)bytes_skip(&bytes, bytes_uleb(&bytes));
	if (bytes.failed || !nr || nr > UINT64_MAX - function->start)
		return -EINVAL;
	function->common = common;
	function->offset = entry->offset;
	function->end = function->start + nr;
	function->program = bytes;
	return 0;
}

enum cfi_found cfi_reader_next(struct cfi_reader *reader, struct cfi_function *function)
{
	const struct cfi_section *section = reader->section;
	struct entry entry;
	int found;

	while (reader->next < section->nr) {
		found = read_entry(section, reader->next, &entry);
		reader->next = found < 0 ? section->nr : entry.next;
		if (found < 0)
			return CFI_BROKEN;
		if (found == 0 && section->ends_at_zero)
			reader->next = section->nr;
		if (found == 0 || entry.is_common)
			continue;
		return parse_function(reader, &entry, function) < 0 ? CFI_BROKEN : CFI_FUNCTION;
	}
	return CFI_END;
}

int cfi_reader_get(struct cfi_reader *reader, size_t offset, struct cfi_function *function)
{
	struct entry entry;

	if (offset >= reader->section->nr || read_entry(reader->section, offset, &entry) <= 0 ||
	    entry.is_common)
		return -EINVAL;
	return parse_function(reader, &entry, function);
}
