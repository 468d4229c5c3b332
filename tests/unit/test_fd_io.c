/*
 * base/file/fd_io: complete reads and writes, or an error; an earlier stream error is still reported;
 * lines do not depend on their position in the buffer.
 */
#include "base/file/fd_io.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit/test.h"

TEST(fd_io_reads_what_was_written)
{
	cleanup_fd int fd = memfd_create("fd_io", 0);
	char bytes[8] = "";

	CHECK_EQ(fd_write_at(fd, 0, "abcdef", 6), 0);
	CHECK_EQ(fd_write_at(fd, 2, "CD", 2), 0);
	CHECK_EQ(fd_write_at(fd, 100, "", 0), 0);
	CHECK_EQ(fd_read_at(fd, 1, bytes, 5), 0);
	CHECK_STR(bytes, "bCDef");
	CHECK_EQ(fd_read_at(fd, 6, bytes, 0), 0);
	CHECK_EQ(fd_read_at(fd, 1, bytes, 6), -ENODATA);
	CHECK_EQ(fd_read_at(fd, 6, bytes, 1), -ENODATA);
	CHECK_EQ(fd_read_at(-1, 0, bytes, 1), -EBADF);
	CHECK_EQ(fd_write_at(-1, 0, bytes, 1), -EBADF);
}

/* A write that does not fit returns an error, not a short count. */
TEST(fd_io_on_a_full_disk)
{
	const struct rlimit small = {10, 10};
	cleanup_file FILE *file = tmpfile();
	char bytes[16];

	CHECK(file != NULL);
	memset(bytes, 'x', sizeof(bytes));
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(fd_write_at(fileno(file), 0, bytes, sizeof(bytes)), -EFBIG);
	CHECK_EQ(fd_read_at(fileno(file), 0, bytes, 10), 0);
}

TEST(fd_allow_all_raises_the_limit_to_what_is_allowed)
{
	const struct rlimit low = {20, 30};
	struct rlimit limit;

	if (setrlimit(RLIMIT_NOFILE, &low) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_max != low.rlim_max)
		SKIP("a limit of descriptors that can be set (valgrind keeps its own)");
	CHECK_EQ(fd_raise_limit(), 30);
	CHECK_EQ(fd_raise_limit(), 30);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(limit.rlim_cur, 30);
	CHECK_EQ(limit.rlim_max, 30);
}

TEST(fd_is_hollow_where_next_to_nothing_is_stored)
{
	cleanup_fd int fd = memfd_create("fd_io", 0);
	char bytes[65536];

	memset(bytes, 'x', sizeof(bytes));
	CHECK_EQ(ftruncate(fd, 64 << 20), 0);
	CHECK(fd_is_hollow(fd, 0, 64 << 20));
	CHECK(fd_is_hollow(fd, 1 << 20, 1 << 30)); /* past the end, too */
	CHECK(!fd_is_hollow(fd, 0, 0));
	CHECK_EQ(fd_write_at(fd, 32 << 20, bytes, sizeof(bytes)), 0);
	CHECK(fd_is_hollow(fd, 0, 64 << 20));
	CHECK(!fd_is_hollow(fd, 32 << 20, sizeof(bytes)));
	CHECK(!fd_is_hollow(fd, 32 << 20, 16 * sizeof(bytes)));
	CHECK(fd_is_hollow(fd, 32 << 20, 64 * sizeof(bytes)));
	CHECK(!fd_is_hollow(-1, 0, 1 << 20));
}

/* --- streams ---------------------------------------------------------------------------------- */

TEST(stream_that_is_well)
{
	FILE *out = fopen("/dev/null", "we");

	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), 0);
	(void)fclose(out);
}

TEST(stream_that_fails_at_the_end)
{
	FILE *out = fopen("/dev/full", "we");

	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), -ENOSPC);
	(void)fclose(out);
}

TEST(stream_that_failed_before)
{
	FILE *out = fopen("/dev/full", "we");

	(void)setvbuf(out, NULL, _IONBF, 0);
	errno = 0;
	(void)fputs("x", out);
	CHECK_EQ(stream_finish(out), -ENOSPC);
	errno = 0; /* the original errno is lost */
	CHECK_EQ(stream_finish(out), -EIO);
	(void)fclose(out);
}

TEST(stream_that_is_looked_at)
{
	static const char text[] = "a profile";
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	char head[16];

	CHECK_EQ(stream_peek(in, head, 4), 4);
	CHECK(!memcmp(head, "a pr", 4));
	CHECK_EQ(stream_peek(in, head, sizeof(head)), strlen(text));
	CHECK_EQ(fread(head, 1, sizeof(head), in), strlen(text));
	CHECK(!memcmp(head, text, strlen(text)));
	CHECK_EQ(stream_peek(in, head, sizeof(head)), 0);
	(void)fclose(in);
}

/* --- lines of a stream ------------------------------------------------------------------------ */

static FILE *stream_of(const char *text, size_t nr)
{
	FILE *in = nr ? fmemopen((void *)text, nr, "r") : fopen("/dev/null", "r");

	CHECK(in != NULL);
	return in;
}

static void expect_line(struct line_reader *reader, const char *wanted, size_t nr)
{
	struct line line;

	CHECK_EQ(line_reader_next(reader, &line), 1);
	CHECK_EQ(line.nr, nr);
	CHECK(!line.is_cut && !memcmp(line.text, wanted, nr));
}

static void expect_end(struct line_reader *reader)
{
	struct line line;

	CHECK_EQ(line_reader_next(reader, &line), 0);
	CHECK_EQ(line_reader_next(reader, &line), 0);
	(void)fclose(reader->in);
	line_reader_clear(reader);
}

TEST(line_reader_ends_of_lines)
{
	static const char text[] = "one\n\ntwo\r\n\r\nnul \0 nul\nr\rr\nlast\r";
	struct line_reader reader = {.in = stream_of(text, sizeof(text) - 1)};

	expect_line(&reader, "one", 3);
	expect_line(&reader, "", 0);
	expect_line(&reader, "two", 3);
	expect_line(&reader, "", 0);
	CHECK_EQ(reader.number, 4);
	expect_line(&reader, "nul \0 nul", 9);
	expect_line(&reader, "r\rr", 3);
	expect_line(&reader, "last", 4);
	CHECK_EQ(reader.number, 7);
	expect_end(&reader);
}

TEST(line_reader_nothing)
{
	struct line_reader reader = {.in = stream_of("", 0)};
	struct line line;

	CHECK_EQ(line_reader_peek(&reader, &line), 0);
	CHECK_EQ(line.nr, 0);
	expect_end(&reader);
	reader = (struct line_reader){.in = stream_of("\n", 1)};
	expect_line(&reader, "", 0);
	expect_end(&reader);
}

/* Lines of all lengths, so that the buffer ends at every position in a line. */
TEST(line_reader_more_than_the_buffer)
{
	enum { LINES = 3000 };
	char *text = malloc((size_t)LINES * LINES);
	struct line_reader reader;
	size_t nr = 0;
	int i;

	for (i = 0; i < LINES; i++) {
		memset(text + nr, 'a' + i % 26, (size_t)(i * 7 % LINES));
		nr += (size_t)(i * 7 % LINES);
		text[nr++] = '\n';
	}
	reader = (struct line_reader){.in = stream_of(text, nr)};
	for (i = 0, nr = 0; i < LINES; i++) {
		expect_line(&reader, text + nr, (size_t)(i * 7 % LINES));
		nr += (size_t)(i * 7 % LINES) + 1;
	}
	CHECK(reader.cap < 1 << 20);
	expect_end(&reader);
	free(text);
}

TEST(line_reader_cuts_what_is_too_long)
{
	static const size_t lengths[] = {LINE_READER_MAX_BYTES, LINE_READER_MAX_BYTES + 1,
					 3 * (size_t)LINE_READER_MAX_BYTES};
	char *text = malloc(lengths[2] + 16);
	size_t i;

	memset(text, 'x', lengths[2]);
	for (i = 0; i < 3; i++) {
		struct line_reader reader;
		struct line line;

		memcpy(text + lengths[i], "\nnext\n", 6);
		reader = (struct line_reader){.in = stream_of(text, lengths[i] + 6)};
		CHECK_EQ(line_reader_next(&reader, &line), 1);
		CHECK_EQ(line.nr, LINE_READER_MAX_BYTES);
		CHECK_EQ(line.is_cut, i > 0);
		expect_line(&reader, "next", 4);
		CHECK_EQ(reader.number, 2);
		expect_end(&reader);
		reader = (struct line_reader){.in = stream_of(text, lengths[i])};
		CHECK_EQ(line_reader_next(&reader, &line), 1);
		expect_end(&reader);
		memset(text + lengths[i], 'x', 6);
	}
	free(text);
}

TEST(line_reader_peeks_without_taking)
{
	static const char text[] = "one\ntwo\nthree";
	struct line_reader reader = {.in = stream_of(text, sizeof(text) - 1)};
	struct line ahead;

	CHECK_EQ(line_reader_peek(&reader, &ahead), 0);
	CHECK_EQ(ahead.nr, sizeof(text) - 1);
	CHECK(!memcmp(ahead.text, text, ahead.nr));
	expect_line(&reader, "one", 3);
	CHECK_EQ(line_reader_peek(&reader, &ahead), 0);
	CHECK_EQ(ahead.nr, sizeof(text) - 1 - 4);
	expect_line(&reader, "two", 3);
	expect_line(&reader, "three", 5);
	expect_end(&reader);
}

TEST(line_reader_tells_errors)
{
	FILE *folder = fopen("/", "r");
	struct line_reader reader = {.in = folder};
	struct line line;

	CHECK(folder != NULL);
	CHECK_EQ(line_reader_next(&reader, &line), -EISDIR);
	line_reader_clear(&reader);
	(void)fclose(folder);
	reader = (struct line_reader){.in = stream_of("one\n", 4)};
	(void)test_fail_allocation(1);
	CHECK_EQ(line_reader_next(&reader, &line), -ENOMEM);
	(void)test_fail_allocation(0);
	expect_line(&reader, "one", 3);
	expect_end(&reader);
}
