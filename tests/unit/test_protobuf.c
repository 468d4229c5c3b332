/* base/protobuf: round trips; malformed messages are refused at every truncation. */
#include "unit/test.h"

#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"

static void check_bytes(const struct protobuf_writer *writer, const void *wanted, size_t nr)
{
	CHECK(!writer->failed);
	CHECK_EQ(writer->nr, nr);
	CHECK(!memcmp(writer->bytes, wanted, nr));
}

/* The examples of the format's specification. */
TEST(protobuf_known_bytes)
{
	struct protobuf_writer writer = {0}, inner = {0};
	static const uint64_t packed[] = {3, 270, 86942};

	protobuf_number(&writer, 1, 150);
	check_bytes(&writer, "\x08\x96\x01", 3);
	protobuf_reset(&writer);
	protobuf_text(&writer, 2, "testing");
	check_bytes(&writer, "\x12\x07testing", 9);
	protobuf_reset(&writer);
	protobuf_number(&inner, 1, 150);
	protobuf_message(&writer, 3, &inner);
	check_bytes(&writer, "\x1a\x03\x08\x96\x01", 5);
	protobuf_reset(&writer);
	protobuf_packed(&writer, 6, packed, ARRAY_SIZE(packed));
	check_bytes(&writer, "\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
	protobuf_clear(&inner);
	protobuf_clear(&writer);
}

TEST(protobuf_defaults_are_not_written)
{
	struct protobuf_writer writer = {0}, empty = {0};

	protobuf_number(&writer, 1, 0);
	protobuf_bytes(&writer, 2, "", 0);
	protobuf_packed(&writer, 3, NULL, 0);
	CHECK_EQ(writer.nr, 0);
	protobuf_text(&writer, 6, "");
	protobuf_message(&writer, 4, &empty);
	check_bytes(&writer, "\x32\x00\x22\x00", 4);
	protobuf_clear(&writer);
}

TEST(protobuf_reads_what_was_written)
{
	static const uint64_t values[] = {0, 1, 127, 128, UINT64_MAX, 1ULL << 63};
	struct protobuf_writer writer = {0};
	struct protobuf_field field;
	struct bytes message;
	uint64_t number;
	size_t i;

	protobuf_number(&writer, (1U << 29) - 1, UINT64_MAX);
	protobuf_packed(&writer, 2, values, ARRAY_SIZE(values));
	protobuf_bytes(&writer, 3, "abc", 3);
	message = bytes_of(test_guarded(writer.bytes, writer.nr), writer.nr);
	CHECK(protobuf_next(&message, &field));
	CHECK_EQ(field.number, (1U << 29) - 1);
	CHECK_EQ(field.type, PROTOBUF_VARINT);
	CHECK(field.value == UINT64_MAX);
	CHECK(protobuf_next_number(&field, &number)); /* not packed */
	CHECK(number == UINT64_MAX);
	CHECK(!protobuf_next_number(&field, &number));
	CHECK(protobuf_next(&message, &field));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		CHECK(protobuf_next_number(&field, &number));
		CHECK(number == values[i]);
	}
	CHECK(!protobuf_next_number(&field, &number));
	CHECK(!field.bytes.failed);
	CHECK(protobuf_next(&message, &field));
	CHECK_EQ(field.bytes.nr, 3);
	CHECK(!protobuf_next(&message, &field));
	CHECK(!message.failed);
	protobuf_clear(&writer);
}

TEST(protobuf_fixed_numbers)
{
	static const uint8_t some[] = {1 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 2 << 3 | 5, 1, 2, 3, 4};
	struct bytes message = bytes_of(some, sizeof(some));
	struct protobuf_field field;
	uint64_t number;

	CHECK(protobuf_next(&message, &field));
	CHECK_EQ(field.value, 0x0807060504030201);
	CHECK(!protobuf_next_number(&field, &number));
	CHECK(field.bytes.failed);
	CHECK(protobuf_next(&message, &field));
	CHECK_EQ(field.value, 0x04030201);
	CHECK(!protobuf_next(&message, &field));
	CHECK(!message.failed);
}

TEST(protobuf_refuses)
{
	static const struct {
		const char *bytes;
		size_t nr;
	} cases[] = {
		{"\x0b\x0c", 2},					  /* a group */
		{"\x0c", 1},						  /* its end */
		{"\x0e\x01", 2},					  /* types 6 … */
		{"\x0f\x01", 2},					  /* … and 7 */
		{"\x00\x01", 2},					  /* field 0 */
		{"\x80\x80\x80\x80\x80\x01\x01", 7},			  /* number too high */
		{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12}, /* eleven bytes */
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},	  /* wrong length */
		{"\x0a\x02\x01", 3},
		{"\x09\x01", 2},
		{"\x0d\x01", 2},
		{"\x08", 1},
		{"\x88", 1},
	};
	struct protobuf_field field;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes message =
			bytes_of(test_guarded(cases[i].bytes, cases[i].nr), cases[i].nr);

		CHECK(!protobuf_next(&message, &field));
		CHECK(message.failed);
		CHECK(!protobuf_next(&message, &field));
	}
}

TEST(protobuf_packed_numbers_that_break_off)
{
	struct bytes message = bytes_of(test_guarded("\x0a\x02\x01\x80", 4), 4);
	struct protobuf_field field;
	uint64_t number;

	CHECK(protobuf_next(&message, &field));
	CHECK(protobuf_next_number(&field, &number));
	CHECK(!protobuf_next_number(&field, &number));
	CHECK(field.bytes.failed);
}

TEST(protobuf_without_memory)
{
	struct protobuf_writer writer = {0}, outer = {0};
	static const uint64_t packed[] = {1, 2};

	(void)test_fail_allocation(1);
	protobuf_number(&writer, 1, 1);
	(void)test_fail_allocation(0);
	CHECK(writer.failed);
	protobuf_text(&writer, 1, "text");
	protobuf_packed(&writer, 1, packed, 2);
	CHECK_EQ(writer.nr, 0);
	protobuf_message(&outer, 1, &writer); /* the inner message failed */
	CHECK(outer.failed);
	protobuf_clear(&writer);
	protobuf_clear(&outer);
	CHECK(!writer.failed);
}
