/*
 * elf/unwind/unwind_compile: its tables are indexed by file offset. The rule at an offset is that
 * of the file's rows at the corresponding address.
 */
#include "elf/unwind/unwind_compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image/elf_image.h"
#include "unit/code_file.h"
#include "unit/test.h"
#include "unit/unwind_fixture.h"
#include "unit/unwind_reading.h"

/* --- by offset ------------------------------------------------------------------------------- */

static void check_offset(const struct unwind_table *table, const struct elf_image *image,
			 const struct unwind_rows *rows, uint64_t offset)
{
	struct unwind_rule found = unwind_table_unpack(table, unwind_table_find(table, offset));
	const struct unwind_rule *expected = &rows->rules[0];
	uint64_t address;

	if (elf_image_offset_to_vaddr(image, offset, &address) == 0)
		expected = unwind_rows_find(rows, address);
	CHECK(!memcmp(&found, expected, sizeof(found)));
}

/* Compares at the ends of all segments and rows, and at some offsets between. */
static void check_by_offset(const struct unwind_table *table, const struct elf_image *image)
{
	struct unwind_rows rows;
	size_t i, k;

	CHECK_EQ(unwind_table_check(table), 0);
	CHECK_EQ(unwind_rows_read(&rows, image, NULL, NULL), 0);
	for (i = 0; i < image->nr_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t at;

		for (at = 0; at < segment->bytes; at += segment->bytes / 1000 + 1)
			check_offset(table, image, &rows, segment->offset + at);
		for (k = 0; k < 4; k++) {
			check_offset(table, image, &rows, segment->offset + k - 2);
			check_offset(table, image, &rows, segment->offset + segment->bytes + k - 2);
		}
		for (k = 0; k < rows.nr_rows; k++) {
			at = rows.rows[k].address - segment->vaddr + segment->offset;
			check_offset(table, image, &rows, at);
			check_offset(table, image, &rows, at - 1);
		}
	}
	unwind_rows_clear(&rows);
}

static struct unwind_table compile(const struct code_file *code)
{
	cleanup_fd int fd = code_file_make(code);
	struct unwind_table table;
	struct elf_image image;

	CHECK_EQ(elf_image_open(&image, fd, NULL), 0);
	CHECK_EQ(unwind_compile(&table, &image, NULL, NULL), 0);
	check_by_offset(&table, &image);
	elf_image_close(&image);
	return table;
}

TEST(unwind_compile_of_segments_that_lie_elsewhere)
{
	struct code_file code = {.build_id = 1, .nr_segments = 2};
	struct unwind_table table;

	/* The first segment in the file has the higher address. */
	code.segments[0] = (struct elf_segment){0x20000, 0x900000, 0x3000};
	code.segments[1] = (struct elf_segment){0x50000, 0x100000, 0x2000};
	code_file_add_steps(&code, 0x900100, 0x20, 10);
	code_file_add_steps(&code, 0x101000, 0x40, 20);
	table = compile(&code);
	CHECK_EQ(table.start, 0x20000);
	CHECK_EQ(unwind_table_find(&table, 0x200ff), UNWIND_PACKED_NONE);
	CHECK_EQ(unwind_table_find(&table, 0x20100),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 2, 0));
	CHECK_EQ(unwind_table_find(&table, 0x51040),
		 UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 3, 0));
	unwind_table_clear(&table);
}

/* If two segments share bytes of the file, the first one's rules apply, with no gap in between. */
TEST(unwind_compile_of_segments_that_overlap)
{
	struct code_file code = {.build_id = 1, .nr_segments = 4};
	struct unwind_table table;

	code.segments[0] = (struct elf_segment){0x20000, 0x700000, 0x1000};
	code.segments[1] = (struct elf_segment){0x20100, 0x800000, 0x100}; /* inside */
	code.segments[2] = (struct elf_segment){0x20f80, 0x900000, 0x1000};
	code.segments[3] = (struct elf_segment){0x20f80, 0xa00000, 0x1080};
	code_file_add_steps(&code, 0x700000, 0x800, 2);
	code_file_add_steps(&code, 0x800000, 0x80, 2);
	code_file_add_steps(&code, 0x900000, 0x80, 0x20);
	code_file_add_steps(&code, 0xa00f80, 0x40, 4);
	table = compile(&code);
	unwind_table_clear(&table);
}

/* A page has room for one row per byte, so adjacent segments have no row for a gap between them. */
TEST(unwind_compile_of_segments_that_touch)
{
	struct code_file code = {.build_id = 1, .nr_segments = 2};
	struct unwind_table table;

	code.segments[0] = (struct elf_segment){0x20000, 0x20000, 0x34};
	code.segments[1] = (struct elf_segment){0x20034, 0x30034, 0x34};
	code_file_add_steps(&code, 0x20000, 0x1a, 2);
	code_file_add_steps(&code, 0x30034, 0x1a, 2);
	table = compile(&code);
	CHECK_EQ(table.nr_rows, 5); /* two steps each, and the end */
	unwind_table_clear(&table);
}

TEST(unwind_compile_of_random_segments)
{
	uint64_t seed;

	for (seed = 1; seed <= 300; seed++) {
		struct code_file code = {.build_id = 1};
		struct unwind_table table;
		uint64_t state = seed;
		size_t i;

		code.nr_segments = 1 + fixture_random(&state, CODE_FILE_MAX_SEGMENTS);
		for (i = 0; i < code.nr_segments; i++) {
			code.segments[i] = (struct elf_segment){
				0x10000 + fixture_random(&state, 0x8000),
				0x10000 + fixture_random(&state, 0x8000),
				1 + fixture_random(&state, seed % 2 ? 0x4000 : 0x400)};
			code_file_add_steps(&code, 0x20000 * (i + 1), 1, 1);
			code_file_add_steps(&code, 0x10000 + fixture_random(&state, 0x8000),
					    1 + fixture_random(&state, 300),
					    1 + fixture_random(&state, 20));
		}
		table = compile(&code);
		unwind_table_clear(&table);
	}
}

TEST(unwind_compile_without_call_frame_information)
{
	struct code_file code = {.build_id = 1, .nr_segments = 1};
	struct unwind_table table;

	code.segments[0] = (struct elf_segment){0x20000, 0x20000, 0x1000};
	table = compile(&code);
	CHECK_EQ(table.nr_pages, 0);
	unwind_table_clear(&table);
	code.nr_segments = 0; /* rules, but no code */
	code_file_add_steps(&code, 0x20000, 0x20, 10);
	table = compile(&code);
	CHECK_EQ(table.nr_pages, 0);
	unwind_table_clear(&table);
}

TEST(unwind_compile_of_what_is_no_elf_file)
{
	struct unwind_table table;

	CHECK_EQ(unwind_compile_memory(&table, "\177ELF", 4, NULL), -ENOEXEC);
}

TEST(unwind_compile_without_memory)
{
	cleanup_fd int fd = code_file_of_pages(1, 2);
	struct unwind_table table;
	struct elf_image image;
	size_t nth;
	int err = -1;

	CHECK_EQ(elf_image_open(&image, fd, NULL), 0);
	for (nth = 1; err; nth++) {
		(void)test_fail_allocation(nth);
		err = unwind_compile(&table, &image, NULL, NULL);
		(void)test_fail_allocation(0);
		CHECK(!err || err == -ENOMEM);
	}
	CHECK(nth > 3);
	CHECK_EQ(table.nr_pages, 2);
	unwind_table_clear(&table);
	elf_image_close(&image);
}

/* --- the vdso -------------------------------------------------------------------------------- */

TEST(unwind_compile_of_the_vdso)
{
	struct unwind_table table;
	struct elf_image image;
	size_t bytes = 0;
	const void *vdso = vdso_find(&bytes);

	if (!vdso)
		SKIP("this process has no vdso");
	vdso = test_guarded(vdso, bytes);
	CHECK_EQ(unwind_compile_memory(&table, vdso, bytes, NULL), 0);
	CHECK(table.nr_pages >= 1 && table.nr_words > UNWIND_PAGE_BUCKETS);
	CHECK_EQ(elf_image_open_memory(&image, vdso, bytes, NULL), 0);
	CHECK(image.nr_segments >= 1);
	check_by_offset(&table, &image);
	elf_image_close(&image);
	unwind_table_clear(&table);
}
