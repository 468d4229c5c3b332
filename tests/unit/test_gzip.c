/* format/gzip: round trips, several members, stored blocks; damage, bombs, out of memory. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/gzip.h"

#define LIMIT (1U << 20)

struct packed {
	char *bytes;
	size_t nr;
};

/* The caller frees the bytes. */
static struct packed pack(const void *bytes, size_t nr)
{
	struct packed packed;
	FILE *out = open_memstream(&packed.bytes, &packed.nr);
	struct gzip_writer *writer = gzip_writer_new(out);

	CHECK(writer != NULL);
	CHECK_EQ(gzip_write(writer, bytes, nr / 2), 0);
	CHECK_EQ(gzip_write(writer, (const char *)bytes + nr / 2, nr - nr / 2), 0);
	CHECK_EQ(gzip_finish(writer), 0);
	gzip_writer_free(writer);
	(void)fclose(out);
	return packed;
}

static int unpack(const void *bytes, size_t nr, size_t max, uint8_t **ret, size_t *ret_nr)
{
	FILE *in = fmemopen((void *)bytes, nr, "r");
	int result = gzip_read(in, max, ret, ret_nr);

	(void)fclose(in);
	return result;
}

static void check_unpacks(const void *bytes, size_t nr, const void *wanted, size_t nr_wanted)
{
	uint8_t *got;
	size_t nr_got;

	CHECK_EQ(unpack(bytes, nr, LIMIT, &got, &nr_got), 0);
	CHECK_EQ(nr_got, nr_wanted);
	CHECK(!memcmp(got, wanted, nr_wanted));
	free(got);
}

/* Returns bytes that compress moderately. */
static uint8_t *some_bytes(size_t nr)
{
	uint8_t *bytes = malloc(nr);
	uint32_t state = 1;
	size_t i;

	for (i = 0; i < nr; i++) {
		state = state * 1103515245 + 12345;
		bytes[i] = (uint8_t)(state >> 24) & 15;
	}
	return bytes;
}

TEST(gzip_round_trips)
{
	static const size_t sizes[] = {0, 1, 2, 3, 65535, 65536, 65537, 1000000, LIMIT};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *bytes = some_bytes(sizes[i] + 1);
		struct packed packed = pack(bytes, sizes[i]);

		check_unpacks(packed.bytes, packed.nr, bytes, sizes[i]);
		free(packed.bytes);
		free(bytes);
	}
}

TEST(gzip_header_says_no_time_and_no_name)
{
	struct packed packed = pack("abc", 3);

	CHECK(!memcmp(packed.bytes, "\x1f\x8b\x08\0\0\0\0\0\0", 9));
	free(packed.bytes);
}

TEST(gzip_members_are_one_stream)
{
	struct packed one = pack("abc", 3), other = pack("defg", 4);
	char both[256];

	memcpy(both, one.bytes, one.nr);
	memcpy(both + one.nr, other.bytes, other.nr);
	check_unpacks(both, one.nr + other.nr, "abcdefg", 7);
	free(one.bytes);
	free(other.bytes);
}

TEST(gzip_what_is_not_compressed_stays)
{
	uint8_t *bytes = some_bytes(200000);
	uint8_t *got;
	size_t nr;

	check_unpacks(bytes, 200000, bytes, 200000);
	check_unpacks("\x1f", 1, "\x1f", 1);
	check_unpacks("\x1f\x8a", 2, "\x1f\x8a", 2);
	CHECK_EQ(unpack(bytes, 1001, 1000, &got, &nr), -EFBIG);
	CHECK_EQ(unpack(bytes, 1000, 1000, &got, &nr), 0);
	free(got);
	free(bytes);
}

TEST(gzip_damage)
{
	uint8_t *bytes = some_bytes(1000), *got;
	struct packed packed = pack(bytes, 1000);
	size_t nr, i;

	for (i = 2; i < packed.nr; i++)
		CHECK_EQ(unpack(packed.bytes, i, LIMIT, &got, &nr), -EBADMSG);
	packed.bytes[packed.nr - 6] ^= 1; /* damages the checksum */
	CHECK_EQ(unpack(packed.bytes, packed.nr, LIMIT, &got, &nr), -EBADMSG);
	packed.bytes[packed.nr - 6] ^= 1;
	packed.bytes = realloc(packed.bytes, packed.nr + 1);
	packed.bytes[packed.nr] = 'x'; /* trailing garbage */
	CHECK_EQ(unpack(packed.bytes, packed.nr + 1, LIMIT, &got, &nr), -EBADMSG);
	free(packed.bytes);
	free(bytes);
}

/* 64 MiB of zeros in about 64 KiB: no more is inflated than allowed. */
TEST(gzip_bomb)
{
	uint8_t *zeros = calloc(64, 1 << 20), *got;
	struct packed packed = pack(zeros, 64 << 20);
	size_t nr;

	CHECK(packed.nr < 100000);
	CHECK_EQ(unpack(packed.bytes, packed.nr, LIMIT, &got, &nr), -EFBIG);
	CHECK_EQ(unpack(packed.bytes, packed.nr, (64 << 20) - 1, &got, &nr), -EFBIG);
	CHECK_EQ(unpack(packed.bytes, packed.nr, 64 << 20, &got, &nr), 0);
	CHECK_EQ(nr, 64 << 20);
	free(got);
	free(packed.bytes);
	free(zeros);
}

/* Whole members of zeros repeated, which is fast to generate. */
TEST(gzip_refuses_what_inflates_too_well)
{
	size_t nr_zeros = 16 << 20, nr;
	uint8_t *zeros = calloc(1, nr_zeros), *got, *many;
	struct packed packed = pack(zeros, nr_zeros);
	int i;

	many = malloc(8 * packed.nr);
	for (i = 0; i < 8; i++)
		memcpy(many + i * packed.nr, packed.bytes, packed.nr);
	CHECK_EQ(unpack(many, 8 * packed.nr, 1 << 30, &got, &nr), -E2BIG);
	CHECK_EQ(unpack(many, 4 * packed.nr, 1 << 30, &got, &nr), 0);
	CHECK_EQ(nr, GZIP_BOMB_BYTES);
	free(got);
	free(many);
	free(packed.bytes);
	free(zeros);
}

TEST(gzip_tells_of_the_streams_errors)
{
	FILE *full = fopen("/dev/full", "w"), *folder = fopen("/", "r");
	uint8_t *bytes = some_bytes(1 << 20), *got;
	struct gzip_writer *writer;
	size_t nr;

	if (!full || !folder)
		SKIP("needs /dev/full");
	writer = gzip_writer_new(full);
	CHECK_EQ(gzip_write(writer, bytes, 1 << 20), -ENOSPC);
	CHECK_EQ(gzip_read(folder, LIMIT, &got, &nr), -EISDIR);
	gzip_writer_free(writer);
	(void)fclose(full);
	(void)fclose(folder);
	free(bytes);
}

TEST(gzip_without_memory)
{
	uint8_t *bytes = some_bytes(10000), *got = NULL;
	struct packed packed = pack(bytes, 10000);
	struct gzip_writer *writer;
	size_t nth = 1, nr;
	int result;

	do {
		(void)test_fail_allocation(nth++);
		writer = gzip_writer_new(stdout);
		(void)test_fail_allocation(0);
	} while (!writer);
	CHECK(nth > 3);
	gzip_writer_free(writer);
	nth = 1;
	do {
		FILE *in = fmemopen(packed.bytes, packed.nr, "r");

		(void)test_fail_allocation(nth++);
		result = gzip_read(in, LIMIT, &got, &nr);
		(void)test_fail_allocation(0);
		(void)fclose(in);
		CHECK(result == 0 || result == -ENOMEM);
	} while (result < 0);
	CHECK(nth > 5);
	free(got);
	free(packed.bytes);
	free(bytes);
}
