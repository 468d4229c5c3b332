/*
 * Steps through .eh_frame and .debug_frame. They are alike but for how a CIE is told from an FDE
 * and found from it, and for augmentations, which only .eh_frame needs:
 *
 *	length		4 bytes, or ffffffff and 8 bytes
 *	id		CIE: 0 in .eh_frame, else all ones. FDE: where its CIE is: in .eh_frame
 *			backwards from here, else from the section's start
 *	CIE:		version 1, 3 or 4, augmentation, alignments, return address column
 *	FDE:		start and length of the code
 *	program		to the end
 *
 * Nothing is allocated: recent CIEs are kept in the reader, by their offset. So that no file can
 * make us read the same long CIE for each of its FDEs, CIEs have a limit of their own, and reading
 * them a budget in proportion to the section.
 *
 * An FDE's range that is empty, or wraps, is broken. Nobody's linker leaves those but for code that
 * was thrown away.
 */
#include "elf/unwind/cfi_entries.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "elf/dwarf/dwarf_numbers.h"

/* Real ones have 16 to 60 bytes; one that mentions each register of arm64 would have 300. */
#define COMMON_MAX_BYTES 1024

/* How many times over a section's CIEs may be read, for CIEs that push each other out. */
#define BUDGET_PER_BYTE 16
#define BUDGET_LEAST	65536

#define LENGTH_64	0xffffffffU
#define LENGTH_RESERVED 0xfffffff0U

struct entry {
	size_t offset, next; /* in the section: its first byte, and the one after it */
	size_t id_offset;
	uint64_t id;
	bool is_common;
	struct bytes rest; /* behind the id */
};

/* --- pointers ------------------------------------------------------------------------------ */

static uint64_t read_address(struct bytes *bytes, uint8_t address_bytes)
{
	return address_bytes == 4 ? bytes_u32(bytes) : bytes_u64(bytes);
}

static uint64_t read_form(struct bytes *bytes, uint8_t form, uint8_t address_bytes)
{
	switch (form) {
	case DW_EH_PE_absptr:
		return read_address(bytes, address_bytes);
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

/* Steps to where an aligned pointer is. */
static void align(struct bytes *bytes, uint64_t address, uint8_t address_bytes)
{
	(void)bytes_skip(bytes, -address & (uint64_t)(address_bytes - 1));
}

int cfi_pointer_read(struct bytes *bytes, const struct cfi_section *section, uint8_t encoding,
		     uint8_t address_bytes, uint64_t function, uint64_t *ret_pointer)
{
	uint8_t form = encoding & DW_EH_PE_form;
	uint64_t base = 0, address;

	if (encoding & DW_EH_PE_indirect || bytes->failed)
		return -EINVAL;
	address = section->address + (uint64_t)(bytes->at - section->bytes);
	switch (encoding & DW_EH_PE_base) {
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
		align(bytes, address, address_bytes);
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

/* --- entries ------------------------------------------------------------------------------- */

void cfi_reader_init(struct cfi_reader *reader, const struct cfi_section *section)
{
	memset(reader, 0, sizeof(*reader));
	reader->section = section;
	reader->budget = BUDGET_LEAST + (uint64_t)section->nr * BUDGET_PER_BYTE;
}

/*
 * Reads the head of the entry at an offset. 1, 0 for one of length 0, or -EINVAL if it does not
 * fit: then nothing behind it can be found either.
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
	/* .eh_frame keeps its ids at 4 bytes, whatever the length. */
	if (is_64 && !section->is_eh_frame) {
		entry->id = bytes_u64(&entry->rest);
		entry->is_common = entry->id == UINT64_MAX;
	} else {
		entry->id = bytes_u32(&entry->rest);
		entry->is_common = entry->id == (section->is_eh_frame ? 0 : UINT32_MAX);
	}
	return 1;
}

/* --- common entries ------------------------------------------------------------------------ */

/*
 * What the letters of the augmentation say; their data come in the same order. A letter that is not
 * known ends it, safely if "z" told how long the data are.
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

/* The common entry at an offset, or NULL. */
static struct cfi_common *find_common(struct cfi_reader *reader, uint64_t offset)
{
	struct cfi_common *common = &reader->recent[hash_u64(offset) % CFI_NR_RECENT];

	if (offset >= reader->section->nr)
		return NULL;
	if (!common->is_read || common->offset != offset)
		read_common(reader, offset, common);
	return common->is_sound ? common : NULL;
}

/* --- functions' entries -------------------------------------------------------------------- */

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
	    cfi_pointer_read(&bytes, reader->section, common->pointer_encoding & DW_EH_PE_form,
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
