/* elf/unwind/cfi_entries: both kinds of sections, all encodings, augmentations, truncations. */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/unwind/cfi_entries.h"
#include "unit/cfi_fixture.h"

#define ADDRESS 0x10000 /* address of the section */

static struct cfi_section section_of(const void *bytes, size_t nr, bool is_eh_frame)
{
	return (struct cfi_section){.bytes = (uint8_t *)(uintptr_t)bytes,
				    .nr = nr,
				    .address = ADDRESS,
				    .text = 0x20000,
				    .got = 0x30000,
				    .is_eh_frame = is_eh_frame};
}

static void read_two(bool is_eh_frame)
{
	struct made made = {.nr = 0};
	size_t common = put_common(&made, is_eh_frame, "", "", 0);
	size_t first = put_function(&made, is_eh_frame, common, 0x1000, 0x10, "\x41", 1);
	size_t second = put_function(&made, is_eh_frame, common, 0x3000, 0x20, "", 0);
	struct cfi_section section = section_of(made.bytes, made.nr, is_eh_frame);
	struct cfi_function function;
	struct cfi_reader reader;

	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(function.offset, first);
	CHECK_EQ(function.start, 0x1000);
	CHECK_EQ(function.end, 0x1010);
	CHECK_EQ(function.program.nr, 1);
	CHECK_EQ(function.common->code_align, 1);
	CHECK_EQ(function.common->data_align, -8);
	CHECK_EQ(function.common->ra_column, 16);
	CHECK_EQ(function.common->program.nr, 5);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(function.offset, second);
	CHECK_EQ(function.start, 0x3000);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
	CHECK_EQ(cfi_reader_get(&reader, first, &function), 0);
	CHECK_EQ(function.end, 0x1010);
	CHECK_EQ(cfi_reader_get(&reader, common, &function), -EINVAL);
	CHECK_EQ(cfi_reader_get(&reader, made.nr, &function), -EINVAL);
}

TEST(cfi_entries_of_both_sections)
{
	read_two(true);
	read_two(false);
}

/* The zero that ends .eh_frame may be in the middle if the linker merged a file that has one. */
TEST(cfi_entries_behind_a_zero)
{
	struct made made = {.nr = 0};
	size_t common = put_common(&made, true, "", "", 0);
	struct cfi_section section;
	struct cfi_function function;
	struct cfi_reader reader;

	put_number(&made, 0, 4);
	put_function(&made, true, common, 0x1000, 0x10, "", 0);
	section = section_of(made.bytes, made.nr, true);
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
	section.ends_at_zero = true;
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
}

/* 64-bit lengths; version 4 with 2-byte segment selectors; 8-byte ids in .debug_frame only. */
static void read_long_entries(bool is_eh_frame)
{
	static const char body[] = "\4\0\x8\x2\1\x78\x10";
	struct made made = {.nr = 0};
	size_t id_bytes = is_eh_frame ? 4 : 8;
	struct cfi_section section;
	struct cfi_function function;
	struct cfi_reader reader;

	put_number(&made, UINT32_MAX, 4);
	put_number(&made, id_bytes + 7, 8);
	put_number(&made, is_eh_frame ? 0 : UINT64_MAX, id_bytes);
	put(&made, body, 7);
	put_number(&made, UINT32_MAX, 4);
	put_number(&made, id_bytes + 18, 8);
	put_number(&made, is_eh_frame ? made.nr : 0, id_bytes);
	put_number(&made, 0xabcd, 2); /* the segment */
	put_number(&made, 0x1000, 8);
	put_number(&made, 0x10, 8);
	section = section_of(made.bytes, made.nr, is_eh_frame);
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(function.start, 0x1000);
	CHECK_EQ(function.end, 0x1010);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
}

TEST(cfi_entries_64_bit)
{
	read_long_entries(true);
	read_long_entries(false);
}

TEST(cfi_entries_pointer_encodings)
{
	static const uint8_t bytes[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
	static const struct {
		uint8_t encoding;
		uint64_t pointer;
	} cases[] = {
		{0x00, 0xfffffffffffffffe}, /* absptr */
		{0x01, 0x7ffffffffffffffe}, /* uleb128 */
		{0x02, 0xfffe},		    /* udata2 */
		{0x03, 0xfffffffe},	    /* udata4 */
		{0x04, 0xfffffffffffffffe}, /* udata8 */
		{0x09, 0xfffffffffffffffe}, /* sleb128 */
		{0x0a, 0xfffffffffffffffe}, /* sdata2 */
		{0x0b, 0xfffffffffffffffe}, /* sdata4 */
		{0x0c, 0xfffffffffffffffe}, /* sdata8 */
		{0x1b, 0x0fffe},	    /* pcrel */
		{0x2b, 0x1fffe},	    /* textrel */
		{0x3b, 0x2fffe},	    /* datarel */
		{0x4b, 0x3fffe},	    /* funcrel */
		{0x50, 0xfffffffffffffffe}, /* aligned; already is */
	};
	struct cfi_section section = section_of(bytes, sizeof(bytes), true);
	uint64_t pointer = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes cursor = bytes_of(bytes, sizeof(bytes));

		CHECK_EQ(cfi_pointer_read(&cursor, &section, cases[i].encoding, 8, 0x40000,
					  &pointer),
			 0);
		CHECK_EQ(pointer, cases[i].pointer);
	}
	for (i = 0; i < 256; i++) {
		bool is_known = (i & 0xf) < 5 || ((i & 0xf) > 8 && (i & 0xf) < 13);
		struct bytes cursor = bytes_of(bytes, sizeof(bytes));

		if (i < 0x50 ? is_known : (i & 0xf0) == 0x50)
			continue;
		CHECK_EQ(cfi_pointer_read(&cursor, &section, (uint8_t)i, 8, 0, &pointer), -EINVAL);
	}
}

TEST(cfi_entries_aligned_pointer)
{
	static const uint8_t bytes[16] = {1, 2, 3, 0, 0, 0, 0, 0, 0x42};
	struct cfi_section section = section_of(bytes, sizeof(bytes), true);
	struct bytes cursor = bytes_of(bytes, sizeof(bytes));
	uint64_t pointer;

	(void)bytes_u8(&cursor);
	CHECK_EQ(cfi_pointer_read(&cursor, &section, 0x50, 8, 0, &pointer), 0);
	CHECK_EQ(pointer, 0x42);
}

/* True if the common entry read last is valid. */
static bool is_common_sound(const struct cfi_reader *reader)
{
	size_t i;

	for (i = 0; i < CFI_NR_RECENT; i++)
		if (reader->recent[i].is_read)
			return reader->recent[i].is_sound;
	return false;
}

TEST(cfi_entries_augmentations)
{
	static const struct {
		const char *letters, *data;
		size_t nr_data;
		bool is_sound, is_signal_frame;
		uint8_t encoding;
	} cases[] = {
		{"", "", 0, true, false, 0},
		{"zR", "\1\3", 2, true, false, 3},
		{"zPLR", "\7\x9b\1\2\3\4\x1b\3", 8, true, false, 3},
		{"zRS", "\1\3", 2, true, true, 3},
		{"zRBG", "\1\3", 2, true, false, 3},
		{"zR?", "\4\3abc", 5, true, false, 3},
		{"z?R", "\4\3abc", 5, true, false, 0}, /* unknown letter: rest ignored */
		{"?", "", 0, false, false, 0},
		{"zP", "\1\x08", 2, false, false, 0}, /* no such encoding */
		{"zPR", "\2\x1b\1", 3, false, false, 0},
		{"zRL", "\1\3", 2, false, false, 0},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made made = {.nr = 0};
		size_t common =
			put_common(&made, true, cases[i].letters, cases[i].data, cases[i].nr_data);
		struct cfi_section section;
		struct cfi_function function;
		struct cfi_reader reader;

		/*
		 * Decoded as udata4: start 0x1000, 0x10 bytes, no augmentation data. Decoded as
		 * 8-byte pointers: an empty range.
		 */
		put_function(&made, true, common, 0x1000001000, 0, "\1\0\0\0", 4);
		section = section_of(made.bytes, made.nr, true);
		cfi_reader_init(&reader, &section);
		if (cases[i].encoding == 3) {
			CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
			CHECK_EQ(function.start, 0x1000);
			CHECK_EQ(function.common->is_signal_frame, cases[i].is_signal_frame);
		} else {
			CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN); /* empty range */
			CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
		}
		CHECK_EQ(is_common_sound(&reader), cases[i].is_sound);
	}
}

/* GCC before 3.0: augmentation "eh", with a pointer before the alignment factors. */
TEST(cfi_entries_eh)
{
	static const char common[] = "\0\0\0\0\1eh\0ABCDEFGH\1\x78\x10";
	struct made made = {.nr = 0};
	size_t entry = begin_entry(&made);
	struct cfi_section section;
	struct cfi_function function;
	struct cfi_reader reader;

	put(&made, common, sizeof(common) - 1);
	end_entry(&made, entry);
	put_function(&made, true, entry, 0x1000, 0x10, "", 0);
	section = section_of(made.bytes, made.nr, true);
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(function.common->ra_column, 16);
}

TEST(cfi_entries_broken_ones_are_stepped_over)
{
	struct made made = {.nr = 0};
	size_t common = put_common(&made, true, "", "", 0);
	struct cfi_section section;
	struct cfi_function function;
	struct cfi_reader reader;

	put_function(&made, true, made.nr + 1000, 0x1000, 0x10, "", 0); /* before the section */
	put_function(&made, true, made.nr, 0x1000, 0x10, "", 0);	/* points to itself */
	put_function(&made, true, common, 0x1000, 0, "", 0);		/* empty range */
	put_function(&made, true, common, UINT64_MAX, 2, "", 0);	/* range wraps around */
	put_function(&made, true, common, 0x2000, 0x10, "", 0);
	put_number(&made, 0xfffffff0, 4); /* a reserved length ends the section */
	section = section_of(made.bytes, made.nr, true);
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(function.start, 0x2000);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
}

/* Common entries of many bytes: the first is too long and is refused, the others are read. */
TEST(cfi_entries_common_ones_have_limits)
{
	static char padding[2000];
	static struct made made;
	struct cfi_section section;
	struct cfi_function function;
	struct cfi_reader reader;
	size_t i, common;

	common = put_common(&made, true, "zR", "\1\0", 2);
	put(&made, padding, sizeof(padding));
	end_entry(&made, common);
	put_function(&made, true, common, 0x1000, 0x10, "\0", 1);
	for (i = 0; i < 30; i++)
		put_function(&made, true, put_common(&made, true, "", "", 0), 0x2000, 0x10, "", 0);
	section = section_of(made.bytes, made.nr, true);
	cfi_reader_init(&reader, &section);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
	for (i = 0; i < 30; i++)
		CHECK_EQ(cfi_reader_next(&reader, &function), CFI_FUNCTION);
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_END);
	cfi_reader_init(&reader, &section);
	reader.budget = 0;
	CHECK_EQ(cfi_reader_next(&reader, &function), CFI_BROKEN);
}

TEST(cfi_entries_cut_short)
{
	struct made made = {.nr = 0};
	size_t common = put_common(&made, true, "zPLR", "\7\x9b\1\2\3\4\x1b\3", 8), nr;

	put_function(&made, true, common, 0x1000001000, 0, "\1\0\0\0", 4);
	put_common(&made, true, "eh", "", 0);
	for (nr = 0; nr <= made.nr; nr++) {
		struct cfi_section section =
			section_of(test_guarded(made.bytes, nr), nr, nr % 2 == 0);
		struct cfi_function function;
		struct cfi_reader reader;

		cfi_reader_init(&reader, &section);
		while (cfi_reader_next(&reader, &function) != CFI_END)
			continue;
	}
}
