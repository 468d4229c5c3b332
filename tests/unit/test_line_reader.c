/* base/line_reader: the same lines however they lie in the buffer. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_reader.h"

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

/* Lines of all lengths, so that the buffer's end comes at every place of one. */
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
