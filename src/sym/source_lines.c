/*
 * The answer is a sequence of messages. A message is its length (4 bytes, little-endian, of what follows), a kind, and
 *
 *	found  i, nr_lines, and for each line: function, file, line
 *	end    nr_units, nr_units_read, nr_split_lost
 *	error  number, text, hint
 *
 * Numbers are LEB128; a text is 0 for none, or 1, its bytes and a NUL. Nothing follows an end or an
 * error. Repeating a text for each address costs less than a table of texts would.
 */
#include "sym/source_lines.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* Limit on all messages of one request: 100,000 addresses with ten lines of 250 bytes. */
#define TOTAL_MAX_BYTES (256u << 20)
#define LENGTH_BYTES	4

#define ERRNO_MAX 4095 /* as in the kernel */

/* A parser checks its limit of time itself. It is killed if it is this much late. */
#define LINES_LATE_NS (2 * NS_PER_SEC)

enum kind { KIND_FOUND = 1, KIND_END, KIND_ERROR };

/* --- writing ------------------------------------------------------------------------------- */

static int flush(struct answer_writer *writer)
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

static void add_byte(struct answer_writer *writer, uint8_t byte)
{
	writer->bytes[writer->nr++] = byte;
}

static void add_number(struct answer_writer *writer, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		add_byte(writer, (uint8_t)(number | 0x80));
	add_byte(writer, (uint8_t)number);
}

/* Adds a text, truncated to most_bytes including its NUL. */
static void add_text(struct answer_writer *writer, const char *text, size_t most_bytes)
{
	size_t nr = text ? strnlen(text, most_bytes - 1) : 0;

	add_byte(writer, text != NULL);
	if (!text)
		return;
	memcpy(writer->bytes + writer->nr, text, nr);
	writer->nr += nr;
	add_byte(writer, '\0');
}

static size_t begin(struct answer_writer *writer, enum kind kind)
{
	size_t start = writer->nr;

	writer->nr += LENGTH_BYTES;
	add_byte(writer, (uint8_t)kind);
	return start;
}

/* Fills in the message's length, and sends if the buffer has no room for another message. */
static int finish(struct answer_writer *writer, size_t start)
{
	size_t nr = writer->nr - start - LENGTH_BYTES, i;

	for (i = 0; i < LENGTH_BYTES; i++)
		writer->bytes[start + i] = (uint8_t)(nr >> 8 * i);
	return sizeof(writer->bytes) - writer->nr < LENGTH_BYTES + LINE_MESSAGE_MAX_BYTES
		       ? flush(writer)
		       : 0;
}

int answer_writer_add(struct answer_writer *writer, size_t i, const struct debug_line *lines,
		      size_t nr_lines)
{
	/* Limits all texts to equal parts of a message, so that the longest message fits. */
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

int answer_writer_end(struct answer_writer *writer, const struct debug_info_work *work)
{
	size_t start = begin(writer, KIND_END);
	int err;

	add_number(writer, work->nr_units);
	add_number(writer, work->nr_units_read);
	add_number(writer, work->nr_split_lost);
	err = finish(writer, start);
	return err < 0 ? err : flush(writer);
}

int answer_writer_error(struct answer_writer *writer, const struct error *error)
{
	size_t start = begin(writer, KIND_ERROR);
	int err;

	add_number(writer, (uint64_t)-error->code);
	add_text(writer, error->text, sizeof(error->text));
	add_text(writer, error->hint, sizeof(error->hint));
	err = finish(writer, start);
	return err < 0 ? err : flush(writer);
}

/* --- reading ------------------------------------------------------------------------------- */

struct reader {
	const struct debug_info_request *request;
	uint8_t *is_answered; /* by address: it has an answer */
	bool is_over;	      /* an end or error message was read */
	struct debug_info_work work;
	struct error error;
	struct debug_line lines[DEBUG_LINES_MAX];
};

/* Returns a text inside the message; NULL for none or a malformed one, which sets bytes->failed. */
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

static int read_found(struct reader *reader, struct bytes *bytes)
{
	const struct debug_info_request *request = reader->request;
	uint64_t i = bytes_uleb(bytes), nr_lines = bytes_uleb(bytes), k;

	if (i >= request->nr || reader->is_answered[i] || !nr_lines || nr_lines > DEBUG_LINES_MAX)
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
	reader->is_answered[i] = 1;
	return request->found(request->context, (size_t)i, reader->lines, (size_t)nr_lines);
}

static int read_end(struct reader *reader, struct bytes *bytes)
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

/* Copies a text so that it is safe to print on a terminal: bytes other than ASCII become `?`. */
static void copy_printable(char *to, size_t room, const char *words)
{
	size_t i;

	for (i = 0; words && words[i] && i + 1 < room; i++)
		to[i] = words[i] >= ' ' && words[i] < 0x7f ? words[i] : '?';
	to[i] = '\0';
}

static int read_error(struct reader *reader, struct bytes *bytes)
{
	uint64_t number = bytes_uleb(bytes);
	const char *text = read_text(bytes), *hint = read_text(bytes);

	if (bytes->failed || bytes->nr || !number || number > ERRNO_MAX)
		return -EPROTO;
	reader->error.code = -(int)number;
	copy_printable(reader->error.text, sizeof(reader->error.text), text);
	copy_printable(reader->error.hint, sizeof(reader->error.hint), hint);
	reader->is_over = true;
	return 0;
}

static int read_message(struct reader *reader, struct bytes bytes)
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

static int refuse(struct error *error, int err)
{
	return error_set(error, err, "the helper process that reads debug information %s",
			 worker_why_none(err));
}

static int read_messages(struct reader *reader, struct bytes bytes)
{
	int err = 0;

	while (bytes.nr && err == 0 && !reader->is_over) {
		uint32_t length = bytes_u32(&bytes);
		struct bytes message = bytes_cut(&bytes, length);

		err = length && length <= LINE_MESSAGE_MAX_BYTES && !message.failed
			      ? read_message(reader, message)
			      : -EPROTO;
	}
	return err == 0 && (!reader->is_over || bytes.nr) ? -EPROTO : err;
}

int lines_answer_read(const void *bytes, size_t nr, const struct debug_info_request *request,
		      struct debug_info_work *ret, struct error *error)
{
	cleanup_free uint8_t *is_answered = calloc(request->nr + 1, 1);
	struct reader reader = {.request = request, .is_answered = is_answered};
	int err;

	if (!is_answered)
		return error_no_memory(error, "for source lines");
	err = read_messages(&reader, bytes_of(bytes, nr));
	if (err < 0)
		return err == -EPROTO ? refuse(error, err) : err;
	if (reader.error.code && !reader.error.text[0])
		return refuse(error, reader.error.code);
	if (reader.error.code && error)
		*error = reader.error;
	else if (!reader.error.code)
		*ret = reader.work;
	return reader.error.code;
}

/* --- the task --------------------------------------------------------------------------------- */

#define MOST_NS (30 * NS_PER_SEC)

struct lines_question {
	bool inlined, lines;
	uint64_t most_ns; /* then the answers found until then are given */
	char path[PATH_MAX];
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint64_t build_id_bytes;
	uint64_t nr; /* of addresses, of type uint64_t, which follow */
};

struct lines_work {
	struct answer_writer *writer;
	uint64_t end_ns;
};

static int write_found(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct lines_work *work = context;

	if (clock_now_ns() > work->end_ns)
		return -ETIME;
	return answer_writer_add(work->writer, i, lines, nr_lines);
}

/*
 * Opens the file with DWARF: the file itself, its debug file, or one from a server. Returns a
 * descriptor, which the caller closes if it is not job->fd; -ENOENT; or an error for which worker_is_passing().
 */
static int open_debug_info(struct worker_job *job, const struct lines_question *question,
			   struct elf_image *image)
{
	const struct debug_places places = {.job = job};
	struct code_file file = {.fd = image ? job->fd : -1,
				 .path = question->path,
				 .root_fd = -1,
				 .build_id_bytes = question->build_id_bytes};
	cleanup_fd int fd = -1;
	int passing = worker_is_passing(job->fd) ? job->fd : 0;

	if (image && debug_info_exists(job->fd)) {
		(void)snprintf(job->opened, sizeof(job->opened), "%s", question->path);
		return job->fd;
	}
	memcpy(file.build_id, question->build_id, sizeof(file.build_id));
	fd = debug_files_open(&places, &file, image);
	if (fd >= 0 && debug_info_exists(fd))
		return take_fd(&fd);
	if (worker_is_passing(fd))
		passing = fd;
	if (fd >= 0)
		(void)close(take_fd(&fd));
	fd = debug_files_from_server(&places, &file);
	if (fd >= 0 && debug_info_exists(fd))
		return take_fd(&fd);
	if (worker_is_passing(fd))
		passing = fd;
	return passing ? passing : -ENOENT;
}

/* Finds the file's lines, and writes them, or why there are none, to the answer. */
static int answer_lines(struct worker_job *job, const struct lines_question *question,
			const uint64_t *addresses, struct elf_image *image)
{
	struct answer_writer *writer = calloc(1, sizeof(*writer));
	struct lines_work work = {writer, clock_now_ns() + question->most_ns};
	const struct debug_info_request request = {
		.addresses = addresses,
		.nr = question->nr,
		.inlined = question->inlined,
		.lines = question->lines,
		.found = write_found,
		.context = &work,
	};
	struct debug_info_work done = {0};
	struct error error = {0};
	char path[PATH_MAX];
	int fd, err;

	if (!writer)
		return -E2BIG;
	writer->fd = job->answer_fd;
	fd = open_debug_info(job, question, image);
	if (worker_is_passing(fd)) {
		free(writer);
		return -EIO;
	}
	err = fd;
	if (fd >= 0) {
		memcpy(path, job->opened, sizeof(path));
		worker_serve_library(job, path);
		err = debug_info_find(fd, &request, &done, &error);
		worker_serve_library(job, NULL);
	}
	if (fd >= 0 && fd != job->fd)
		(void)close(fd);
	if (err == -ENOMEM)
		(void)error_set(&error, -E2BIG, "its debug information needs too much memory");
	error.code = err == -ENOMEM ? -E2BIG : err;
	/* Without debug information there are no lines. */
	err = fd >= 0 && err < 0 ? answer_writer_error(writer, &error)
				 : answer_writer_end(writer, &done);
	free(writer);
	return err;
}

int lines_task(struct worker_job *job, void **state)
{
	const uint8_t *head = bytes_skip(&job->question, sizeof(struct lines_question));
	cleanup_free struct lines_question *question = malloc(sizeof(*question));
	cleanup_free uint64_t *addresses = malloc(job->question.nr + 1);
	struct elf_image image;
	bool is_read;
	int err;

	if (!question || !addresses)
		return -E2BIG;
	if (!head)
		return -EINVAL;
	memcpy(question, head, sizeof(*question));
	if (question->nr != job->question.nr / sizeof(*addresses) ||
	    question->build_id_bytes > BUILD_ID_MAX_BYTES)
		return -EINVAL;
	memcpy(addresses, job->question.at, job->question.nr);
	is_read = job->fd >= 0 && elf_image_open(&image, job->fd, NULL) == 0;
	if (lseek(job->answer_fd, 0, SEEK_SET) < 0)
		return -errno;
	err = answer_lines(job, question, addresses, is_read ? &image : NULL);
	if (is_read)
		elf_image_close(&image);
	job->answer_bytes = (uint64_t)lseek(job->answer_fd, 0, SEEK_CUR);
	return err;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct lines_question *make_question(const struct code_file *file,
					    const struct debug_info_request *request,
					    uint64_t most_ns)
{
	struct lines_question *question =
		calloc(1, sizeof(*question) + request->nr * sizeof(uint64_t));

	if (!question)
		return NULL;
	question->inlined = request->inlined;
	question->lines = request->lines;
	question->most_ns = most_ns;
	(void)snprintf(question->path, sizeof(question->path), "%s", file->path);
	memcpy(question->build_id, file->build_id, file->build_id_bytes);
	question->build_id_bytes = file->build_id_bytes;
	question->nr = request->nr;
	if (request->nr)
		memcpy(question + 1, request->addresses, request->nr * sizeof(uint64_t));
	return question;
}

int source_lines_find(struct worker *worker, const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error)
{
	const uint64_t most_ns =
		place->most_ns && place->most_ns < MOST_NS ? place->most_ns : MOST_NS;
	cleanup_free struct lines_question *question = make_question(place->file, request, most_ns);
	const struct worker_question asked = {
		.task = TASK_LINES,
		.bytes = question,
		.nr = sizeof(*question) + request->nr * sizeof(uint64_t),
		.handle = place->file->fd,
		.file = place->file->id,
		.most_ns = most_ns + LINES_LATE_NS,
		.most_bytes = TOTAL_MAX_BYTES,
		.place = place->find_place,
		.context = place->context,
	};
	enum parser parser = place->file->is_of_root ? PARSER_ROOT_FILES : PARSER_OTHER_FILES;
	cleanup_free void *bytes = NULL;
	size_t nr = 0;
	int err;

	if (!question)
		return error_no_memory(error, "for source lines");
	err = worker_call_twice(worker, parser, &asked, place->stop_fd, &bytes, &nr);
	return err < 0 ? refuse(error, err) : lines_answer_read(bytes, nr, request, ret, error);
}
