/* elf/image/relocations: those of made-up files, in order and complete; and of damaged ones. */
#include "elf/image/relocations.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

#define NR_FIRST (RELOCATIONS_CHUNK + 3) /* more than fit into one piece */

static Elf64_Rela first[NR_FIRST], second[2], unloaded[1];

static size_t build(uint8_t *bytes)
{
	const struct made_section sections[] = {
		{".rela.dyn", SHT_RELA, SHF_ALLOC, 0x1000, first, sizeof(first), 0, 24},
		{".rela.debug_info", SHT_RELA, 0, 0, unloaded, sizeof(unloaded), 0, 24},
		{".empty", SHT_RELA, SHF_ALLOC, 0x2000, "", 0, 0, 24},
		{".rela.plt", SHT_RELA, SHF_ALLOC, 0x3000, second, sizeof(second), 0, 24},
	};
	size_t i;

	for (i = 0; i < NR_FIRST; i++)
		first[i].r_offset = i;
	for (i = 0; i < ARRAY_SIZE(second); i++)
		second[i].r_offset = NR_FIRST + i;
	unloaded[0].r_offset = 1000000;
	return made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
}

/* How many there are; they must be numbered if is_sound. */
static size_t count(const uint8_t *bytes, size_t nr_bytes, bool is_sound)
{
	struct relocations relocations;
	struct elf_image image;
	GElf_Rela relocation;
	size_t nr = 0;

	if (elf_image_open_memory(&image, bytes, nr_bytes, NULL) < 0)
		return 0;
	relocations_init(&relocations, &image);
	while (relocations_next(&relocations, &relocation)) {
		CHECK(!is_sound || relocation.r_offset == nr);
		nr++;
	}
	CHECK(!relocations_next(&relocations, &relocation));
	elf_image_close(&image);
	return nr;
}

TEST(relocations_of_all_loaded_sections)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr = build(bytes);

	CHECK_EQ(count(bytes, nr, true), NR_FIRST + ARRAY_SIZE(second));
}

TEST(relocations_of_a_file_without_any)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);

	CHECK_EQ(count(bytes, nr, true), 0);
}

TEST(relocations_truncated_and_damaged)
{
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = build(sound), shorter, round;
	uint64_t state = 10;

	for (shorter = 0; shorter < nr; shorter += 7)
		CHECK(count(test_guarded(sound, shorter), shorter, false) <=
		      NR_FIRST + ARRAY_SIZE(second));
	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, 2048, &state);
		CHECK(count(guarded, nr, false) < 10000);
	}
}
