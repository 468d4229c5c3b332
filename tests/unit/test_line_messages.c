/* sym/source_lines: messages are read back; malformed messages are refused before they have an effect. */
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "sym/source_lines.h"

static const uint64_t addresses[] = {0x1000, 0x1010, 0x2000};

/* Reported lines, as text. */
struct told {
	char text[1000];
	size_t nr;
	int result; /* returned by each call */
};

static int take_told(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct told *told = context;
	size_t k;

	told->nr++;
	for (k = 0; k < nr_lines; k++) {
		char line[200];

		(void)snprintf(line, sizeof(line), "%zu %.50s %.50s %u\n", i,
			       lines[k].function ? lines[k].function : "-",
			       lines[k].file ? lines[k].file : "-", lines[k].line);
		(void)strncat(told->text, line, sizeof(told->text) - strlen(told->text) - 1);
	}
	return told->result;
}

static const struct debug_line some[] = {
	{"inner", "a/b.c", 12},
	{"outer", NULL, 0},
	{NULL, "", UINT32_MAX},
};

#define SOME_TOLD            \
	"2 inner a/b.c 12\n" \
	"2 outer - 0\n"      \
	"2 -  4294967295\n"  \
	"0 inner a/b.c 12\n"

static const struct debug_info_work some_work = {1000, 300, 5};

static struct answer_writer *new_writer(void)
{
	struct answer_writer *writer = calloc(1, sizeof(*writer));

	CHECK(writer);
	writer->fd = memfd_create("messages", MFD_CLOEXEC);
	CHECK(writer->fd >= 0);
	return writer;
}

/* Returns everything written, in front of a guard page. */
static const uint8_t *written(struct answer_writer *writer, size_t *ret_nr)
{
	off_t nr = lseek(writer->fd, 0, SEEK_CUR);
	uint8_t *bytes = malloc((size_t)nr + 1);
	const uint8_t *guarded;

	CHECK(bytes && pread(writer->fd, bytes, (size_t)nr, 0) == nr);
	guarded = test_guarded(bytes, (size_t)nr);
	free(bytes);
	(void)close(writer->fd);
	free(writer);
	*ret_nr = (size_t)nr;
	return guarded;
}

static const uint8_t *write_some(size_t *ret_nr)
{
	struct answer_writer *writer = new_writer();

	CHECK_EQ(answer_writer_add(writer, 2, some, ARRAY_SIZE(some)), 0);
	CHECK_EQ(answer_writer_add(writer, 0, some, 1), 0);
	CHECK_EQ(answer_writer_end(writer, &some_work), 0);
	return written(writer, ret_nr);
}

static int read_all(const uint8_t *bytes, size_t nr, struct told *told, struct debug_info_work *ret,
		    struct error *error)
{
	const struct debug_info_request request = {
		.addresses = addresses,
		.nr = ARRAY_SIZE(addresses),
		.found = take_told,
		.context = told,
	};

	return lines_answer_read(bytes, nr, &request, ret, error);
}

TEST(line_messages)
{
	size_t nr;
	const uint8_t *bytes = write_some(&nr);
	struct debug_info_work work = {0};
	struct told told = {0};

	CHECK_EQ(read_all(bytes, nr, &told, &work, NULL), 0);
	CHECK_STR(told.text, SOME_TOLD);
	CHECK_EQ(work.nr_units, 1000);
	CHECK_EQ(work.nr_units_read, 300);
	CHECK_EQ(work.nr_split_lost, 5);
}

TEST(line_messages_truncated)
{
	size_t nr, most;
	const uint8_t *bytes = write_some(&nr);

	for (most = 0; most < nr; most++) {
		struct debug_info_work work = {.nr_units = 77};
		struct error error = {0};
		struct told told = {0};

		CHECK_EQ(read_all(test_guarded(bytes, most), most, &told, &work, &error), -EPROTO);
		CHECK(error.text[0]);
		CHECK(!strncmp(told.text, SOME_TOLD, strlen(told.text)));
		CHECK_EQ(work.nr_units, 77);
	}
}

TEST(line_messages_garbage)
{
	size_t nr, i;
	const uint8_t *bytes = write_some(&nr);
	unsigned round;

	srand(1);
	for (round = 0; round < 20000; round++) {
		uint8_t *broken = malloc(nr);
		struct debug_info_work work;
		struct told told = {0};

		CHECK(broken);
		memcpy(broken, bytes, nr);
		for (i = 0; i <= round % 4; i++)
			broken[(size_t)rand() % nr] = (uint8_t)rand();
		(void)read_all(broken, nr, &told, &work, NULL);
		CHECK(told.nr <= ARRAY_SIZE(addresses));
		free(broken);
	}
}

TEST(line_messages_after_the_end)
{
	size_t nr;
	const uint8_t *bytes = write_some(&nr);
	uint8_t *twice = malloc(nr + 1);
	struct debug_info_work work;
	struct told told = {0};

	CHECK(twice);
	memcpy(twice, bytes, nr);
	twice[nr] = 1;
	CHECK_EQ(read_all(twice, nr + 1, &told, &work, NULL), -EPROTO);
	free(twice);
}

/* Reads one message: its kind and contents, framed as on the wire. */
static int read_one(const char *content, size_t nr, struct told *told)
{
	uint8_t bytes[100] = {(uint8_t)nr};
	struct debug_info_work work;

	memcpy(bytes + 4, content, nr);
	return read_all(bytes, nr + 4, told, &work, NULL);
}

TEST(line_messages_that_nobody_wrote)
{
	static const struct {
		const char *content;
		size_t nr;
	} cases[] = {
		{"\1\3\1\0\0\0", 6},			  /* address not requested */
		{"\1\xff\xff\xff\xff\x0f\1\0\0\0", 10},	  /* also not requested */
		{"\1\0\0", 3},				  /* no lines */
		{"\1\0\x81\x02", 4},			  /* too many */
		{"\1\0\2\0\0\0", 6},			  /* more than follow */
		{"\1\0\1\0\0\0\0", 7},			  /* fewer */
		{"\1\0\1\2a\0\0\0", 8},			  /* invalid flag for a text */
		{"\1\0\1\1a", 5},			  /* without NUL */
		{"\1\0\1\0\0\xff\xff\xff\xff\xff\1", 11}, /* a line past 32 bits */
		{"\2\1\2\0", 4},			  /* more units read than there are */
		{"\2\2\1\2", 4},			  /* more lost than read */
		{"\3\1\0\0\0", 5},			  /* data after an error */
		{"\3\0\0\0", 4},			  /* no error */
		{"\3\xff\x7f\0\0", 5},			  /* an error beyond all */
		{"\0", 1},
		{"\4", 1},
	};
	struct told told = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(read_one(cases[i].content, cases[i].nr, &told), -EPROTO);
	CHECK_EQ(told.nr, 0);
	CHECK_EQ(read_one("\1\0\1\0\0\7", 6, &told), -EPROTO); /* valid, but no end */
	CHECK_EQ(told.nr, 1);
}

TEST(line_messages_once_for_an_address)
{
	struct answer_writer *writer = new_writer();
	struct debug_info_work work;
	struct told told = {0};
	const uint8_t *bytes;
	size_t nr;

	CHECK_EQ(answer_writer_add(writer, 1, some, 1), 0);
	CHECK_EQ(answer_writer_add(writer, 1, some, 1), 0);
	CHECK_EQ(answer_writer_end(writer, &some_work), 0);
	bytes = written(writer, &nr);
	CHECK_EQ(read_all(bytes, nr, &told, &work, NULL), -EPROTO);
	CHECK_EQ(told.nr, 1);
}

TEST(line_messages_errors_are_fit_to_print)
{
	struct error error = {.code = -ENOEXEC, .text = "bad \x1b[31m\n\xc3", .hint = "try"};
	struct error got = {0};
	struct answer_writer *writer = new_writer();
	struct debug_info_work work;
	struct told told = {0};
	const uint8_t *bytes;
	size_t nr;

	CHECK_EQ(answer_writer_error(writer, &error), 0);
	bytes = written(writer, &nr);
	CHECK_EQ(read_all(bytes, nr, &told, &work, &got), -ENOEXEC);
	CHECK_STR(got.text, "bad ?[31m??");
	CHECK_STR(got.hint, "try");
	CHECK_EQ(got.code, -ENOEXEC);
}

TEST(line_messages_callers_refusal)
{
	struct told told = {.result = -ECANCELED};
	struct debug_info_work work;
	size_t nr;
	const uint8_t *bytes = write_some(&nr);

	CHECK_EQ(read_all(bytes, nr, &told, &work, NULL), -ECANCELED);
	CHECK_EQ(told.nr, 1);
}

TEST(line_messages_longest)
{
	static char text[100000];
	struct debug_line lines[DEBUG_LINES_MAX];
	struct answer_writer *writer = new_writer();
	struct debug_info_work work;
	struct told told = {0};
	const uint8_t *bytes;
	size_t nr, i;

	memset(text, 'x', sizeof(text) - 1);
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i] = (struct debug_line){text, text, UINT32_MAX};
	CHECK_EQ(answer_writer_add(writer, 0, lines, 1), 0);
	CHECK_EQ(answer_writer_add(writer, 1, lines, ARRAY_SIZE(lines)), 0);
	CHECK_EQ(answer_writer_add(writer, 2, lines, ARRAY_SIZE(lines)), 0);
	CHECK_EQ(answer_writer_end(writer, &some_work), 0);
	bytes = written(writer, &nr);
	CHECK_EQ(read_all(bytes, nr, &told, &work, NULL), 0);
	CHECK_EQ(told.nr, 3);
}

TEST(line_messages_out_of_memory)
{
	size_t nr;
	const uint8_t *bytes = write_some(&nr);
	struct debug_info_work work;
	struct error error = {0};
	struct told told = {0};

	(void)test_fail_allocation(1);
	CHECK_EQ(read_all(bytes, nr, &told, &work, &error), -ENOMEM);
	(void)test_fail_allocation(0);
	CHECK(error.text[0]);
}
