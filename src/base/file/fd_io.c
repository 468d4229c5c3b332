/*
 * pread() and pwrite() until all bytes are transferred. A stream remembers that it failed, but not
 * why: that is in errno, until something else fails.
 *
 * The line buffer holds complete lines and the beginning of one, which is moved to its front when
 * more is read. The buffer grows only if a line does not fit. memchr() finds line ends at memory
 * speed.
 */
#include "base/file/fd_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define HOLLOW_SHARE 16

ssize_t fd_read_up_to(int fd, uint64_t offset, void *to, size_t nr)
{
	size_t done = 0;

	while (done < nr) {
		ssize_t got = pread(fd, (char *)to + done, nr - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int fd_read_at(int fd, uint64_t offset, void *to, size_t nr)
{
	ssize_t got = fd_read_up_to(fd, offset, to, nr);

	return got < 0 ? (int)got : (size_t)got < nr ? -ENODATA : 0;
}

/* Compressed blocks count as data, not holes. Stops as soon as enough data was found. */
bool fd_is_hollow(int fd, uint64_t offset, uint64_t nr)
{
	uint64_t at = offset, end = offset + nr, stored = 0;

	while (at < end) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return false;
		if (data < 0 || (uint64_t)data >= end)
			break;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			return false;
		at = (uint64_t)hole;
		stored += (at < end ? at : end) - (uint64_t)data;
		if (stored >= nr / HOLLOW_SHARE)
			return false;
	}
	return nr > 0;
}

int fd_write_at(int fd, uint64_t offset, const void *from, size_t nr)
{
	const char *at = from;

	while (nr) {
		ssize_t put = pwrite(fd, at, nr, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		at += put;
		offset += (uint64_t)put;
		nr -= (size_t)put;
	}
	return 0;
}

void fd_open_standard_streams(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDWR};
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
			return;
}

uint64_t fd_raise_limit(void)
{
	struct rlimit limit, wanted;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return UINT64_MAX;
	wanted = (struct rlimit){limit.rlim_max, limit.rlim_max};
	return setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? wanted.rlim_cur : limit.rlim_cur;
}

/* --- streams ---------------------------------------------------------------------------------- */

int stream_finish(FILE *out)
{
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* glibc's streams can push back all bytes that were read from them; other libcs' only one byte. */
static bool put_back(const char *head, size_t nr, FILE *in)
{
	while (nr && ungetc((unsigned char)head[nr - 1], in) != EOF)
		nr--;
	return !nr;
}

size_t stream_peek(FILE *in, char *head, size_t nr)
{
	size_t nr_read = 0;
	int byte;

	while (nr_read < nr && (byte = getc_unlocked(in)) != EOF)
		head[nr_read++] = (char)byte;
	clearerr(in);
	return put_back(head, nr_read, in) ? nr_read : 0;
}

int stream_read_all(FILE *in, size_t most, char **ret, size_t *ret_nr)
{
	cleanup_free char *text = malloc(most + 1);
	size_t nr;

	if (!text)
		return -ENOMEM;
	errno = 0;
	nr = fread(text, 1, most + 1, in);
	if (ferror(in))
		return errno ? -errno : -EIO;
	if (nr > most)
		return -EFBIG;
	text[nr] = '\0';
	*ret = take_pointer(&text);
	*ret_nr = nr;
	return 0;
}

/* --- lines of a stream ------------------------------------------------------------------------ */

/* Fits into the L2 cache, so that lines are still cached when they are parsed. */
#define FIRST_BYTES (256U << 10)

/* Reads more after the remaining bytes. 0 or a negative errno. */
static int fill(struct line_reader *reader)
{
	size_t nr_left = reader->end - reader->start;

	if (nr_left == reader->cap &&
	    ARRAY_RESERVE(reader->bytes, reader->cap, nr_left ? 2 * nr_left : FIRST_BYTES) < 0)
		return -ENOMEM;
	if (!reader->bytes) /* never true here; for static analysers, which don't see it */
		return -ENOMEM;
	if (nr_left)
		memmove(reader->bytes, reader->bytes + reader->start, nr_left);
	reader->start = 0;
	reader->end = nr_left;
	errno = 0;
	reader->end +=
		fread_unlocked(reader->bytes + nr_left, 1, reader->cap - nr_left, reader->in);
	if (reader->end == reader->cap)
		return 0;
	reader->at_end = true;
	if (ferror_unlocked(reader->in))
		return errno ? -errno : -EIO;
	return 0;
}

/*
 * Reads until the buffer contains a line end, the maximum length of a line, or the end of the
 * stream. Returns 1 and that position; 0 if nothing is left; or a negative errno.
 */
static int find_end(struct line_reader *reader, const char **ret_end)
{
	size_t nr_seen = 0;
	int result = reader->bytes ? 0 : fill(reader);

	while (!result) {
		const char *start = reader->bytes + reader->start;
		size_t nr = reader->end - reader->start;

		*ret_end = nr > nr_seen ? memchr(start + nr_seen, '\n', nr - nr_seen) : NULL;
		if (*ret_end)
			return 1;
		if (reader->at_end || nr > LINE_READER_MAX_BYTES) {
			*ret_end = start + nr;
			return nr > 0;
		}
		nr_seen = nr;
		result = fill(reader);
	}
	return result < 0 ? result : 0;
}

/* Skips a line, including its line end. */
static void pass(struct line_reader *reader, const char *end)
{
	reader->start = (size_t)(end - reader->bytes);
	if (reader->start < reader->end && *end == '\n')
		reader->start++;
}

static int skip_rest(struct line_reader *reader)
{
	const char *end;
	int result;

	while (reader->in_cut) {
		result = find_end(reader, &end);
		if (result <= 0)
			return result;
		reader->in_cut = end == reader->bytes + reader->end;
		pass(reader, end);
	}
	return 0;
}

int line_reader_next(struct line_reader *reader, struct line *ret)
{
	const char *start, *end;
	int result = skip_rest(reader);

	if (result < 0)
		return result;
	result = find_end(reader, &end);
	if (result <= 0)
		return result;
	start = reader->bytes + reader->start;
	ret->is_cut = end - start > LINE_READER_MAX_BYTES;
	if (ret->is_cut)
		end = start + LINE_READER_MAX_BYTES;
	reader->in_cut = ret->is_cut;
	reader->number++;
	pass(reader, end);
	if (end > start && end[-1] == '\r')
		end--;
	*ret = (struct line){start, (size_t)(end - start), ret->is_cut};
	return 1;
}

int line_reader_peek(struct line_reader *reader, struct line *ret)
{
	const char *end, *last;
	int result = skip_rest(reader);

	if (result >= 0)
		result = find_end(reader, &end);
	if (result <= 0) {
		*ret = (struct line){.text = ""};
		return result;
	}
	last = memrchr(end, '\n', (size_t)(reader->bytes + reader->end - end));
	if (last && !reader->at_end)
		end = last + 1;
	else
		end = reader->bytes + reader->end;
	ret->text = reader->bytes + reader->start;
	ret->nr = (size_t)(end - ret->text);
	ret->is_cut = false;
	return 0;
}

int line_reader_explain(int result, struct error *error)
{
	if (result == -ENOMEM)
		return error_no_memory(error, "");
	return error_set(error, result, "read error: %s", strerror(-result));
}

void line_reader_clear(struct line_reader *reader)
{
	free(reader->bytes);
	*reader = (struct line_reader){.in = NULL};
}
