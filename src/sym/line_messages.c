/*
 * A message is its length (4 bytes, little-endian, of what follows), a kind, and
 *
 *	found  i, nr_lines, and for each line: function, file, line
 *	end    nr_units, nr_units_read, nr_split_lost
 *	error  text, hint
 *
 * Numbers are LEB128; a text is 0 for none, or 1, its bytes and a NUL. Nothing follows an end or an
 * error. That a text is repeated for each address costs less than a table of them would.
 */
#include "sym/line_messages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

/* Of all messages of one request: 100,000 addresses with ten lines of 400 bytes. */
#define TOTAL_MAX_BYTES (400u << 20)
#define LENGTH_BYTES	4

enum kind { KIND_FOUND = 1, KIND_END, KIND_ERROR };

struct line_reader {
	const struct debug_info_request *request;
	uint8_t *is_told; /* for each address */
	uint64_t total;	  /* bytes that have come */
	bool is_over;
	int err; /* what it was over with */
	struct debug_info_work work;
	struct error error;
	struct debug_line lines[DEBUG_LINES_MAX];
	size_t nr; /* of a message that is not complete */
	uint8_t bytes[LENGTH_BYTES + LINE_MESSAGE_MAX_BYTES];
};

/* --- writing ------------------------------------------------------------------------------- */

static int flush(struct line_writer *writer)
{
	size_t done = 0;

	while (done < writer->nr) {
		ssize_t nr = write(writer->fd, writer->bytes + done, writer->nr - done);

		if (nr < 0 && errno != EINTR)
			return -errno;
		done += nr > 0 ? (size_t)nr : 0;
	}
	writer->nr = 0;
	return 0;
}

static void add_byte(struct line_writer *writer, uint8_t byte)
{
	writer->bytes[writer->nr++] = byte;
}

static void add_number(struct line_writer *writer, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		add_byte(writer, (uint8_t)(number | 0x80));
	add_byte(writer, (uint8_t)number);
}

/* Cut at most_bytes with its NUL. */
static void add_text(struct line_writer *writer, const char *text, size_t most_bytes)
{
	size_t nr = text ? strnlen(text, most_bytes - 1) : 0;

	add_byte(writer, text != NULL);
	if (!text)
		return;
	memcpy(writer->bytes + writer->nr, text, nr);
	writer->nr += nr;
	add_byte(writer, '\0');
}

static size_t begin(struct line_writer *writer, enum kind kind)
{
	size_t start = writer->nr;

	writer->nr += LENGTH_BYTES;
	add_byte(writer, (uint8_t)kind);
	return start;
}

/* Writes the length, now that it is known, and sends if there is no room for another message. */
static int finish(struct line_writer *writer, size_t start)
{
	size_t nr = writer->nr - start - LENGTH_BYTES, i;

	for (i = 0; i < LENGTH_BYTES; i++)
		writer->bytes[start + i] = (uint8_t)(nr >> 8 * i);
	return sizeof(writer->bytes) - writer->nr < LENGTH_BYTES + LINE_MESSAGE_MAX_BYTES
		       ? flush(writer)
		       : 0;
}

int line_writer_add(struct line_writer *writer, size_t i, const struct debug_line *lines,
		    size_t nr_lines)
{
	/* So many lines with both texts at their longest would not fit: then all are cut shorter. */
	size_t most = (LINE_MESSAGE_MAX_BYTES - 64) / (2 * (nr_lines + 1)) - 16;
	size_t start = begin(writer, KIND_FOUND), k;

	if (most > LINE_TEXT_MAX_BYTES)
		most = LINE_TEXT_MAX_BYTES;
	add_number(writer, i);
	add_number(writer, nr_lines);
	for (k = 0; k < nr_lines; k++) {
		add_text(writer, lines[k].function, most);
		add_text(writer, lines[k].file, most);
		add_number(writer, lines[k].line);
	}
	return finish(writer, start);
}

int line_writer_end(struct line_writer *writer, const struct debug_info_work *work)
{
	size_t start = begin(writer, KIND_END);
	int err;

	add_number(writer, work->nr_units);
	add_number(writer, work->nr_units_read);
	add_number(writer, work->nr_split_lost);
	err = finish(writer, start);
	return err < 0 ? err : flush(writer);
}

int line_writer_error(struct line_writer *writer, const struct error *error)
{
	size_t start = begin(writer, KIND_ERROR);
	int err;

	add_text(writer, error->text, sizeof(error->text));
	add_text(writer, error->hint, sizeof(error->hint));
	err = finish(writer, start);
	return err < 0 ? err : flush(writer);
}

/* --- reading ------------------------------------------------------------------------------- */

struct line_reader *line_reader_new(const struct debug_info_request *request, struct error *error)
{
	struct line_reader *reader = malloc(sizeof(*reader));

	if (reader) {
		memset(reader, 0, offsetof(struct line_reader, lines));
		reader->nr = 0;
		reader->request = request;
		reader->is_told = calloc(request->nr + 1, 1);
	}
	if (reader && reader->is_told)
		return reader;
	free(reader);
	(void)error_set(error, -ENOMEM, "out of memory for source lines");
	return NULL;
}

void line_reader_free(struct line_reader *reader)
{
	if (reader)
		free(reader->is_told);
	free(reader);
}

/* A text where it lies, NULL for none or one that is not sound. */
static const char *read_text(struct bytes *bytes)
{
	const char *text;
	uint8_t is_there = bytes_u8(bytes);

	if (!is_there)
		return NULL;
	text = bytes_string(bytes);
	if (is_there != 1 || (text && strlen(text) >= LINE_TEXT_MAX_BYTES))
		bytes->failed = true;
	return text;
}

static int read_found(struct line_reader *reader, struct bytes *bytes)
{
	const struct debug_info_request *request = reader->request;
	uint64_t i = bytes_uleb(bytes), nr_lines = bytes_uleb(bytes), k;

	if (i >= request->nr || reader->is_told[i] || !nr_lines || nr_lines > DEBUG_LINES_MAX)
		return -EPROTO;
	for (k = 0; k < nr_lines; k++) {
		struct debug_line *line = &reader->lines[k];
		uint64_t number;

		line->function = read_text(bytes);
		line->file = read_text(bytes);
		number = bytes_uleb(bytes);
		line->line = (uint32_t)number;
		if (number > UINT32_MAX)
			return -EPROTO;
	}
	if (bytes->failed || bytes->nr)
		return -EPROTO;
	reader->is_told[i] = 1;
	return request->found(request->context, (size_t)i, reader->lines, (size_t)nr_lines);
}

static int read_end(struct line_reader *reader, struct bytes *bytes)
{
	struct debug_info_work work = {
		.nr_units = (size_t)bytes_uleb(bytes),
		.nr_units_read = (size_t)bytes_uleb(bytes),
		.nr_split_lost = (size_t)bytes_uleb(bytes),
	};

	if (bytes->failed || bytes->nr || work.nr_units_read > work.nr_units ||
	    work.nr_split_lost > work.nr_units_read)
		return -EPROTO;
	reader->work = work;
	reader->is_over = true;
	return 0;
}

/* Words that may be on their way to a terminal. */
static void take_words(char *to, size_t room, const char *words)
{
	size_t i;

	for (i = 0; words && words[i] && i + 1 < room; i++)
		to[i] = words[i] >= ' ' && words[i] < 0x7f ? words[i] : '?';
	to[i] = '\0';
}

static int read_error(struct line_reader *reader, struct bytes *bytes)
{
	const char *text = read_text(bytes), *hint = read_text(bytes);

	if (bytes->failed || bytes->nr)
		return -EPROTO;
	take_words(reader->error.text, sizeof(reader->error.text), text);
	take_words(reader->error.hint, sizeof(reader->error.hint), hint);
	reader->is_over = true;
	return 0;
}

static int read_message(struct line_reader *reader, struct bytes bytes)
{
	switch (bytes_u8(&bytes)) {
	case KIND_FOUND:
		return read_found(reader, &bytes);
	case KIND_END:
		return read_end(reader, &bytes);
	case KIND_ERROR:
		return read_error(reader, &bytes);
	default:
		return -EPROTO;
	}
}

/* How many bytes the message that is begun has, as far as is known: its length first. */
static int bytes_wanted(const struct line_reader *reader, size_t *ret)
{
	struct bytes bytes = bytes_of(reader->bytes, LENGTH_BYTES);
	uint32_t length;

	*ret = LENGTH_BYTES;
	if (reader->nr < LENGTH_BYTES)
		return 0;
	length = bytes_u32(&bytes);
	if (!length || length > LINE_MESSAGE_MAX_BYTES)
		return -EPROTO;
	*ret += length;
	return 0;
}

/* Takes up to one message of the bytes, and reads it if that is all of it. */
static int take_some(struct line_reader *reader, struct bytes *bytes)
{
	size_t wanted, nr;
	int err = bytes_wanted(reader, &wanted);

	if (err < 0)
		return err;
	nr = wanted - reader->nr < bytes->nr ? wanted - reader->nr : bytes->nr;
	memcpy(reader->bytes + reader->nr, bytes_skip(bytes, nr), nr);
	reader->nr += nr;
	if (reader->nr < wanted || wanted == LENGTH_BYTES)
		return 0;
	reader->nr = 0;
	return read_message(reader, bytes_of(reader->bytes + LENGTH_BYTES, wanted - LENGTH_BYTES));
}

int line_reader_take(struct line_reader *reader, const void *bytes, size_t nr)
{
	struct bytes left = bytes_of(bytes, nr);

	reader->total += nr;
	if (reader->total > TOTAL_MAX_BYTES && reader->err == 0)
		reader->err = -EPROTO;
	while (left.nr && reader->err == 0)
		reader->err = reader->is_over ? -EPROTO : take_some(reader, &left);
	return reader->err;
}

int line_reader_end(const struct line_reader *reader, int err, struct debug_info_work *ret,
		    struct error *error)
{
	if (err == 0 && (!reader->is_over || reader->error.text[0] || reader->nr))
		err = -EPROTO;
	if (err == 0) {
		*ret = reader->work;
	} else if (err == -EPROTO) {
		(void)error_set(error, err, "the child that reads debug information is not sound");
	} else if (reader->error.text[0] && error) {
		*error = reader->error;
		error->code = err;
	} else if (err != reader->err && error && !error->text[0]) {
		(void)error_set(error, err, "the child that reads debug information has failed");
	}
	return err;
}
