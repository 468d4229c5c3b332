/* sym/code_map_read: perf map lines, valid and malformed; files that change while they are read. */
#include "sym/code_map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "unit/test.h"

static const char sample[] = "7fb639fe46c0 378 JS:~arrow /srv/app.js:3:13\n"
			     "0x00007fee0cedcaa0 0x0000000000001978 void "
			     "java.util.TimSort.mergeHi(int, int, int, int)\r\n"
			     "7F00AA00 10 upper\n"
			     "  7f00bb00\t10 \t py::run:/srv/my app.py  \n"
			     "0X7f00cc00 0X10 $lists:reverse/1\n"
			     "00000000000000007f00dd00 000000000000000000010 many zeros\n"
			     "7fb639fe47c0 10 later";

static int make_file(const void *bytes, size_t nr)
{
	int fd = memfd_create("perf-map", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, bytes, nr, 0), nr);
	return fd;
}

static const char *name_at(const struct code_map *map, uint64_t address)
{
	const char *name = code_map_find(map, address, NULL);

	return name ? name : "";
}

/* --- lines --------------------------------------------------------------------------------- */

TEST(perf_map_lines)
{
	struct code_map *map = code_map_new();
	size_t nr_bad = 0, nr_parsed = 0;

	CHECK_EQ(perf_map_parse(sample, strlen(sample), map, &nr_bad, &nr_parsed), 0);
	CHECK_EQ(nr_bad, 0);
	CHECK_EQ(nr_parsed, strrchr(sample, '\n') + 1 - sample);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), 6);
	CHECK_STR(name_at(map, 0x7fb639fe46c0), "JS:~arrow /srv/app.js:3:13");
	CHECK_STR(name_at(map, 0x7fb639fe4a37), "JS:~arrow /srv/app.js:3:13");
	CHECK_STR(name_at(map, 0x7fb639fe4a38), "");
	CHECK_STR(name_at(map, 0x7fee0cedcaa0),
		  "void java.util.TimSort.mergeHi(int, int, int, int)");
	CHECK_STR(name_at(map, 0x7f00aa0f), "upper");
	CHECK_STR(name_at(map, 0x7f00bb00), "py::run:/srv/my app.py");
	CHECK_STR(name_at(map, 0x7f00cc00), "$lists:reverse/1");
	CHECK_STR(name_at(map, 0x7f00dd00), "many zeros");
	code_map_free(map);
}

TEST(perf_map_bad_lines)
{
	static const char *const bad[] = {
		"",
		" ",
		"\r",
		"100",
		"100 ",
		"100 10",
		"100 10 ",
		"100 10 \r",
		"x 10 name",
		"0x 10 name",
		"100 0x name",
		"100g 10 name",
		"100 10name",
		"-100 10 name",
		"100 -10 name",
		"name",
		"10000000000000000 10 more than 64 bits",
		"100 10000000000000000 more than 64 bits",
		"ffffffffffffffff 2 past the last address",
	};
	size_t i, nr_parsed, nr_bad;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct code_map *map = code_map_new();
		char line[64];
		int nr = snprintf(line, sizeof(line), "%s\n", bad[i]);

		nr_bad = nr_parsed = 0;
		CHECK_EQ(perf_map_parse(line, (size_t)nr, map, &nr_bad, &nr_parsed), 0);
		CHECK_EQ(nr_parsed, nr);
		CHECK_EQ(nr_bad, 1);
		CHECK_EQ(code_map_nr(map), 0);
		code_map_free(map);
	}
}

TEST(perf_map_strange_names)
{
	static const char text[] = "100 10 a\0b\n200 10 c\33[31m\td\n300 10 \xff\xfe\n400 0 empty\n"
				   "500 ffffffffffffffff long\n";
	struct code_map *map = code_map_new();
	size_t nr_bad = 0, nr_parsed;

	CHECK_EQ(perf_map_parse(text, sizeof(text) - 1, map, &nr_bad, &nr_parsed), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(nr_bad, 1);
	CHECK_STR(name_at(map, 0x100), "a?b");
	CHECK_STR(name_at(map, 0x200), "c\33[31m\td");
	CHECK_STR(name_at(map, 0x300), "\xff\xfe");
	CHECK_STR(name_at(map, 0x400), "");
	code_map_free(map);
}

/* Each prefix of the sample: one range per complete line. */
TEST(perf_map_truncated)
{
	size_t nr, i;

	for (nr = 0; nr <= strlen(sample); nr++) {
		const char *guarded = test_guarded(sample, nr);
		struct code_map *map = code_map_new();
		size_t nr_lines = 0, nr_bad = 0, nr_parsed = 0;

		for (i = 0; i < nr; i++)
			nr_lines += sample[i] == '\n';
		CHECK_EQ(perf_map_parse(guarded, nr, map, &nr_bad, &nr_parsed), 0);
		CHECK_EQ(nr_bad, 0);
		CHECK_EQ(code_map_nr(map), nr_lines);
		code_map_free(map);
	}
}

/* --- files --------------------------------------------------------------------------------- */

TEST(perf_map_goes_on)
{
	cleanup_fd int fd = make_file("100 10 first\n200 10 sec", 23);
	struct code_map *map = code_map_new();
	size_t nr_bad = 0;
	uint64_t at = 0;

	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, 13);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, 13);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(code_map_nr(map), 1);
	CHECK_EQ(pwrite(fd, "ond\n108 8 third\n", 16, 23), 16);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, 39);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x107), "first");
	CHECK_STR(name_at(map, 0x108), "third");
	CHECK_STR(name_at(map, 0x200), "second");
	CHECK_EQ(nr_bad, 0);
	code_map_free(map);
}

TEST(perf_map_written_anew)
{
	cleanup_fd int fd = make_file("100 10 first\n200 10 second\n", 27);
	struct code_map *map = code_map_new();
	size_t nr_bad = 0;
	uint64_t at = 0;

	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, 0);
	CHECK_EQ(pwrite(fd, "100 10 other\n", 13, 0), 13);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, 13);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x100), "other");
	CHECK_STR(name_at(map, 0x200), "second");
	code_map_free(map);
}

/* Lines of every length around the buffer size: lines end before, at and after its end. */
TEST(perf_map_longer_than_a_piece)
{
	size_t nr_lines = 3000, room = nr_lines * 160, nr = 0, nr_bad = 0, i;
	cleanup_free char *text = malloc(room);
	struct code_map *map = code_map_new();
	uint64_t at = 0;
	int fd;

	CHECK(text);
	for (i = 0; i < nr_lines; i++)
		nr += (size_t)sprintf(text + nr, "%zx 10 %0*zu\n", (i + 1) * 16,
				      (int)(1 + i * 7 % 130), i);
	CHECK(nr > PERF_MAP_READ_BYTES);
	fd = make_file(text, nr);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, nr);
	CHECK_EQ(nr_bad, 0);
	CHECK_EQ(code_map_settle(map), 0);
	for (i = 0; i < nr_lines; i++)
		CHECK_EQ(strtoul(name_at(map, (i + 1) * 16 + 15), NULL, 10), i);
	close(fd);
	code_map_free(map);
}

TEST(perf_map_long_lines)
{
	size_t room = 3 * PERF_MAP_READ_BYTES, nr_bad = 0;
	cleanup_free char *text = malloc(room);
	struct code_map *map = code_map_new();
	uint64_t at = 0;
	int fd;

	CHECK(text);
	memset(text, 'x', room);
	memcpy(text, "100 10 ", 7);
	memcpy(text + 20000, "\n200 10 next\n", 13);
	memcpy(text + room - 13, "\n300 10 last\n", 13);
	fd = make_file(text, room);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, room);
	CHECK(nr_bad > 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_EQ(strlen(name_at(map, 0x100)), PERF_MAP_LINE_BYTES - 7);
	CHECK_STR(name_at(map, 0x200), "next");
	CHECK_STR(name_at(map, 0x300), "last");
	close(fd);
	code_map_free(map);
}

/* A terabyte of hole is not read; a byte after it is past the limit. */
TEST(perf_map_of_a_sparse_file)
{
	cleanup_fd int fd = make_file("", 0);
	struct code_map *map = code_map_new();
	uint64_t at = PERF_MAP_MAX_BYTES - (4 << 20);
	size_t nr_bad = 0;

	if (ftruncate(fd, 1LL << 40) < 0)
		SKIP("needs sparse files in memory");
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(at, PERF_MAP_MAX_BYTES - (4 << 20));
	CHECK_EQ(nr_bad, 0);
	CHECK_EQ(pwrite(fd, "x", 1, (1LL << 40) - 1), 1);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), -EFBIG);
	CHECK(at >= PERF_MAP_MAX_BYTES);
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), -EFBIG);
	CHECK_EQ(nr_bad, 1);
	CHECK_EQ(code_map_nr(map), 0);
	code_map_free(map);
}

TEST(perf_map_of_no_file)
{
	struct code_map *map = code_map_new();
	size_t nr_bad = 0;
	uint64_t at = 0;
	int ends[2];

	CHECK_EQ(perf_map_read(-1, map, &at, &nr_bad, NULL), -EBADF);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(perf_map_read(ends[0], map, &at, &nr_bad, NULL), -ESPIPE);
	code_map_free(map);
}

/* --- concurrent changes -------------------------------------------------------------------- */

#define CHURN_LINES 50000

/* Line i names the 16 bytes at i * 16; most writes end inside a line. */
static void write_lines(int fd)
{
	char text[8192];
	size_t nr = 0, i;

	for (i = 0; i < CHURN_LINES; i++) {
		nr += (size_t)sprintf(text + nr, "%zx 10 line %zu\n", (i + 1) * 16, i);
		while (nr > 4096 || (i == CHURN_LINES - 1 && nr)) {
			size_t piece = nr < 1 + i % 3000 ? nr : 1 + i % 3000;

			if (write(fd, text, piece) != (ssize_t)piece)
				_exit(1);
			memmove(text, text + piece, nr - piece);
			nr -= piece;
		}
	}
	_exit(0);
}

/* Opens the file again, with a separate file offset. */
static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

TEST(perf_map_while_it_is_written)
{
	cleanup_fd int written = make_file("", 0), fd = open_again(written);
	struct code_map *map = code_map_new();
	size_t nr_bad = 0, i;
	uint64_t at = 0;
	bool ended = false;
	pid_t writer = fork();

	CHECK(writer >= 0 && fd >= 0);
	if (writer == 0)
		write_lines(written);
	while (!ended) {
		int status = 1;

		ended = waitpid(writer, &status, WNOHANG) == writer;
		CHECK(!ended || status == 0);
		CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
		CHECK_EQ(code_map_settle(map), 0);
	}
	CHECK_EQ(nr_bad, 0);
	CHECK_EQ(code_map_nr(map), CHURN_LINES);
	for (i = 0; i < CHURN_LINES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "line %zu", i);
		CHECK_STR(name_at(map, (i + 1) * 16), name);
	}
	code_map_free(map);
}

/* A writer that truncates and grows its file all the time: names get lost, nothing else. */
TEST(perf_map_while_it_is_cut)
{
	cleanup_fd int fd = make_file("", 0);
	struct code_map *map = code_map_new();
	size_t nr_bad = 0, round;
	uint64_t at = 0;
	pid_t writer = fork();

	CHECK(writer >= 0);
	while (writer == 0) {
		if (ftruncate(fd, 300000) < 0 || pwrite(fd, sample, sizeof(sample), 1000) < 0 ||
		    ftruncate(fd, 10) < 0)
			_exit(1);
	}
	for (round = 0; round < 2000; round++) {
		CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
		CHECK_EQ(code_map_settle(map), 0);
	}
	kill(writer, SIGKILL);
	CHECK_EQ(waitpid(writer, NULL, 0), writer);
	code_map_free(map);
}

TEST(perf_map_out_of_memory)
{
	cleanup_fd int fd = make_file(sample, strlen(sample));
	size_t nth, nr_bad;
	uint64_t at;
	int err;

	for (nth = 1, err = -ENOMEM; err < 0; nth++) {
		struct code_map *map = code_map_new();

		at = nr_bad = 0;
		test_fail_allocation(nth);
		err = perf_map_read(fd, map, &at, &nr_bad, NULL);
		test_fail_allocation(0);
		CHECK(err == 0 || err == -ENOMEM);
		CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
		CHECK_EQ(code_map_nr(map), 6);
		code_map_free(map);
	}
	CHECK(nth > 3);
}

TEST(perf_map_goes_on_behind_a_hole)
{
	static const char first[] = "1000 10 first\n20";
	static const char second[] = "3000 10 second\n";
	cleanup_fd int fd = make_file(first, strlen(first));
	struct code_map *map = code_map_new();
	size_t nr_bad = 0;
	uint64_t at = 0;

	CHECK_EQ(pwrite(fd, second, strlen(second), 64 << 20), strlen(second));
	CHECK_EQ(perf_map_read(fd, map, &at, &nr_bad, NULL), 0);
	CHECK_EQ(code_map_settle(map), 0);
	CHECK_STR(name_at(map, 0x1000), "first");
	CHECK_STR(name_at(map, 0x3000), "second");
	CHECK_EQ(at, (64 << 20) + strlen(second));
	CHECK(nr_bad < 4);
	code_map_free(map);
}

/* Reading goes on once there is more budget. */
TEST(perf_map_within_a_budget)
{
	static char text[5 * PERF_MAP_READ_BYTES];
	struct code_map *map = code_map_new();
	struct read_budget budget;
	size_t nr_bad = 0, nr = 0, rounds = 0;
	uint64_t at = 0;
	int fd, err;

	while (nr + 32 < sizeof(text))
		nr += (size_t)sprintf(text + nr, "1000 10 some_name\n");
	fd = make_file(text, nr);
	read_budget_init(&budget, 1000 * NS_PER_SEC, 2 * PERF_MAP_READ_BYTES, -1);
	do {
		read_budget_begin(&budget);
		err = perf_map_read(fd, map, &at, &nr_bad, &budget);
		CHECK_EQ(read_budget_end(&budget), err);
		read_budget_refill(&budget, UINT64_MAX);
	} while (err == -EDQUOT && ++rounds < 100);
	CHECK_EQ(err, 0);
	CHECK(rounds >= 4 && rounds <= 6);
	CHECK_EQ(at, nr);
	CHECK_EQ(nr_bad, 0);
	code_map_free(map);
	(void)close(fd);
}
