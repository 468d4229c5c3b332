/* elf/image/usdt_notes: handmade notes; tests/replay/usdt.sh uses real ones. */
#include "elf/image/usdt_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define BASE_ADDRESS   0x3000
#define PROBES_ADDRESS 0x4000
#define PROBES_BYTES   16

struct notes_section {
	uint8_t bytes[1024];
	size_t nr;
};

static void put(struct notes_section *section, const void *bytes, size_t nr)
{
	CHECK(section->nr + nr + 3 <= sizeof(section->bytes));
	memcpy(section->bytes + section->nr, bytes, nr);
	section->nr += nr;
}

static void put_note(struct notes_section *section, const char *owner, uint32_t type,
		     const void *content, size_t nr)
{
	const uint32_t header[] = {(uint32_t)strlen(owner) + 1, (uint32_t)nr, type};

	put(section, header, sizeof(header));
	put(section, owner, strlen(owner) + 1);
	section->nr = (section->nr + 3) / 4 * 4;
	put(section, content, nr);
	section->nr = (section->nr + 3) / 4 * 4;
}

/* texts: three strings, all but the last with a NUL. */
static void put_probe(struct notes_section *section, uint64_t vaddr, uint64_t base,
		      uint64_t semaphore, const char *texts, size_t nr)
{
	const uint64_t words[] = {vaddr, base, semaphore};
	uint8_t content[256];

	memcpy(content, words, sizeof(words));
	memcpy(content + sizeof(words), texts, nr + 1);
	put_note(section, "stapsdt", 3, content, sizeof(words) + nr + 1);
}

static const char first_texts[] = "libc\0setjmp\08@%rdi -4@%esi 8@%rax";
static const char second_texts[] = "app\0start\0";

static void put_probes(struct notes_section *section)
{
	put_probe(section, 0x1004, BASE_ADDRESS, 0, first_texts, sizeof(first_texts) - 1);
	put_note(section, "stapsdt", 4, "another type", 12);
	put_note(section, "GNU", 3, "another owner", 13);
	put_probe(section, 0x1008, BASE_ADDRESS, PROBES_ADDRESS + 2, second_texts,
		  sizeof(second_texts) - 1);
}

static size_t build(uint8_t *bytes, const struct notes_section *notes, uint64_t moved,
		    uint32_t notes_type)
{
	static const uint8_t zeros[PROBES_BYTES];
	const struct made_section sections[] = {
		{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000 + moved, zeros, 16, 0, 0},
		{".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, BASE_ADDRESS + moved, zeros, 1, 0, 0},
		{".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, PROBES_ADDRESS + moved, zeros,
		 PROBES_BYTES, 0, 0},
		{".note.stapsdt", notes_type, 0, 0, notes->bytes, notes->nr, 0, 0},
	};

	return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
}

static int read_bytes(struct usdt_notes *ret, const uint8_t *bytes, size_t nr)
{
	struct error error = {0};
	struct elf_image image;
	int err;

	*ret = (struct usdt_notes){0};
	if (elf_image_open_memory(&image, bytes, nr, NULL) < 0)
		return -ENOEXEC;
	err = usdt_notes_read(ret, &image, &error);
	CHECK_EQ(err, error.code);
	CHECK(err == 0 || (!ret->notes && !ret->text && !ret->nr));
	elf_image_close(&image);
	return err;
}

static int read_section(struct usdt_notes *ret, const struct notes_section *section, uint64_t moved)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = build(bytes, section, moved, SHT_NOTE);

	return read_bytes(ret, test_guarded(bytes, nr), nr);
}

/* Offset of the semaphores in the made-up file: after .text and .stapsdt.base, 16 bytes each. */
static uint64_t probes_offset(void)
{
	return sizeof(Elf64_Ehdr) + MADE_SECTIONS_MAX * sizeof(Elf64_Phdr) +
	       (MADE_SECTIONS_MAX + 2) * sizeof(Elf64_Shdr) + 32;
}

static void check_probes(uint64_t moved)
{
	struct notes_section section = {0};
	struct usdt_notes notes;

	put_probes(&section);
	CHECK_EQ(read_section(&notes, &section, moved), 0);
	CHECK_EQ(notes.nr, 2);
	CHECK_STR(notes.notes[0].provider, "libc");
	CHECK_STR(notes.notes[0].name, "setjmp");
	CHECK_STR(notes.notes[0].arguments, "8@%rdi -4@%esi 8@%rax");
	CHECK_EQ(notes.notes[0].vaddr, 0x1004 + moved);
	CHECK_EQ(notes.notes[0].semaphore, 0);
	CHECK_STR(notes.notes[1].provider, "app");
	CHECK_STR(notes.notes[1].name, "start");
	CHECK_STR(notes.notes[1].arguments, "");
	CHECK_EQ(notes.notes[1].vaddr, 0x1008 + moved);
	CHECK_EQ(notes.notes[1].semaphore, probes_offset() + 2);
	usdt_notes_clear(&notes);
}

TEST(usdt_notes_are_read)
{
	check_probes(0);
}

TEST(usdt_notes_of_a_prelinked_file)
{
	check_probes(0x7000000);
	check_probes((uint64_t)-0x800);
}

TEST(usdt_notes_without_a_base_are_not_mended)
{
	struct notes_section section = {0};
	struct usdt_notes notes;

	put_probe(&section, 0x1004, 0, 0, first_texts, sizeof(first_texts) - 1);
	CHECK_EQ(read_section(&notes, &section, 0), 0);
	CHECK_EQ(notes.notes[0].vaddr, 0x1004);
	usdt_notes_clear(&notes);
}

TEST(usdt_notes_of_files_without_any)
{
	struct notes_section section = {0};
	uint8_t bytes[MADE_ROOM];
	struct usdt_notes notes;
	size_t nr;

	CHECK_EQ(read_section(&notes, &section, 0), 0);
	CHECK_EQ(notes.nr, 0);
	nr = tiny_elf_build(bytes, NULL, 0);
	CHECK_EQ(read_bytes(&notes, bytes, nr), 0);
	CHECK_EQ(notes.nr, 0);
	put_probes(&section);
	nr = build(bytes, &section, 0, SHT_NOBITS);
	CHECK_EQ(read_bytes(&notes, bytes, nr), 0);
	CHECK_EQ(notes.nr, 0);
	usdt_notes_clear(&notes);
}

/* 32-bit programs have 32-bit words. */
TEST(usdt_notes_of_32_bits)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Shdr sections[3];
		char names[16];
		Elf32_Nhdr note;
		char owner[8];
		uint32_t words[3];
		char texts[8];
	} file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_shoff = sizeof(Elf32_Ehdr),
			   .e_shentsize = sizeof(Elf32_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 1},
		.names = "\0.note.stapsdt",
		.note = {8, 20, 3},
		.owner = "stapsdt",
		.words = {0x1234, 0, 0},
		.texts = "a\0b\0"
			 "4@c",
	};
	const size_t names = sizeof(file.header) + sizeof(file.sections);
	struct usdt_notes notes;

	file.sections[1] = (Elf32_Shdr){0, SHT_STRTAB, 0, 0, (Elf32_Off)names, 16, 0, 0, 1, 0};
	file.sections[2] =
		(Elf32_Shdr){1, SHT_NOTE, 0, 0, (Elf32_Off)names + 16, 12 + 8 + 20, 0, 0, 4, 0};
	CHECK_EQ(read_bytes(&notes, test_guarded(&file, sizeof(file)), sizeof(file)), 0);
	CHECK_EQ(notes.nr, 1);
	CHECK_EQ(notes.notes[0].vaddr, 0x1234);
	CHECK_STR(notes.notes[0].name, "b");
	CHECK_STR(notes.notes[0].arguments, "4@c");
	usdt_notes_clear(&notes);
}

/* A note whose semaphore address is invalid is marked; the others are unaffected. */
TEST(usdt_notes_with_a_semaphore_astray)
{
	static const uint64_t outside[] = {PROBES_ADDRESS + PROBES_BYTES, 1, UINT64_MAX};
	struct usdt_notes notes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outside); i++) {
		struct notes_section section = {0};

		put_probe(&section, 0x1004, 0, outside[i], first_texts, sizeof(first_texts) - 1);
		put_probes(&section);
		CHECK_EQ(read_section(&notes, &section, 0), 0);
		CHECK_EQ(notes.nr, 3);
		CHECK(notes.notes[0].is_astray);
		CHECK(!notes.notes[1].is_astray && !notes.notes[2].is_astray);
		CHECK_EQ(notes.notes[2].semaphore, probes_offset() + 2);
		usdt_notes_clear(&notes);
	}
}

/* The content is truncated, or the whole section is. */
TEST(usdt_notes_cut_off)
{
	struct notes_section whole = {0}, section;
	const uint32_t nr_content = 24 + sizeof(first_texts);
	struct usdt_notes notes;
	uint32_t shorter;

	put_probe(&whole, 0x1004, 0, 0, first_texts, sizeof(first_texts) - 1);
	for (shorter = 0; shorter < nr_content; shorter++) {
		section = whole;
		memcpy(section.bytes + 4, &shorter, sizeof(shorter));
		section.nr = 12 + 8 + shorter;
		CHECK_EQ(read_section(&notes, &section, 0), -ENOEXEC);
	}
	for (section = whole, section.nr = 1; section.nr < 20 + nr_content; section.nr++)
		CHECK_EQ(read_section(&notes, &section, 0), -ENOEXEC);
	for (; section.nr <= whole.nr; section.nr++) { /* without padding */
		CHECK_EQ(read_section(&notes, &section, 0), 0);
		CHECK_EQ(notes.nr, 1);
		usdt_notes_clear(&notes);
	}
}

TEST(usdt_notes_truncated_and_damaged)
{
	struct notes_section section = {0};
	uint8_t sound[MADE_ROOM], *guarded;
	struct usdt_notes notes;
	uint64_t state = 7;
	size_t nr, shorter, round, i;

	put_probes(&section);
	nr = build(sound, &section, 0, SHT_NOTE);
	for (shorter = 0; shorter < nr; shorter++)
		if (read_bytes(&notes, test_guarded(sound, shorter), shorter) == 0)
			usdt_notes_clear(&notes);
	guarded = test_guarded(sound, nr);
	for (round = 0; round < 10000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		if (read_bytes(&notes, guarded, nr) < 0)
			continue;
		for (i = 0; i < notes.nr; i++)
			CHECK(strlen(notes.notes[i].provider) + strlen(notes.notes[i].name) +
				      strlen(notes.notes[i].arguments) <
			      nr);
		usdt_notes_clear(&notes);
	}
}

TEST(usdt_notes_out_of_memory)
{
	struct notes_section section = {0};
	uint8_t bytes[MADE_ROOM];
	int err = -ENOMEM;
	size_t nr, nth;

	put_probes(&section);
	nr = build(bytes, &section, 0, SHT_NOTE);
	for (nth = 1; err < 0; nth++) {
		struct usdt_notes notes = {0};
		struct elf_image image;

		CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
		test_fail_allocation(nth);
		err = usdt_notes_read(&notes, &image, NULL);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK(err < 0 ? !notes.text : notes.nr == 2);
		usdt_notes_clear(&notes);
		elf_image_close(&image);
	}
	CHECK(nth > 2);
}
