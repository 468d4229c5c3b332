/* elf/image/elf_section: finding and reading sections of made-up files. */
#include "elf/image/elf_section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static const struct made_section sections[] = {
	{".text.hot", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "abc", 3, 0, 0},
	{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, "hello", 5, 0, 0},
	{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x3000, "second", 6, 0, 0},
	{".bss", SHT_NOBITS, SHF_ALLOC, 0x4000, NULL, 100, 0, 0},
	{".packed", SHT_NOTE, SHF_COMPRESSED, 0, "xyz", 3, 0, 0},
	{".empty", SHT_PROGBITS, 0, 0, "", 0, 0, 0},
};

static int read_named(const struct elf_image *image, const char *name, uint64_t max_bytes)
{
	uint8_t *bytes = NULL;
	GElf_Shdr header;
	int err = elf_section_find(image, name, &header);

	if (err == 0)
		err = elf_section_read(image, &header, max_bytes, &bytes);
	CHECK(err == 0 || !bytes);
	if (err == 0)
		CHECK_EQ(bytes[0], 'h');
	free(bytes);
	return err;
}

TEST(elf_section_by_name_and_type)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
	struct elf_image image;
	GElf_Shdr header;

	CHECK_EQ(elf_image_open_memory(&image, test_guarded(bytes, nr), nr, NULL), 0);
	CHECK_EQ(elf_section_find(&image, ".text", &header), 0);
	CHECK_EQ(header.sh_addr, 0x2000);
	CHECK_EQ(elf_section_find(&image, ".tex", &header), -ENOENT);
	CHECK_EQ(elf_section_find(&image, ".text.hot.not.there.and.too.long.for.it", &header),
		 -ENOENT);
	/* The last name, right at the end of the names and of the file. */
	CHECK_EQ(elf_section_find(&image, ".empty", &header), 0);
	CHECK_EQ(elf_section_find(&image, ".empty2", &header), -ENOENT);
	CHECK_EQ(elf_section_find_type(&image, SHT_NOTE, &header), 0);
	CHECK_EQ(header.sh_size, 3);
	CHECK_EQ(elf_section_find_type(&image, SHT_DYNSYM, &header), -ENOENT);

	CHECK_EQ(read_named(&image, ".text", 5), 0);
	CHECK_EQ(read_named(&image, ".text", 4), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".bss", 1000), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".packed", 1000), -ENOEXEC);
	CHECK_EQ(read_named(&image, ".empty", 1000), -ENOEXEC);
	test_fail_allocation(1);
	CHECK_EQ(read_named(&image, ".text", 5), -ENOMEM);
	test_fail_allocation(0);
	elf_image_close(&image);
}

TEST(elf_section_truncated_and_damaged)
{
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = made_elf_build(sound, EM_X86_64, sections, ARRAY_SIZE(sections)), i, round;
	struct elf_image image;
	GElf_Shdr header;
	uint64_t state = 9;

	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000 + nr; round++) {
		size_t shorter = round < nr ? round : nr;
		uint8_t *bytes = round < nr ? test_guarded(sound, shorter) : guarded;

		if (round >= nr) {
			memcpy(guarded, sound, nr);
			tiny_damage(guarded, nr, &state);
		}
		if (elf_image_open_memory(&image, bytes, shorter, NULL) < 0)
			continue;
		for (i = 0; i < ARRAY_SIZE(sections); i++) {
			uint8_t *content = NULL;

			if (elf_section_find(&image, sections[i].name, &header) == 0)
				(void)elf_section_read(&image, &header, 1000, &content);
			free(content);
		}
		elf_image_close(&image);
	}
}
