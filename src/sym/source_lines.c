/*
 * The child writes messages to a pipe and exits. Answers that arrive before it is killed are used.
 *
 * The child runs as the owner of the file, without any capabilities. The owner could have run a
 * debugger on the file anyway, so a crafted file that takes over the child gains nothing but a look
 * at our memory (base/isolated). If root owns the file:
 *
 *  - in our own root, only root can have put the file there, and its .dwo files may be readable by
 *    root only: the child stays root, without capabilities;
 *  - in another root, the owner may be the root user of a container, which must not get our uid 0:
 *    it may write /proc/sys even without capabilities. The child runs as `nobody`; .dwo files that
 *    `nobody` may not read are not found.
 *
 * A message is its length (4 bytes, little-endian, of what follows), a kind, and
 *
 *	found  i, nr_lines, and for each line: function, file, line
 *	end    nr_units, nr_units_read, nr_split_lost
 *	error  text, hint
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
#include "base/clock.h"
#include "base/isolated.h"
#include "base/read_budget.h"
#include "proc/process_info.h"

/* Limit on all messages of one request: 100,000 addresses with ten lines of 400 bytes. */
#define TOTAL_MAX_BYTES (400u << 20)
#define LENGTH_BYTES	4

enum kind { KIND_FOUND = 1, KIND_END, KIND_ERROR };

struct answer_reader {
	const struct debug_info_request *request;
	uint8_t *is_answered; /* by address: it has an answer */
	uint64_t total;	      /* bytes received */
	bool is_over;	      /* an end or error message was received */
	int err;	      /* the first failure */
	struct debug_info_work work;
	struct error error;
	struct debug_line lines[DEBUG_LINES_MAX];
	size_t nr; /* bytes of the current, incomplete message */
	uint8_t bytes[LENGTH_BYTES + LINE_MESSAGE_MAX_BYTES];
};

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

	add_text(writer, error->text, sizeof(error->text));
	add_text(writer, error->hint, sizeof(error->hint));
	err = finish(writer, start);
	return err < 0 ? err : flush(writer);
}

/* --- reading ------------------------------------------------------------------------------- */

struct answer_reader *answer_reader_new(const struct debug_info_request *request,
					struct error *error)
{
	struct answer_reader *reader = malloc(sizeof(*reader));

	if (reader) {
		memset(reader, 0, offsetof(struct answer_reader, lines));
		reader->nr = 0;
		reader->request = request;
		reader->is_answered = calloc(request->nr + 1, 1);
	}
	if (reader && reader->is_answered)
		return reader;
	free(reader);
	(void)error_no_memory(error, "for source lines");
	return NULL;
}

void answer_reader_free(struct answer_reader *reader)
{
	if (reader)
		free(reader->is_answered);
	free(reader);
}

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

static int read_found(struct answer_reader *reader, struct bytes *bytes)
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

static int read_end(struct answer_reader *reader, struct bytes *bytes)
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

static int read_error(struct answer_reader *reader, struct bytes *bytes)
{
	const char *text = read_text(bytes), *hint = read_text(bytes);

	if (bytes->failed || bytes->nr)
		return -EPROTO;
	copy_printable(reader->error.text, sizeof(reader->error.text), text);
	copy_printable(reader->error.hint, sizeof(reader->error.hint), hint);
	reader->is_over = true;
	return 0;
}

static int read_message(struct answer_reader *reader, struct bytes bytes)
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

/* *ret: the size to collect for the current message: its length field, then all of it. */
static int bytes_wanted(const struct answer_reader *reader, size_t *ret)
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

/* Appends bytes to the current message, and parses it if it is complete. */
static int append_bytes(struct answer_reader *reader, struct bytes *bytes)
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

int answer_reader_parse(struct answer_reader *reader, const void *bytes, size_t nr)
{
	struct bytes left = bytes_of(bytes, nr);

	reader->total += nr;
	if (reader->total > TOTAL_MAX_BYTES && reader->err == 0)
		reader->err = -EPROTO;
	while (left.nr && reader->err == 0)
		reader->err = reader->is_over ? -EPROTO : append_bytes(reader, &left);
	return reader->err;
}

int answer_reader_end(const struct answer_reader *reader, int err, struct debug_info_work *ret,
		      struct error *error)
{
	if (err == 0 && (!reader->is_over || reader->error.text[0] || reader->nr))
		err = -EPROTO;
	if (err == 0) {
		*ret = reader->work;
	} else if (err == -EPROTO) {
		(void)error_set(
			error, err,
			"malformed answer from the child process that reads debug information");
	} else if (reader->error.text[0] && error) {
		*error = reader->error;
		error->code = err;
	} else if (err != reader->err && error && !error->text[0]) {
		(void)error_set(error, err,
				"the child process that reads debug information failed");
	}
	return err;
}

#define MOST_NS	     (30 * NS_PER_SEC)
#define MEMORY_BYTES (8ULL << 30) /* of address space: mapped files count, too */
#define MEMORY_SHARE 2		  /* or 1/2 of the host's spare memory, if that is less */
#define NOBODY	     65534

struct work {
	const struct source_lines_place *place;
	struct debug_info_request request;
	struct answer_writer *writer; /* in the child */
	struct answer_reader *reader; /* in the parent */
	int taken;		      /* in the parent: result of reading answers */
	char folder[PATH_MAX];
};

/* --- in the child -------------------------------------------------------------------------- */

static int write_found(void *context, size_t i, const struct debug_line *lines, size_t nr_lines)
{
	struct work *work = context;

	return answer_writer_add(work->writer, i, lines, nr_lines);
}

static int work_in_child(void *context, int fd)
{
	struct work *work = context;
	struct debug_info_request request = work->request;
	struct debug_info_work done = {0};
	struct error error = {0};
	int err, written;

	work->writer = calloc(1, sizeof(*work->writer));
	if (!work->writer)
		return -ENOMEM;
	work->writer->fd = fd;
	request.found = write_found;
	request.context = work;
	err = debug_info_find(work->place->fd, &request, &done, &error);
	written = err < 0 ? answer_writer_error(work->writer, &error)
			  : answer_writer_end(work->writer, &done);
	free(work->writer);
	return err < 0 ? err : written;
}

/* --- in the parent ------------------------------------------------------------------------- */

static int read_in_parent(void *context, const void *bytes, size_t nr)
{
	struct work *work = context;

	work->taken = answer_reader_parse(work->reader, bytes, nr);
	return work->taken;
}

/* Finds the file's folder, as a path inside its root; empty if not known. */
static void find_folder(const struct source_lines_place *place, char folder[PATH_MAX])
{
	char root[PATH_MAX] = "";
	char *last;
	size_t nr;

	if (!process_own_fd_path(place->fd, folder) ||
	    (place->root_fd >= 0 && !process_own_fd_path(place->root_fd, root)))
		folder[0] = '\0';
	nr = strlen(root);
	/*
	 * A root in another mount namespace reads as "/": then the path is already relative to it.
	 */
	if (nr > 1 && !strncmp(folder, root, nr) && folder[nr] == '/')
		memmove(folder, folder + nr, strlen(folder + nr) + 1);
	last = strrchr(folder, '/');
	if (last)
		*last = '\0';
}

/* The share of the host's spare memory comes on top of the address space inherited at fork. */
static uint64_t choose_memory(void)
{
	uint64_t spare = read_budget_spare_memory() / MEMORY_SHARE;
	uint64_t most = MEMORY_BYTES;

	if (ISOLATED_HAS_SHADOW)
		return 0;
	if (spare < most)
		most = process_own_address_space() + spare;
	return most < MEMORY_BYTES ? most : MEMORY_BYTES;
}

static int choose_isolation(struct isolation *ret, const struct source_lines_place *place,
			    struct error *error)
{
	struct stat file;

	if (fstat(place->fd, &file) < 0)
		return error_set_errno(error, "cannot find the owner of the file");
	*ret = (struct isolation){
		.timeout_ns = place->most_ns && place->most_ns < MOST_NS ? place->most_ns : MOST_NS,
		.stop_fd = place->stop_fd,
		.memory_bytes = choose_memory(),
		.root_fd = place->root_fd,
		.uid = file.st_uid,
		.gid = file.st_gid,
		.fds = &place->fd,
		.nr_fds = 1,
	};
	if (file.st_uid == 0 && place->root_fd >= 0)
		ret->uid = ret->gid = NOBODY;
	return 0;
}

int source_lines_find(const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error)
{
	struct work work = {.place = place, .request = *request};
	struct error own = {0};
	struct isolation limits;
	int err;

	err = choose_isolation(&limits, place, error);
	if (err < 0)
		return err;
	if (!work.request.folder) {
		find_folder(place, work.folder);
		work.request.folder = work.folder[0] ? work.folder : NULL;
	}
	work.reader = answer_reader_new(request, error);
	if (!work.reader)
		return -ENOMEM;
	err = isolated_run(work_in_child, read_in_parent, &work, &limits, &own);
	if (err == -EPERM && work.taken == 0 && own.text[0])
		error_hint(&own, "inlined calls and source lines are looked up as the owner of the "
				 "file: add the capability, or leave out --inline and --lines");
	/* The child ran out of memory, not we: skip this file only. */
	if (err == -ENOMEM && work.taken == 0)
		err = -E2BIG;
	err = answer_reader_end(work.reader, err, ret, &own);
	answer_reader_free(work.reader);
	if (err < 0 && error && own.text[0])
		*error = own;
	return err;
}
