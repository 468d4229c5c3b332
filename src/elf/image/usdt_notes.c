/*
 * Notes of the owner `stapsdt` and type 3, as <sys/sdt.h> makes them:
 *
 *	word  address of the probe's instruction
 *	word  address of .stapsdt.base when the file was linked; 0: there was none
 *	word  address of the semaphore: the counter of those who use the probe; 0: none
 *	text  provider, name, arguments
 *
 * Prelink moves code, data and .stapsdt.base, but not what notes say: how far it moved the latter
 * mends both addresses.
 *
 * The section is read whole, and its texts are used where they lie.
 */
#include "elf/image/usdt_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "elf/image/elf_image.h"

#define OWNER	  "stapsdt"
#define TYPE	  3
#define MAX_BYTES (16u << 20) /* of the section; a large program has some hundred notes of 80 */

struct reader {
	const struct elf_image *image;
	struct error *error;
	struct usdt_notes notes;
	uint64_t base; /* address of .stapsdt.base; 0: there is none */
};

static int refuse(const struct reader *reader, const char *why)
{
	return error_set(reader->error, -ENOEXEC, "no sound notes of static probes: %s", why);
}

/* The place in the file of an address, of data or of code; -ENOENT. */
static int find_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret)
{
	GElf_Phdr header;
	size_t i = 0;

	while (elf_segment_next(image, PT_LOAD, &i, &header)) {
		if (vaddr < header.p_vaddr || vaddr - header.p_vaddr >= header.p_filesz)
			continue;
		*ret = header.p_offset + (vaddr - header.p_vaddr);
		return *ret < image->bytes ? 0 : -ENOENT;
	}
	return -ENOENT;
}

static uint64_t read_word(const struct reader *reader, struct bytes *bytes)
{
	return reader->image->is_64 ? bytes_u64(bytes) : bytes_u32(bytes);
}

static int add_note(struct reader *reader, struct bytes content)
{
	uint64_t vaddr = read_word(reader, &content);
	uint64_t base = read_word(reader, &content);
	uint64_t semaphore = read_word(reader, &content);
	uint64_t moved = reader->base && base ? reader->base - base : 0;
	struct usdt_notes *notes = &reader->notes;
	struct usdt_note note = {.vaddr = vaddr + moved};

	note.provider = bytes_string(&content);
	note.name = bytes_string(&content);
	note.arguments = bytes_string(&content);
	if (content.failed)
		return refuse(reader, "one of them is cut off");
	if (semaphore)
		note.is_astray = find_offset(reader->image, semaphore + moved, &note.semaphore) < 0;
	if (ARRAY_ADD(notes->notes, notes->nr, notes->capacity, note) < 0)
		return error_no_memory(reader->error, "for notes of static probes");
	return 0;
}

/* Steps over a name or content; what follows begins at the next multiple of four. */
static struct bytes cut_padded(struct bytes *bytes, uint32_t nr)
{
	struct bytes cut = bytes_cut(bytes, nr);
	size_t padding = -nr % 4u;

	/* The last one may lack it. */
	(void)bytes_skip(bytes, padding < bytes->nr ? padding : bytes->nr);
	return cut;
}

static int read_notes(struct reader *reader, struct bytes bytes)
{
	while (bytes.nr) {
		uint32_t nr_owner = bytes_u32(&bytes), nr_content = bytes_u32(&bytes);
		uint32_t type = bytes_u32(&bytes);
		struct bytes owner = cut_padded(&bytes, nr_owner);
		struct bytes content = cut_padded(&bytes, nr_content);
		int err = 0;

		if (bytes.failed)
			return refuse(reader, "their section is cut off");
		if (type == TYPE && nr_owner == sizeof(OWNER) &&
		    !memcmp(owner.at, OWNER, sizeof(OWNER)))
			err = add_note(reader, content);
		if (err < 0)
			return err;
	}
	return 0;
}

int usdt_notes_read(struct usdt_notes *notes, const struct elf_image *image, struct error *error)
{
	struct reader reader = {.image = image, .error = error};
	uint8_t *bytes = NULL;
	GElf_Shdr header;
	int err;

	if (elf_section_find(image, ".stapsdt.base", &header) == 0)
		reader.base = header.sh_addr;
	if (elf_section_find(image, ".note.stapsdt", &header) < 0 || !header.sh_size ||
	    header.sh_type == SHT_NOBITS)
		return 0;
	if (header.sh_size > MAX_BYTES)
		return error_set(error, -E2BIG, "too many notes of static probes");
	err = elf_section_read(image, &header, MAX_BYTES, &bytes);
	if (err < 0)
		return err == -ENOMEM ? error_no_memory(reader.error, "for notes of static probes")
				      : refuse(&reader, "they cannot be read");
	reader.notes.text = (char *)bytes;
	err = read_notes(&reader, bytes_of(bytes, header.sh_size));
	if (err < 0)
		usdt_notes_clear(&reader.notes);
	else
		*notes = reader.notes;
	return err;
}

void usdt_notes_clear(struct usdt_notes *notes)
{
	free(notes->notes);
	free(notes->text);
	*notes = (struct usdt_notes){0};
}
