/* proc/maps: lines of /proc/PID/maps, and our own process' as the kernel prints them. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/maps.h"

static bool parse(const char *text, struct maps_entry *entry)
{
	static char line[512];

	(void)snprintf(line, sizeof(line), "%s", text);
	return maps_parse_line(line, entry);
}

TEST(maps_line_of_a_file)
{
	struct maps_entry entry;

	CHECK(parse("7f5a1c000000-7f5a1c022000 r-xp 00026000 103:0a 123456789      "
		    "            /usr/lib/libc.so.6",
		    &entry));
	CHECK_EQ(entry.start, 0x7f5a1c000000);
	CHECK_EQ(entry.end, 0x7f5a1c022000);
	CHECK_EQ(entry.offset, 0x26000);
	CHECK(entry.executable);
	CHECK_EQ(entry.id.major, 0x103);
	CHECK_EQ(entry.id.minor, 0xa);
	CHECK_EQ(entry.id.inode, 123456789);
	CHECK_EQ(entry.id.generation, 0);
	CHECK_STR(entry.path, "/usr/lib/libc.so.6");
}

TEST(maps_lines_of_other_memory)
{
	struct maps_entry entry;

	CHECK(parse("00400000-00401000 rw-p 00000000 00:00 0 ", &entry));
	CHECK(!entry.executable);
	CHECK_EQ(entry.id.inode, 0);
	CHECK_STR(entry.path, "");
	CHECK(parse("00400000-00401000 rwxp 00000000 00:00 0", &entry));
	CHECK(entry.executable);
	CHECK_STR(entry.path, "");
	CHECK(parse("7ffd1000-7ffd2000 r-xp 00000000 00:00 0     [vdso]", &entry));
	CHECK_STR(entry.path, "[vdso]");
	CHECK(parse(
		"1000-2000 --xs fffffffffffff000 00:01 18446744073709551615 /dev/zero (deleted)",
		&entry));
	CHECK_EQ(entry.offset, 0xfffffffffffff000);
	CHECK_EQ(entry.id.inode, UINT64_MAX);
	CHECK_STR(entry.path, "/dev/zero (deleted)");
	CHECK(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]",
		    &entry));
	CHECK_EQ(entry.start, 0xffffffffff600000);
}

TEST(maps_refuses_what_is_no_line)
{
	static const char *const wrong[] = {
		"",
		"hello",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"1000-2000 r-xp",
		"1000-2000 r-xp0 00:00 0",
		"1000-2000 r-xp 0 00 00 0",
		"1000-2000 r-xp 0 00:00",
		"1000-2000 r-xp 0 00:00 ",
		"1000-2000 r-xp 0 00:00 12x",
		"2000-1000 r-xp 0 00:00 0",
		"1000-1000 r-xp 0 00:00 0",
		"10000000000000000-20000000000000000 r-xp 0 00:00 0",
		"1000 2000 r-xp 0 00:00 0",
	};
	struct maps_entry entry;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (parse(wrong[i], &entry)) {
			fprintf(stderr, "  accepted: '%s'\n", wrong[i]);
			CHECK(false);
		}
}

/* Every truncation against a guard page: sound, or refused, and never read past. */
TEST(maps_truncated_lines)
{
	static const char line[] =
		"7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 1234   /usr/lib/x";
	size_t nr;

	for (nr = 0; nr < sizeof(line); nr++) {
		char cut[sizeof(line)] = "";
		struct maps_entry entry;
		char *guarded;
		bool has_inode = nr > strlen("7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 ");

		memcpy(cut, line, nr);
		guarded = test_guarded(cut, nr + 1);
		CHECK_EQ(maps_parse_line(guarded, &entry), has_inode);
		CHECK(!has_inode || strlen(entry.path) < sizeof(line));
	}
}

/* Characters replaced at random: whatever is accepted lies within the line. */
TEST(maps_damaged_lines)
{
	static const char line[] =
		"7f5a1c000000-7f5a1c022000 r-xp 00026000 08:01 1234   /usr/lib/x";
	static const char instead[] = "-: 0fxX/\n\t+z";
	char *guarded = test_guarded(line, sizeof(line));
	uint32_t state = 1;
	int round;

	for (round = 0; round < 20000; round++) {
		struct maps_entry entry;
		int k;

		memcpy(guarded, line, sizeof(line));
		for (k = 0; k < 1 + round % 3; k++) {
			state = state * 1664525 + 1013904223;
			guarded[(state >> 8) % (sizeof(line) - 1)] =
				instead[(state >> 24) % sizeof(instead)];
		}
		if (!maps_parse_line(guarded, &entry))
			continue;
		CHECK(entry.start < entry.end);
		CHECK(entry.path >= guarded && entry.path < guarded + sizeof(line));
	}
}

/* Of the link's end: tools that this runs under don't all show us the file itself. */
static void stat_ourselves(struct stat *st)
{
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	CHECK_EQ(stat(path, st), 0);
}

/* Where this function lies, and the vdso, are known from elsewhere. */
TEST(maps_of_our_own_process)
{
	uint64_t here = (uint64_t)(uintptr_t)&maps_parse_line;
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	uint64_t last_end = 0;
	bool found = false, found_vdso = false;
	struct maps_entry entry;
	struct maps maps;
	struct stat st;

	stat_ourselves(&st);
	CHECK_EQ(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &entry)) {
		CHECK(entry.start >= last_end);
		last_end = entry.end;
		if (entry.start == vdso) {
			CHECK_STR(entry.path, "[vdso]");
			CHECK(entry.executable);
			found_vdso = true;
		}
		if (here < entry.start || here >= entry.end)
			continue;
		CHECK(entry.executable);
		CHECK_EQ(entry.id.inode, st.st_ino);
		CHECK_EQ(entry.id.major, major(st.st_dev));
		CHECK_EQ(entry.id.minor, minor(st.st_dev));
		CHECK(strstr(entry.path, "test_maps") != NULL);
		found = true;
	}
	CHECK(found);
	CHECK(found_vdso || !vdso);
	maps_close(&maps);
	maps_close(&maps);
}

TEST(maps_of_nobody)
{
	struct maps maps;

	CHECK_EQ(maps_open(&maps, 2000000000), -ENOENT);
	maps_close(&maps);
}
