/*
 * Reads the files in which runtimes name their JIT-compiled code into a code_map. The files belong
 * to the profiled process, which may truncate or rewrite them at any time: they are read with
 * pread(), never mapped, and only the offset is kept between calls.
 *
 * A perf map is read in pieces. The complete lines of each piece are parsed; the next piece begins
 * with the incomplete line. A line that fills a whole piece without a newline is skipped, and the
 * rest is parsed as a new line: no runtime writes such names, and a file without any newlines must
 * neither fill the memory nor be read again and again.
 *
 * A jitdump is read through a window: one pread() reads the records of the next 64 KiB, and longer
 * parts (mostly machine code) are skipped unread. A record is used only if it is complete in the
 * file.
 *
 *	header	 u32 magic, version, bytes of header, ELF machine, 0, pid; u64 time, flags
 *	record	 u32 kind, bytes of record; u64 time; then by kind:
 *	load	 u32 pid, tid; u64 vma, address, bytes of code, index; name, NUL; code
 *	move	 u32 pid, tid; u64 vma, old address, new address, bytes of code, index
 *
 * A move identifies its code by the index only. No known runtime writes moves, so nothing is stored
 * for them in advance: at the first move in a call, the file is read again from its beginning to
 * find the load of each index, and the name is read from that load.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/hash.h"
#include "base/text.h"
#include "sym/code_map.h"

/* --- perf maps -------------------------------------------------------------------------------- */

/* --- lines --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && is_blank(*text))
		text++;
	return text;
}

/* Skips a number and the blanks after it; NULL if there is no number, or it exceeds 64 bits. */
static const char *parse_number(const char *text, const char *end, uint64_t *ret)
{
	const char *digits;
	uint64_t value = 0;
	int digit;

	if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	for (digits = text; text < end && (digit = text_hex_digit(*text)) >= 0; text++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)digit;
	}
	if (text == digits || text == end || !is_blank(*text))
		return NULL;
	*ret = value;
	return skip_blanks(text, end);
}

/* Parses and adds a line, without its newline. A malformed line is counted in *nr_bad. */
static int parse_line(const char *text, const char *end, struct code_map *map, size_t *nr_bad)
{
	uint64_t start = 0, bytes = 0;

	if (end - text > PERF_MAP_LINE_BYTES)
		end = text + PERF_MAP_LINE_BYTES;
	while (end > text && (end[-1] == '\r' || is_blank(end[-1])))
		end--;
	text = parse_number(skip_blanks(text, end), end, &start);
	if (text)
		text = parse_number(text, end, &bytes);
	if (!text || text == end || bytes > UINT64_MAX - start) {
		++*nr_bad;
		return 0;
	}
	return code_map_add(map, start, bytes, text, (size_t)(end - text));
}

int perf_map_parse(const char *text, size_t nr, struct code_map *map, size_t *nr_bad,
		   size_t *ret_nr)
{
	const char *at = text, *end = text + nr, *newline;
	int err = 0;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		err = parse_line(at, newline, map, nr_bad);
		if (err < 0)
			break;
		at = newline + 1;
	}
	*ret_nr = (size_t)(at - text);
	return err;
}

/* --- the file ------------------------------------------------------------------------------ */

/*
 * Skips a hole at *at, and with it a line cut off by the hole: a sparse file of terabytes may have
 * no data at all, and a file that was truncated while its writer kept its offset begins with a
 * hole. False if no data follows.
 */
static bool skip_hole(int fd, uint64_t *at, size_t *nr_bad)
{
	off_t data = lseek(fd, (off_t)*at, SEEK_DATA);

	if (data < 0)
		return errno != ENXIO;
	*nr_bad += (uint64_t)data > *at;
	*at = (uint64_t)data;
	return true;
}

int perf_map_read(int fd, struct code_map *map, uint64_t *at, size_t *nr_bad,
		  struct read_budget *budget)
{
	cleanup_free char *piece = malloc(PERF_MAP_READ_BYTES);
	struct stat status;

	if (!piece)
		return -ENOMEM;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISREG(status.st_mode) && (uint64_t)status.st_size < *at)
		*at = 0;
	for (;;) {
		size_t nr_parsed;
		ssize_t nr;
		int err;

		if (!skip_hole(fd, at, nr_bad))
			return 0;
		nr = fd_read_up_to(fd, *at, piece, PERF_MAP_READ_BYTES);
		if (nr <= 0)
			return (int)nr;
		if (*at >= PERF_MAP_MAX_BYTES)
			return -EFBIG;
		err = read_budget_take(budget, (uint64_t)nr);
		if (err < 0)
			return err;
		err = perf_map_parse(piece, (size_t)nr, map, nr_bad, &nr_parsed);
		if (err == 0 && !nr_parsed && nr == PERF_MAP_READ_BYTES) {
			nr_parsed = PERF_MAP_READ_BYTES;
			++*nr_bad;
		}
		*at += nr_parsed;
		if (err < 0 || nr < PERF_MAP_READ_BYTES)
			return err;
	}
}

/* --- jitdumps --------------------------------------------------------------------------------- */

#define MAGIC	0x4A695444
#define VERSION 1

#define HEADER_BYTES	 40
#define HEADER_MAX_BYTES 65536
#define RECORD_BYTES	 16 /* the common header of all kinds */
#define LOAD_BYTES	 56 /* a load up to its name */
#define MOVE_BYTES	 64

/* Enough for the longest name and the fields before it. */
#define WINDOW_BYTES 65536

enum kind { KIND_LOAD, KIND_MOVE };

struct record {
	uint32_t kind;
	uint32_t bytes; /* of the whole record */
	uint64_t at;
};

struct load {
	uint64_t address, code_bytes, index;
	const char *name; /* in the window */
	size_t nr_name;
};

struct move {
	uint64_t address, code_bytes, index;
};

struct reader {
	int fd;
	struct read_budget *budget;
	uint64_t file_bytes;
	struct code_map *map;
	uint8_t *window;
	uint64_t window_at;
	size_t nr_window;
	bool knows_loads;
	struct u64_map loads; /* index -> file offset of its latest load */
};

/* --- reading ------------------------------------------------------------------------------- */

static int fill_window(struct reader *reader, uint64_t at)
{
	ssize_t got;

	reader->nr_window = 0;
	reader->window_at = at;
	got = fd_read_up_to(reader->fd, at, reader->window, WINDOW_BYTES);
	if (got < 0)
		return (int)got;
	reader->nr_window = (size_t)got;
	return read_budget_take(reader->budget, (uint64_t)got);
}

/* Reads nr bytes (at most a window) at an offset; valid until the next call. 0 or -errno. */
static int look_at(struct reader *reader, uint64_t at, size_t nr, struct bytes *ret)
{
	uint64_t skipped = at - reader->window_at;

	if (at < reader->window_at || skipped > reader->nr_window ||
	    nr > reader->nr_window - skipped) {
		int err = fill_window(reader, at);

		if (err < 0)
			return err;
		skipped = 0;
		if (nr > reader->nr_window)
			return -ENODATA; /* the file was truncated meanwhile */
	}
	*ret = bytes_of(reader->window + skipped, nr);
	return 0;
}

/* 1; 0 if no complete record follows; or a negative errno. */
static int read_record(struct reader *reader, uint64_t at, struct record *ret)
{
	struct bytes bytes;
	int err;

	if (reader->file_bytes < at || reader->file_bytes - at < RECORD_BYTES)
		return 0;
	err = look_at(reader, at, RECORD_BYTES, &bytes);
	if (err < 0)
		return err;
	ret->kind = bytes_u32(&bytes);
	ret->bytes = bytes_u32(&bytes);
	ret->at = at;
	if (ret->bytes < RECORD_BYTES)
		return -EBADMSG;
	return ret->bytes <= reader->file_bytes - at;
}

/* 1; 0 if its sizes are inconsistent; or a negative errno. */
static int read_load(struct reader *reader, const struct record *record, struct load *ret)
{
	size_t nr = record->bytes;
	struct bytes bytes;
	const char *name;
	int err;

	if (nr > LOAD_BYTES + JITDUMP_NAME_BYTES)
		nr = LOAD_BYTES + JITDUMP_NAME_BYTES;
	err = look_at(reader, record->at, nr, &bytes);
	if (err < 0)
		return err;
	(void)bytes_skip(&bytes, RECORD_BYTES + 2 * sizeof(uint32_t) + sizeof(uint64_t));
	ret->address = bytes_u64(&bytes);
	ret->code_bytes = bytes_u64(&bytes);
	ret->index = bytes_u64(&bytes);
	name = (const char *)bytes.at;
	ret->nr_name = bytes.nr ? strnlen(name, bytes.nr) : 0;
	ret->name = name;
	if (bytes.failed || (ret->nr_name == bytes.nr && nr == record->bytes))
		return 0;
	return ret->code_bytes < record->bytes - LOAD_BYTES - ret->nr_name;
}

/* As read_load(), for a move. */
static int read_move(struct reader *reader, const struct record *record, struct move *ret)
{
	struct bytes bytes;
	int err;

	if (record->bytes < MOVE_BYTES)
		return 0;
	err = look_at(reader, record->at, MOVE_BYTES, &bytes);
	if (err < 0)
		return err;
	(void)bytes_skip(&bytes, RECORD_BYTES + 2 * sizeof(uint32_t) + 2 * sizeof(uint64_t));
	ret->address = bytes_u64(&bytes);
	ret->code_bytes = bytes_u64(&bytes);
	ret->index = bytes_u64(&bytes);
	return 1;
}

/* 1; 0 if the header is incomplete; or a negative errno. *ret: offset of the first record. */
static int read_header(struct reader *reader, uint64_t *ret)
{
	struct bytes bytes;
	uint32_t magic, version, nr;
	int err;

	if (reader->file_bytes < HEADER_BYTES)
		return 0;
	err = look_at(reader, 0, HEADER_BYTES, &bytes);
	if (err < 0)
		return err;
	magic = bytes_u32(&bytes);
	version = bytes_u32(&bytes);
	nr = bytes_u32(&bytes);
	if (magic != MAGIC || version != VERSION || nr < HEADER_BYTES || nr > HEADER_MAX_BYTES)
		return -ENOEXEC;
	*ret = nr;
	return 1;
}

/* --- moves --------------------------------------------------------------------------------- */

static int remember_load(struct reader *reader, const struct record *record,
			 const struct load *load)
{
	if (reader->loads.nr >= CODE_MAP_MAX_RANGES && !u64_map_find(&reader->loads, load->index))
		return 0;
	return u64_map_set(&reader->loads, load->index, record->at);
}

/* Indexes the loads before offset `end`. */
static int find_loads(struct reader *reader, uint64_t end)
{
	struct record record;
	struct load load;
	uint64_t at;
	int got = read_header(reader, &at);

	while (got > 0 && at < end) {
		got = read_record(reader, at, &record);
		if (got <= 0)
			break;
		at += record.bytes;
		if (record.kind != KIND_LOAD)
			continue;
		got = read_load(reader, &record, &load);
		if (got > 0)
			got = remember_load(reader, &record, &load);
		if (got < 0)
			break;
		got = 1;
	}
	reader->knows_loads = got >= 0;
	return got < 0 ? got : 0;
}

static int add_move(struct reader *reader, const struct record *record)
{
	const uint64_t *load_at;
	struct record loaded;
	struct move move;
	struct load load;
	int got = read_move(reader, record, &move);

	if (got <= 0)
		return got;
	if (!reader->knows_loads)
		got = find_loads(reader, record->at);
	if (got < 0)
		return got;
	load_at = u64_map_find(&reader->loads, move.index);
	if (!load_at)
		return 0;
	got = read_record(reader, *load_at, &loaded);
	if (got > 0)
		got = read_load(reader, &loaded, &load);
	if (got <= 0)
		return got;
	return code_map_add(reader->map, move.address, move.code_bytes, load.name, load.nr_name);
}

/* --- all of it ----------------------------------------------------------------------------- */

static int add_load(struct reader *reader, const struct record *record)
{
	struct load load;
	int got = read_load(reader, record, &load);

	if (got <= 0)
		return got;
	if (reader->knows_loads && remember_load(reader, record, &load) < 0)
		return -ENOMEM;
	return code_map_add(reader->map, load.address, load.code_bytes, load.name, load.nr_name);
}

static int add_records(struct reader *reader, uint64_t *at)
{
	struct record record;
	int got = 1;

	if (!*at)
		got = read_header(reader, at);
	while (got > 0) {
		int err = 0;

		got = read_record(reader, *at, &record);
		if (got <= 0)
			break;
		if (*at >= JITDUMP_MAX_BYTES)
			return -EFBIG;
		if (record.kind == KIND_LOAD)
			err = add_load(reader, &record);
		else if (record.kind == KIND_MOVE)
			err = add_move(reader, &record);
		if (err < 0)
			return err;
		*at += record.bytes;
	}
	return got;
}

int jitdump_read(int fd, struct code_map *map, uint64_t *at, struct read_budget *budget)
{
	struct reader reader = {.fd = fd, .budget = budget, .map = map};
	cleanup_free uint8_t *window = NULL;
	struct stat status;
	int err;

	if (fstat(fd, &status) < 0)
		return -errno;
	reader.file_bytes = (uint64_t)status.st_size;
	if (reader.file_bytes < *at)
		*at = 0;
	window = malloc(WINDOW_BYTES);
	if (!window)
		return -ENOMEM;
	reader.window = window;
	err = add_records(&reader, at);
	u64_map_clear(&reader.loads);
	/* Truncated while it was read: no error, the next call sees the new size. */
	return err == -ENODATA ? 0 : err;
}
