/* elf/dwarf/debug_entries: steps over handmade entries. */
#include "unit/test.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/dwarf/debug_entries.h"

static const struct debug_unit_sizes sizes = {.version = 4, .address_bytes = 8, .offset_bytes = 4};

/* clang-format off */
static const uint8_t abbreviations[] = {
	1, DW_TAG_compile_unit, 1,
		DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, 0, 0,
	2, DW_TAG_subprogram, 1,
		DW_AT_sibling, DW_FORM_ref4, DW_AT_name, DW_FORM_strp, DW_AT_ranges,
		DW_FORM_sec_offset, DW_AT_decl_line, DW_FORM_udata, 0, 0,
	3, DW_TAG_variable, 0,
		DW_AT_location, DW_FORM_exprloc, DW_AT_type, DW_FORM_indirect, DW_AT_external,
		DW_FORM_flag_present, 0, 0,
	4, DW_TAG_variable, 0,
		DW_AT_const_value, DW_FORM_block1, DW_AT_const_value, DW_FORM_block2,
		DW_AT_const_value, DW_FORM_block4, DW_AT_type, DW_FORM_data16, 0, 0,
	5, DW_TAG_variable, 0,
		DW_AT_const_value, 0x7f, 0, 0, /* no such form */
	0,
};

static const uint8_t entries_bytes[] = {
	1, 'a', 0, 1, 2, 3, 4, 5, 6, 7, 8,
		2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 1,
			3, 2, 'x', 'x', DW_FORM_data2, 1, 2,
			0,
		4, 1, 'x', 1, 0, 'x', 2, 0, 0, 0, 'x', 'x',
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1,
			0,
		0,
	5, 0, /* past the unit's end */
};
/* clang-format on */

static const struct {
	uint16_t tag;
	unsigned depth;
} wanted[] = {
	{DW_TAG_compile_unit, 0}, {DW_TAG_subprogram, 1}, {DW_TAG_variable, 2},
	{DW_TAG_variable, 1},	  {DW_TAG_subprogram, 1},
};

/* Returns the number of entries in the first nr bytes. */
static size_t walk(const struct debug_abbreviations *all, size_t nr)
{
	struct debug_entries entries = {
		.abbreviations = all,
		.bytes = bytes_of(test_guarded(entries_bytes, nr), nr),
		.sizes = sizes,
	};
	size_t i;

	for (i = 0; debug_entries_next(&entries); i++) {
		CHECK(i < ARRAY_SIZE(wanted));
		CHECK_EQ(entries.abbreviation->tag, wanted[i].tag);
		CHECK_EQ(entries.at_depth, wanted[i].depth);
	}
	return i;
}

TEST(debug_entries_are_stepped_over)
{
	struct debug_abbreviations all = {0};
	size_t nr, found, last = 0;

	CHECK_EQ(debug_abbreviations_load(&all, bytes_of(abbreviations, sizeof(abbreviations)),
					  &sizes),
		 0);
	CHECK(all.by_code[1].has_code && all.by_code[2].has_code && !all.by_code[3].has_code);
	CHECK(all.by_code[2].has_sibling && !all.by_code[1].has_sibling);
	CHECK_EQ(all.by_code[2].nr_skips, 2); /* twelve bytes, then a number */
	CHECK_EQ(walk(&all, sizeof(entries_bytes)), ARRAY_SIZE(wanted));
	for (nr = 0; nr < sizeof(entries_bytes); nr++) {
		found = walk(&all, nr);
		CHECK(found >= last);
		last = found;
	}
	debug_abbreviations_clear(&all);
}

TEST(debug_entries_of_unknown_kinds_end_it)
{
	static const uint8_t of_no_form[] = {5, 1, 2, 3}, of_no_code[] = {6, 1, 2},
			     indirect[] = {3, 0, DW_FORM_indirect, DW_FORM_indirect, 1};
	struct debug_abbreviations all = {0};
	struct debug_entries entries = {.abbreviations = &all, .sizes = sizes};

	CHECK_EQ(debug_abbreviations_load(&all, bytes_of(abbreviations, sizeof(abbreviations)),
					  &sizes),
		 0);
	entries.bytes = bytes_of(of_no_form, sizeof(of_no_form));
	CHECK(!debug_entries_next(&entries));
	entries.bytes = bytes_of(of_no_code, sizeof(of_no_code));
	CHECK(!debug_entries_next(&entries));
	entries.bytes = bytes_of(indirect, sizeof(indirect));
	CHECK(!debug_entries_next(&entries));
	debug_abbreviations_clear(&all);
}

TEST(debug_abbreviations_truncated)
{
	size_t nr;

	for (nr = 0; nr < sizeof(abbreviations); nr++) {
		struct debug_abbreviations all = {0};

		CHECK_EQ(debug_abbreviations_load(
				 &all, bytes_of(test_guarded(abbreviations, nr), nr), &sizes),
			 -ENOEXEC);
		debug_abbreviations_clear(&all);
	}
}

TEST(debug_abbreviations_refused)
{
	static const uint8_t huge_code[] = {0xff, 0xff, 0xff, 0x7f, DW_TAG_variable, 0, 0, 0, 0};
	struct debug_abbreviations all = {0};

	CHECK_EQ(debug_abbreviations_load(&all, bytes_of(huge_code, sizeof(huge_code)), &sizes),
		 -ENOEXEC);
	debug_abbreviations_clear(&all);
}

TEST(debug_abbreviations_out_of_memory)
{
	struct debug_abbreviations all = {0};
	int err = -ENOMEM;
	size_t nth;

	for (nth = 1; err < 0; nth++) {
		debug_abbreviations_clear(&all);
		(void)test_fail_allocation(nth);
		err = debug_abbreviations_load(&all, bytes_of(abbreviations, sizeof(abbreviations)),
					       &sizes);
		(void)test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
	}
	CHECK(nth > 2);
	CHECK_EQ(walk(&all, sizeof(entries_bytes)), ARRAY_SIZE(wanted));
	debug_abbreviations_clear(&all);
}
