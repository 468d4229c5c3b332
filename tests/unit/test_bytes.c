/* base/bytes: reading inside the bounds succeeds, reading past them fails for good. */
#include "unit/test.h"

#include "base/array.h"
#include "base/bytes.h"

TEST(bytes_numbers_are_little_endian)
{
	static const uint8_t some[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
	struct bytes bytes = bytes_of(some, sizeof(some));

	CHECK_EQ(bytes_u16(&bytes), 0x0201);
	CHECK_EQ(bytes_u32(&bytes), 0x06050403);
	CHECK_EQ(bytes_u64(&bytes), 0x0e0d0c0b0a090807);
	CHECK_EQ(bytes_u8(&bytes), 0xff);
	CHECK_EQ(bytes.nr, 0);
	CHECK(!bytes.failed);
}

TEST(bytes_leb128)
{
	static const struct {
		uint8_t bytes[12];
		size_t nr;
		uint64_t as_unsigned;
		int64_t as_signed;
	} cases[] = {
		{{0x02}, 1, 2, 2},
		{{0x7f}, 1, 127, -1},
		{{0x80, 0x01}, 2, 128, 128},
		{{0xff, 0x7e}, 2, 16255, -129},
		{{0x80, 0x7f}, 2, 16256, -128},
		{{0x82, 0x80, 0x80, 0x00}, 4, 2, 2}, /* padded */
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 10, UINT64_MAX, -1},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
		 10,
		 1ULL << 63,
		 INT64_MIN},
		{{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
		 12,
		 1,
		 1},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes bytes = bytes_of(cases[i].bytes, cases[i].nr), again = bytes;

		CHECK_EQ(bytes_uleb(&bytes), cases[i].as_unsigned);
		CHECK_EQ(bytes_sleb(&again), cases[i].as_signed);
		CHECK(!bytes.failed && !again.failed && !bytes.nr && !again.nr);
		again = bytes_of(test_guarded(cases[i].bytes, cases[i].nr - 1), cases[i].nr - 1);
		CHECK_EQ(bytes_uleb(&again), 0);
		CHECK(again.failed);
	}
}

TEST(bytes_strings_and_parts)
{
	const uint8_t *some = test_guarded("one\0two", 7);
	struct bytes bytes = bytes_of(some, 7), part;

	CHECK_STR(bytes_string(&bytes), "one");
	part = bytes_cut(&bytes, 2);
	CHECK_EQ(part.nr, 2);
	CHECK_EQ(bytes_u16(&part), 't' | 'w' << 8);
	CHECK(!part.failed);
	CHECK_EQ(bytes_u8(&part), 0);
	CHECK(part.failed && !bytes.failed);
	CHECK(!bytes_string(&bytes)); /* no NUL before the end */
	CHECK(bytes.failed);
	CHECK(!bytes_string(&bytes));
}

TEST(bytes_failure_stays)
{
	const uint8_t *some = test_guarded("abc", 3);
	struct bytes bytes = bytes_of(some, 3);

	CHECK_EQ(bytes_u32(&bytes), 0);
	CHECK(bytes.failed);
	CHECK_EQ(bytes.nr, 0);
	CHECK_EQ(bytes_u8(&bytes), 0);
	CHECK(!bytes_skip(&bytes, 0));
	CHECK(bytes_cut(&bytes, 0).failed);
	bytes = bytes_of(some, 3);
	CHECK(!bytes_skip(&bytes, UINT64_MAX));
	bytes = bytes_of(some, 3);
	CHECK(bytes_skip(&bytes, 3) == some);
	CHECK(!bytes.failed);
	CHECK(bytes_cut(&bytes, UINT64_MAX).failed);
}
