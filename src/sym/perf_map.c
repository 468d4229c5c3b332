/*
 * The file belongs to a process that is profiled, which may cut it or write it anew at any time:
 * it is read with pread(), piece by piece, never mapped. Each piece's whole lines are parsed; the
 * next piece begins with the line that was only half there. So nothing is kept between calls but
 * the offset.
 *
 * A line that fills a whole piece without an end is passed over with it, and what follows is taken
 * for a line of its own: no runtime writes such names, and a file without any line ends must
 * neither fill the memory nor be read again and again.
 */
#include "sym/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- lines --------------------------------------------------------------------------------- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

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

/* Steps over a number and the blanks behind it; NULL if there is none, or one of over 64 bits. */
static const char *parse_number(const char *text, const char *end, uint64_t *ret)
{
	const char *digits;
	uint64_t value = 0;
	int digit;

	if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	for (digits = text; text < end && (digit = digit_of(*text)) >= 0; text++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)digit;
	}
	if (text == digits || text == end || !is_blank(*text))
		return NULL;
	*ret = value;
	return skip_blanks(text, end);
}

/* Adds a line, which is without its end; it is counted if it is none. */
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

/* Up to nr bytes, fewer only where the file ends; or a negative errno. */
static ssize_t read_piece(int fd, uint64_t offset, char *to, size_t nr)
{
	size_t nr_read = 0;

	while (nr_read < nr) {
		ssize_t got = pread(fd, to + nr_read, nr - nr_read, (off_t)(offset + nr_read));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		nr_read += (size_t)got;
	}
	return (ssize_t)nr_read;
}

int perf_map_read(int fd, struct code_map *map, uint64_t *at, size_t *nr_bad)
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
		ssize_t nr = read_piece(fd, *at, piece, PERF_MAP_READ_BYTES);
		size_t nr_parsed;
		int err;

		if (nr <= 0)
			return (int)nr;
		if (*at >= PERF_MAP_MAX_BYTES)
			return -EFBIG;
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
