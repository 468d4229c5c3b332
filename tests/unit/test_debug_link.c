/* elf/image/debug_link: valid and damaged sections; the CRC against its published check value. */
#include "elf/image/debug_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "unit/made_elf.h"
#include "unit/test.h"
#include "unit/tiny_elf.h"

/* Returns the result of debug_link_read() for a file whose .gnu_debuglink has these bytes. */
static int read_bytes(const void *section, size_t nr, struct debug_link *ret)
{
	const struct made_section sections[] = {
		{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "\xc3", 1, 0, 0},
		{".gnu_debuglink", SHT_PROGBITS, 0, 0, section, nr, 0, 0},
	};
	uint8_t bytes[MADE_ROOM];
	size_t nr_bytes = made_elf_build(bytes, EM_X86_64, sections, ARRAY_SIZE(sections));
	struct elf_image image;
	int err;

	CHECK_EQ(elf_image_open_memory(&image, test_guarded(bytes, nr_bytes), nr_bytes, NULL), 0);
	err = debug_link_read(&image, ret);
	elf_image_close(&image);
	return err;
}

TEST(debug_link_is_read)
{
	struct debug_link link;

	CHECK_EQ(read_bytes("abc.debug\0\0\0\x78\x56\x34\x12", 16, &link), 0);
	CHECK_STR(link.name, "abc.debug");
	CHECK_EQ(link.crc, 0x12345678);
	CHECK_EQ(read_bytes("abc\0\x78\x56\x34\x12", 8, &link), 0);
	CHECK_STR(link.name, "abc");
	CHECK_EQ(link.crc, 0x12345678);
}

TEST(debug_link_without_sense)
{
	char longest[DEBUG_LINK_NAME_BYTES + 8];
	struct debug_link link;

	CHECK_EQ(read_bytes("\0\0\0\0\x78\x56\x34\x12", 8, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("a/c\0\x78\x56\x34\x12", 8, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("..\0\0\x78\x56\x34\x12", 8, &link), -ENOEXEC);
	CHECK_EQ(read_bytes(".\0\0\0\x78\x56\x34\x12", 8, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("abcdefgh", 8, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("abc\0\x78\x56\x34", 7, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("ab\0", 3, &link), -ENOEXEC);
	CHECK_EQ(read_bytes("", 0, &link), -ENOEXEC);
	memset(longest, 'a', sizeof(longest));
	longest[DEBUG_LINK_NAME_BYTES - 1] = '\0';
	CHECK_EQ(read_bytes(longest, DEBUG_LINK_NAME_BYTES + 4, &link), 0);
	CHECK_EQ(strlen(link.name), DEBUG_LINK_NAME_BYTES - 1);
	CHECK_EQ(read_bytes(longest, DEBUG_LINK_NAME_BYTES + 8, &link), -ENOEXEC);
}

TEST(debug_link_of_a_file_without_one)
{
	uint8_t bytes[TINY_ROOM];
	size_t nr = tiny_elf_build(bytes, NULL, 0);
	struct debug_link link;
	struct elf_image image;

	CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
	CHECK_EQ(debug_link_read(&image, &link), -ENOENT);
	elf_image_close(&image);
}

TEST(debug_link_truncated_and_damaged)
{
	const struct made_section section = {
		".gnu_debuglink", SHT_PROGBITS, 0, 0, "abc.debug\0\0\0\x78\x56\x34\x12", 16, 0, 0};
	uint8_t sound[MADE_ROOM], *guarded;
	size_t nr = made_elf_build(sound, EM_X86_64, &section, 1), shorter, round;
	struct debug_link link;
	struct elf_image image;
	uint64_t state = 5;

	for (shorter = 0; shorter < nr; shorter++) {
		if (elf_image_open_memory(&image, test_guarded(sound, shorter), shorter, NULL) < 0)
			continue;
		CHECK(debug_link_read(&image, &link) < 0);
		elf_image_close(&image);
	}
	guarded = test_guarded(sound, nr);
	for (round = 0; round < 5000; round++) {
		memcpy(guarded, sound, nr);
		tiny_damage(guarded, nr, &state);
		if (elf_image_open_memory(&image, guarded, nr, NULL) < 0)
			continue;
		if (debug_link_read(&image, &link) == 0)
			CHECK(strlen(link.name) > 0 && !strchr(link.name, '/'));
		elf_image_close(&image);
	}
}

TEST(debug_link_out_of_memory)
{
	struct debug_link link;
	int err = -ENOMEM;
	size_t nth;

	for (nth = 1; err; nth++) {
		const struct made_section section = {
			".gnu_debuglink", SHT_PROGBITS, 0, 0, "abc\0\x78\x56\x34\x12", 8, 0, 0};
		uint8_t bytes[MADE_ROOM];
		size_t nr = made_elf_build(bytes, EM_X86_64, &section, 1);
		struct elf_image image;

		CHECK_EQ(elf_image_open_memory(&image, bytes, nr, NULL), 0);
		test_fail_allocation(nth);
		err = debug_link_read(&image, &link);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		elf_image_close(&image);
	}
	CHECK(nth > 2);
}

TEST(debug_link_crc_of_files)
{
	cleanup_file FILE *file = tmpfile();
	char much[100000];
	uint32_t crc, again;
	int ends[2];

	CHECK(file);
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &crc), 0);
	CHECK_EQ(crc, 0);
	CHECK_EQ(pwrite(fileno(file), "123456789", 9, 0), 9);
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &crc), 0);
	CHECK_EQ(crc, 0xcbf43926);
	/* Many blocks, the last one short: a difference in it is noticed. */
	memset(much, 'x', sizeof(much));
	CHECK_EQ(pwrite(fileno(file), much, sizeof(much), 0), sizeof(much));
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &crc), 0);
	CHECK_EQ(pwrite(fileno(file), "y", 1, sizeof(much) - 1), 1);
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &again), 0);
	CHECK(crc != again);
	CHECK_EQ(ftruncate(fileno(file), 1LL << 40), 0);
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &crc), -EFBIG);
	CHECK_EQ(ftruncate(fileno(file), 1LL << 30), 0);
	CHECK_EQ(debug_link_crc(fileno(file), NULL, NULL, &crc), -ENXIO);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(debug_link_crc(ends[0], NULL, NULL, &crc), -EINVAL);
	CHECK_EQ(debug_link_crc(-1, NULL, NULL, &crc), -EBADF);
}

/* The read budget shows how often the file was read. */
TEST(debug_link_crc_is_remembered_until_the_file_changes)
{
	cleanup_file FILE *file = tmpfile();
	struct debug_link_crcs known = {0};
	FILE *others[DEBUG_LINK_CRCS_MAX];
	struct read_budget budget;
	char much[1000];
	uint32_t crc;
	size_t i;

	CHECK(file);
	memset(much, 'x', sizeof(much));
	CHECK_EQ(pwrite(fileno(file), much, sizeof(much), 0), sizeof(much));
	read_budget_init(&budget, 1000 * NS_PER_SEC, 4500, -1);
	read_budget_begin(&budget);
	for (i = 0; i < 10; i++)
		CHECK_EQ(debug_link_crc(fileno(file), &known, &budget, &crc), 0);
	CHECK_EQ(budget.left_bytes, 3500);
	CHECK_EQ(ftruncate(fileno(file), 900), 0);
	CHECK_EQ(debug_link_crc(fileno(file), &known, &budget, &crc), 0);
	CHECK_EQ(budget.left_bytes, 2600);
	/* The checksums of other files evict it from the cache. */
	for (i = 0; i < DEBUG_LINK_CRCS_MAX; i++) {
		others[i] = tmpfile();
		CHECK(others[i]);
		CHECK_EQ(debug_link_crc(fileno(others[i]), &known, &budget, &crc), 0);
	}
	CHECK_EQ(debug_link_crc(fileno(file), &known, &budget, &crc), -EDQUOT);
	for (i = 0; i < DEBUG_LINK_CRCS_MAX; i++)
		(void)fclose(others[i]);
}

TEST(debug_file_ids)
{
	uint8_t build_id[BUILD_ID_MAX_BYTES + 1];
	char id[DEBUG_FILE_ID_BYTES];

	memset(build_id, 0xe0, sizeof(build_id));
	debug_file_id(build_id, 0, id);
	CHECK_STR(id, "");
	debug_file_id(build_id, 1, id);
	CHECK_STR(id, "");
	debug_file_id(build_id, 3, id);
	CHECK_STR(id, "e0/e0e0");
	debug_file_id(build_id, BUILD_ID_MAX_BYTES, id);
	CHECK_EQ(strlen(id), 2 * BUILD_ID_MAX_BYTES + 1);
	debug_file_id(build_id, BUILD_ID_MAX_BYTES + 1, id);
	CHECK_STR(id, "");
}
