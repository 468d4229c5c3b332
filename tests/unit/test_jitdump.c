/* sym/code_map_read: made-up jitdumps: complete, truncated, malformed, growing while read. */
#include "sym/code_map.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unit/test.h"

#define MAGIC 0x4A695444

enum { LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO };

#define HEADER_BYTES 40

/* A jitdump under construction. */
struct dump {
	uint8_t bytes[400000];
	size_t nr;
};

static void put(struct dump *dump, const void *bytes, size_t nr)
{
	CHECK(nr <= sizeof(dump->bytes) - dump->nr);
	memcpy(dump->bytes + dump->nr, bytes, nr);
	dump->nr += nr;
}

static void put_u32(struct dump *dump, uint32_t number)
{
	put(dump, &number, sizeof(number));
}

static void put_u64(struct dump *dump, uint64_t number)
{
	put(dump, &number, sizeof(number));
}

static void put_header(struct dump *dump)
{
	dump->nr = 0;
	put_u32(dump, MAGIC);
	put_u32(dump, 1);
	put_u32(dump, HEADER_BYTES);
	put_u32(dump, 62);
	put_u64(dump, 4711ULL << 32);
	put_u64(dump, 0);
	put_u64(dump, 0);
}

static void put_record(struct dump *dump, uint32_t kind, size_t nr_behind)
{
	put_u32(dump, kind);
	put_u32(dump, (uint32_t)(16 + nr_behind));
	put_u64(dump, 1);
}

static void put_load(struct dump *dump, uint64_t address, uint32_t bytes, uint64_t index,
		     const char *name)
{
	uint8_t code[1024];

	put_record(dump, LOAD, 40 + strlen(name) + 1 + bytes);
	put_u64(dump, 0);
	put_u64(dump, address);
	put_u64(dump, address);
	put_u64(dump, bytes);
	put_u64(dump, index);
	put(dump, name, strlen(name) + 1);
	memset(code, 0xcc, sizeof(code));
	for (; bytes > sizeof(code); bytes -= sizeof(code))
		put(dump, code, sizeof(code));
	put(dump, code, bytes);
}

static void put_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
	put_record(dump, MOVE, 48);
	put_u64(dump, 0);
	put_u64(dump, to);
	put_u64(dump, from);
	put_u64(dump, to);
	put_u64(dump, bytes);
	put_u64(dump, index);
}

/* Adds a record to be skipped. */
static void put_other(struct dump *dump, uint32_t kind, size_t nr)
{
	static const uint8_t rubbish[4096];

	put_record(dump, kind, nr);
	put(dump, rubbish, nr);
}

static int make_file(const void *bytes, size_t nr)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, bytes, nr, 0), nr);
	return fd;
}

static const char *name_at(struct code_map *map, uint64_t address)
{
	const char *name;

	CHECK_EQ(code_map_settle(map), 0);
	name = code_map_find(map, address, NULL);
	return name ? name : "";
}

static int read_dump(const struct dump *dump, struct code_map *map, uint64_t *at)
{
	cleanup_fd int fd = make_file(dump->bytes, dump->nr);

	return jitdump_read(fd, map, at, NULL);
}

/* Adds all kinds of records; 3 ranges. */
static void put_various(struct dump *dump)
{
	put_header(dump);
	put_other(dump, DEBUG_INFO, 100);
	put_load(dump, 0x1000, 0x100, 0, "LazyCompile:*run /srv/app.js:1:2");
	put_other(dump, UNWINDING_INFO, 40);
	put_load(dump, 0x2000, 0x10, 1, "two");
	put_other(dump, 77, 0);
	put_move(dump, 0x1000, 0x3000, 0x100, 0);
	put_other(dump, CLOSE, 0);
}

/* --- complete ------------------------------------------------------------------------------ */

TEST(jitdump_records)
{
	static struct dump dump;
	struct code_map *map = code_map_new();
	uint64_t at = 0;

	put_various(&dump);
	CHECK_EQ(read_dump(&dump, map, &at), 0);
	CHECK_EQ(at, dump.nr);
	CHECK_STR(name_at(map, 0x10ff), "LazyCompile:*run /srv/app.js:1:2");
	CHECK_STR(name_at(map, 0x1100), "");
	CHECK_STR(name_at(map, 0x200f), "two");
	CHECK_STR(name_at(map, 0x3000), "LazyCompile:*run /srv/app.js:1:2");
	CHECK_EQ(code_map_nr(map), 3);
	code_map_free(map);
}

/* Moves of code loaded in earlier calls, in this call, and never. */
TEST(jitdump_moves)
{
	static struct dump dump;
	struct code_map *map = code_map_new();
	uint64_t at = 0;

	put_header(&dump);
	put_load(&dump, 0x1000, 0x10, 5, "old five");
	put_load(&dump, 0x2000, 0x10, 6, "six");
	put_load(&dump, 0x3000, 0x10, 5, "five");
	CHECK_EQ(read_dump(&dump, map, &at), 0);
	put_move(&dump, 0x3000, 0x4000, 0x10, 5);
	put_load(&dump, 0x5000, 0x10, 6, "new six");
	put_move(&dump, 0x5000, 0x6000, 0x10, 6);
	put_move(&dump, 0x1000, 0x7000, 0x10, 7);
	put_load(&dump, 0x8000, 0x10, 7, "seven");
	CHECK_EQ(read_dump(&dump, map, &at), 0);
	CHECK_EQ(at, dump.nr);
	CHECK_STR(name_at(map, 0x4000), "five");
	CHECK_STR(name_at(map, 0x6000), "new six");
	CHECK_STR(name_at(map, 0x7000), "");
	CHECK_STR(name_at(map, 0x8000), "seven");
	code_map_free(map);
}

TEST(jitdump_far_apart)
{
	static char name[JITDUMP_NAME_BYTES + 100];
	static struct dump dump;
	struct code_map *map = code_map_new();
	uint64_t at = 0;

	memset(name, 'n', sizeof(name) - 1);
	put_header(&dump);
	put_load(&dump, 0x1000, 10, 0, name);
	put_load(&dump, 0x100000, 70000, 0, "large");
	name[JITDUMP_NAME_BYTES] = '\0';
	put_load(&dump, 0x2000, 10, 0, name);
	put_load(&dump, 0x200000, 200000, 0, "very large");
	put_load(&dump, 0x3000, 10, 0, "last");
	CHECK_EQ(read_dump(&dump, map, &at), 0);
	CHECK_EQ(at, dump.nr);
	CHECK_STR(name_at(map, 0x1000), name);
	CHECK_STR(name_at(map, 0x100000 + 69999), "large");
	CHECK_STR(name_at(map, 0x2000), name);
	CHECK_STR(name_at(map, 0x200000 + 199999), "very large");
	CHECK_STR(name_at(map, 0x3000), "last");
	code_map_free(map);
}

/* --- truncated and malformed --------------------------------------------------------------- */

/* After any truncation, the rest can be read later. */
TEST(jitdump_truncated)
{
	static struct dump dump;
	size_t nr;

	put_various(&dump);
	for (nr = 0; nr <= dump.nr; nr++) {
		cleanup_fd int fd = make_file(dump.bytes, nr);
		struct code_map *map = code_map_new();
		uint64_t at = 0;

		CHECK_EQ(jitdump_read(fd, map, &at, NULL), 0);
		CHECK(at <= nr);
		CHECK_EQ(pwrite(fd, dump.bytes + nr, dump.nr - nr, (off_t)nr), dump.nr - nr);
		CHECK_EQ(jitdump_read(fd, map, &at, NULL), 0);
		CHECK_EQ(at, dump.nr);
		CHECK_EQ(code_map_nr(map), 3);
		CHECK_STR(name_at(map, 0x3000), "LazyCompile:*run /srv/app.js:1:2");
		code_map_free(map);
	}
}

TEST(jitdump_of_another_kind)
{
	static const struct {
		size_t at;
		uint32_t value;
	} wrong[] = {
		{0, 0x4454694A}, {0, 0x464c457f}, {4, 2}, {4, 0}, {8, 0}, {8, 39}, {8, UINT32_MAX},
	};
	static struct dump dump;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct code_map *map = code_map_new();
		uint64_t at = 0;

		put_various(&dump);
		memcpy(dump.bytes + wrong[i].at, &wrong[i].value, sizeof(wrong[i].value));
		CHECK_EQ(read_dump(&dump, map, &at), -ENOEXEC);
		CHECK_EQ(at, 0);
		CHECK_EQ(code_map_nr(map), 0);
		code_map_free(map);
	}
}

/* Record sizes that would not advance the reader. */
TEST(jitdump_without_progress)
{
	static struct dump dump;
	uint32_t bytes;

	for (bytes = 0; bytes < 16; bytes++) {
		struct code_map *map = code_map_new();
		uint64_t at = 0;
		size_t end;

		put_header(&dump);
		put_load(&dump, 0x1000, 0x10, 0, "one");
		end = dump.nr;
		put_load(&dump, 0x2000, 0x10, 0, "two");
		memcpy(dump.bytes + end + 4, &bytes, sizeof(bytes));
		CHECK_EQ(read_dump(&dump, map, &at), -EBADMSG);
		CHECK_EQ(at, end);
		CHECK_EQ(read_dump(&dump, map, &at), -EBADMSG);
		CHECK_STR(name_at(map, 0x1000), "one");
		CHECK_EQ(code_map_nr(map), 1);
		code_map_free(map);
	}
}

/* Loads with impossible contents: names without an end, more code than there is. */
TEST(jitdump_lying_loads)
{
	static struct dump dump;
	struct code_map *map = code_map_new();
	const uint64_t huge = UINT64_MAX, large = 0x11;
	uint64_t at = 0;
	size_t start;

	put_header(&dump);
	put_record(&dump, LOAD, 0);
	put_other(&dump, LOAD, 39);
	put_other(&dump, LOAD, 40);
	put_other(&dump, MOVE, 47);
	start = dump.nr;
	put_load(&dump, 0x1000, 0x10, 0, "no end");
	memset(dump.bytes + start + 56, 'x', dump.nr - start - 56);
	start = dump.nr;
	put_load(&dump, 0x2000, 0x10, 0, "huge");
	memcpy(dump.bytes + start + 40, &huge, sizeof(huge));
	start = dump.nr;
	put_load(&dump, 0x3000, 0x10, 0, "a byte too much");
	memcpy(dump.bytes + start + 40, &large, sizeof(large));
	put_move(&dump, 0x3000, 0x4000, huge, 0);
	put_load(&dump, 0x5000, 0x10, 0, "sound");
	CHECK_EQ(read_dump(&dump, map, &at), 0);
	CHECK_EQ(at, dump.nr);
	CHECK_STR(name_at(map, 0x5000), "sound");
	CHECK_EQ(code_map_nr(map), 1);
	code_map_free(map);
}

TEST(jitdump_damaged)
{
	static struct dump dump;
	uint64_t state = 3, at;
	size_t round, i;

	put_various(&dump);
	for (round = 0; round < 20000; round++) {
		struct dump *damaged = malloc(sizeof(*damaged));
		struct code_map *map = code_map_new();

		CHECK(damaged);
		damaged->nr = dump.nr;
		memcpy(damaged->bytes, dump.bytes, dump.nr);
		for (i = 0; i < 1 + round % 4; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			damaged->bytes[(state >> 33) % dump.nr] = (uint8_t)(state >> 25);
		}
		at = 0;
		(void)read_dump(damaged, map, &at);
		CHECK(at <= 65536); /* maximum header size */
		CHECK_EQ(code_map_settle(map), 0);
		code_map_free(map);
		free(damaged);
	}
}

TEST(jitdump_too_large)
{
	static struct dump dump;
	struct code_map *map = code_map_new();
	uint64_t at = JITDUMP_MAX_BYTES;
	cleanup_fd int fd = -1;

	put_header(&dump);
	put_other(&dump, CLOSE, 0);
	fd = make_file(dump.bytes, dump.nr);
	if (ftruncate(fd, 1LL << 40) < 0)
		SKIP("needs sparse files in memory");
	CHECK_EQ(pwrite(fd, dump.bytes + HEADER_BYTES, 16, (off_t)at), 16);
	CHECK_EQ(jitdump_read(fd, map, &at, NULL), -EFBIG);
	CHECK_EQ(at, JITDUMP_MAX_BYTES);
	CHECK_EQ(jitdump_read(-1, map, &at, NULL), -EBADF);
	code_map_free(map);
}

/* --- concurrent changes -------------------------------------------------------------------- */

#define CHURN_LOADS 3000

static void write_loads(int fd)
{
	static struct dump dump;
	char name[32];
	uint64_t i;
	size_t at;

	put_header(&dump);
	for (i = 0; i < CHURN_LOADS; i++) {
		snprintf(name, sizeof(name), "function %u", (unsigned)i);
		put_load(&dump, i * 16, 16, i, name);
		for (at = 0; at < dump.nr; at += 29)
			if (write(fd, dump.bytes + at, dump.nr - at < 29 ? dump.nr - at : 29) < 0)
				_exit(1);
		dump.nr = 0;
	}
	_exit(0);
}

TEST(jitdump_while_it_is_written)
{
	cleanup_fd int fd = make_file("", 0);
	struct code_map *map;
	bool ended = false;
	uint64_t at = 0, i;
	pid_t writer = fork();

	CHECK(writer >= 0);
	if (writer == 0)
		write_loads(fd);
	map = code_map_new();
	while (!ended) {
		int status = 1;

		ended = waitpid(writer, &status, WNOHANG) == writer;
		CHECK(!ended || status == 0);
		CHECK_EQ(jitdump_read(fd, map, &at, NULL), 0);
		CHECK_EQ(code_map_settle(map), 0);
	}
	CHECK_EQ(code_map_nr(map), CHURN_LOADS);
	for (i = 0; i < CHURN_LOADS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function %u", (unsigned)i);
		CHECK_STR(name_at(map, i * 16), name);
	}
	code_map_free(map);
}

TEST(jitdump_while_it_is_cut)
{
	static struct dump dump;
	struct code_map *map = code_map_new();
	cleanup_fd int fd = -1;
	uint64_t at = 0;
	size_t round;
	pid_t writer;

	put_various(&dump);
	fd = make_file(dump.bytes, dump.nr);
	writer = fork();
	CHECK(writer >= 0);
	while (writer == 0)
		if (ftruncate(fd, 60) < 0 || pwrite(fd, dump.bytes, dump.nr, 0) < 0)
			_exit(1);
	for (round = 0; round < 20000; round++) {
		int err = jitdump_read(fd, map, &at, NULL);

		CHECK(err == 0 || err == -EBADMSG || err == -ENOEXEC);
		if (round % 100 == 0)
			CHECK_EQ(code_map_settle(map), 0);
	}
	kill(writer, SIGKILL);
	CHECK_EQ(waitpid(writer, NULL, 0), writer);
	code_map_free(map);
}

TEST(jitdump_out_of_memory)
{
	static struct dump dump;
	size_t nth;
	int err = -ENOMEM;

	put_various(&dump);
	for (nth = 1; err < 0; nth++) {
		struct code_map *map = code_map_new();
		uint64_t at = 0;

		test_fail_allocation(nth);
		err = read_dump(&dump, map, &at);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK_EQ(read_dump(&dump, map, &at), 0);
		CHECK_EQ(at, dump.nr);
		CHECK_EQ(code_map_nr(map), 3);
		code_map_free(map);
	}
	CHECK(nth > 4);
}
