/* Deciding by names and exception tables whether code may be unwound. */
#include "elf/image/unwinding_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

static const uint8_t cleans_up[] = {0xff, 0xff, 1, 4, 1, 2, 3, 0, 0, 0, 0xff, 0xff, 1, 1, 0};
static const uint8_t catches[] = {0xff, 0xff, 1, 4, 1, 2, 3, 0, 0, 0xff, 0x9b, 9, 1, 1, 0};
static const uint8_t cut[] = {0xff, 0xff, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
static const uint8_t too_many_calls[] = {0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0x9b};

static bool is_in(const struct made_section *sections, size_t nr)
{
	uint8_t bytes[MADE_ROOM];
	size_t nr_bytes = made_elf_build(bytes, EM_X86_64, sections, nr);
	struct elf_image image;
	bool is;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr_bytes, NULL), 0);
	is = unwinding_code_is_in(&image);
	elf_image_close(&image);
	return is;
}

static bool strings_tell(const char *section, const char *strings, size_t nr)
{
	const struct made_section made = {.name = section, SHT_STRTAB, .bytes = strings, .nr = nr};

	return is_in(&made, 1);
}

#define TELL(section, strings) strings_tell(section, strings, sizeof(strings))

TEST(unwinding_code_by_names)
{
	CHECK(TELL(".dynstr", "\0malloc\0__gxx_personality_v0\0free"));
	CHECK(TELL(".strtab", "\0__gxx_personality_v0@CXXABI_1.3"));
	CHECK(TELL(".strtab", "\0DW.ref.__gxx_personality_v0"));
	CHECK(TELL(".strtab", "\0DW.ref.rust_eh_personality"));
	CHECK(TELL(".strtab", "\0_RNvCs5QKde7ScR4H_7___rustc17rust_eh_personality"));
	CHECK(TELL(".strtab", "\0set_personality\0__gnat_personality_v0"));
	CHECK(!TELL(".strtab", "\0__gcc_personality_v0\0personality"));
	CHECK(!TELL(".strtab", "_personality"));
	CHECK(!TELL(".strtab", "\0__gxx_personality_v0_is_not_it"));
	CHECK(!TELL(".rodata", "\0__gxx_personality_v0"));
	CHECK(!strings_tell(".strtab", "__gxx_personality_v0", strlen("__gxx_personality_v0")));
	CHECK(!strings_tell(".strtab", "__gxx_personality_v", strlen("__gxx_personality_v")));
}

static bool table_tells(const uint8_t *table, size_t nr)
{
	const struct made_section made = {
		.name = ".gcc_except_table", SHT_PROGBITS, .bytes = table, .nr = nr};

	return is_in(&made, 1);
}

TEST(unwinding_code_by_tables)
{
	CHECK(table_tells(catches, sizeof(catches)));
	CHECK(!table_tells(cleans_up, sizeof(cleans_up)));
	CHECK(!table_tells(cut, sizeof(cut)));
	CHECK(!table_tells(too_many_calls, sizeof(too_many_calls)));
	CHECK(!table_tells((const uint8_t *)"no table", sizeof("no table")));
	CHECK(!table_tells(catches, 0));
}

/* A file with more strings than are read at once: the name spans two chunks. */
TEST(unwinding_code_in_many_strings)
{
	static const char name[] = "__gxx_personality_v0";
	const size_t piece = 256u << 10, nr = 3 * piece;
	uint8_t *bytes = calloc(1, MADE_ROOM + nr);
	const struct made_section made = {.name = ".strtab", SHT_STRTAB, .bytes = "", .nr = 1};
	size_t start = made_elf_build(bytes, EM_X86_64, &made, 1), at;
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *strings = (Elf64_Shdr *)(bytes + header->e_shoff) + 1;
	struct elf_image image;

	strings->sh_offset = start;
	strings->sh_size = nr;
	for (at = piece - 100; at < piece + 10; at++) {
		memset(bytes + start, 'x', nr);
		memcpy(bytes + start + at, name, sizeof(name));
		CHECK_EQ(elf_image_open_memory(&image, bytes, start + nr, NULL), 0);
		CHECK(unwinding_code_is_in(&image));
		elf_image_close(&image);
	}
	free(bytes);
}

TEST(unwinding_code_truncated_and_damaged)
{
	static const char names[] = "\0__gcc_personality_v0\0_personality";
	const struct made_section sections[] = {
		{.name = ".strtab", SHT_STRTAB, .bytes = names, .nr = sizeof(names)},
		{.name = ".gcc_except_table",
		 SHT_PROGBITS,
		 .bytes = cleans_up,
		 .nr = sizeof(cleans_up)},
	};
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = made_elf_build(sound, EM_X86_64, sections, ARRAY_SIZE(sections)), round;
	struct elf_image image;
	uint64_t state = 5;

	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		if (elf_image_open_memory(&image, guarded, nr, NULL) < 0)
			continue;
		(void)unwinding_code_is_in(&image);
		elf_image_close(&image);
	}
}
