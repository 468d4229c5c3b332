/*
 * Complete reads and writes: of descriptors, handling short counts and EINTR; of streams; and of a
 * stream's lines. Also opens the standard streams and raises the limit of descriptors.
 */
#ifndef STOOK_BASE_FILE_FD_IO_H
#define STOOK_BASE_FILE_FD_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Reads up to nr bytes at an offset; fewer only at the end of the file. Returns the number, or
 * -errno.
 */
ssize_t fd_read_up_to(int fd, uint64_t offset, void *to, size_t nr);

/* Reads exactly nr bytes at an offset: 0, -ENODATA if the file ends before that, or -errno. */
int fd_read_at(int fd, uint64_t offset, void *to, size_t nr);

/*
 * True if less than a sixteenth of the range is stored and the rest is a hole: a file of a few KiB
 * can pretend to be terabytes of zeros, and useful files have data. False if the file system
 * doesn't know.
 */
bool fd_is_hollow(int fd, uint64_t offset, uint64_t nr);

/* Writes nr bytes at an offset: 0 or -errno. */
int fd_write_at(int fd, uint64_t offset, const void *from, size_t nr);

/*
 * Opens /dev/null in place of closed standard streams. Otherwise a file opened later could become
 * standard output or standard error and receive their messages. Reading standard input and writing standard output fail
 * then (EBADF), so that results are not lost silently; messages to standard error vanish.
 */
void fd_open_standard_streams(void);

/*
 * Raises the soft limit of open descriptors to the hard limit; child processes inherit it. Returns
 * the limit; UINT64_MAX if there is none or it is unknown.
 */
uint64_t fd_raise_limit(void);

/* --- streams ---------------------------------------------------------------------------------- */

/*
 * Flushes the stream: 0, or a negative errno if that or any earlier write failed. The errno of an
 * earlier failure is known only if errno was set to 0 before the first write.
 */
int stream_finish(FILE *out);

/*
 * Returns the next bytes of the stream without consuming them. Fewer than nr if the stream ends; 0
 * also if they can't be pushed back.
 */
size_t stream_peek(FILE *in, char *head, size_t nr);

/*
 * Reads all of a stream: a text with a NUL behind it. *ret is to be freed. 0, -EFBIG if it has more than `most` bytes,
 * -ENOMEM or another negative errno.
 */
int stream_read_all(FILE *in, size_t most, char **ret, size_t *ret_nr);

/* --- lines of a stream ------------------------------------------------------------------------ */

/*
 * Reads lines out of one large buffer: no copy and no allocation per line. Lines may contain NUL
 * bytes.
 *
 *	struct line_reader reader = {.in = in};
 *	struct line line;
 *	while ((result = line_reader_next(&reader, &line)) > 0)
 *		…
 *	line_reader_clear(&reader);
 *
 * A line ends with \n or \r\n, which are not part of it; the last one may end with the stream.
 */

/* Longer lines are truncated. */
#define LINE_READER_MAX_BYTES (16U << 20)

struct line {
	const char *text; /* not NUL-terminated; valid until the next line is read */
	size_t nr;
	bool is_cut; /* longer than the limit; the rest was skipped */
};

struct line_reader {
	FILE *in;
	uint64_t number; /* of the last line returned, counted from 1 */
	char *bytes;
	size_t start, end, cap; /* bounds of the unread bytes; the buffer's size */
	bool at_end;		/* of the stream */
	bool in_cut;		/* the rest of a truncated line must still be skipped */
};

/* 1: a line; 0: end of the stream; -ENOMEM, or the stream's errno. */
int line_reader_next(struct line_reader *reader, struct line *ret);

/*
 * Peeks at the complete lines that are in the buffer, with their line ends; at least one, unless it
 * is longer than the limit. They are valid until the next line is read. 0 (also at the end of the
 * file), -ENOMEM, or the stream's errno.
 */
int line_reader_peek(struct line_reader *reader, struct line *ret);

/* Fills *error with a message for a negative result; returns result. */
int line_reader_explain(int result, struct error *error);

void line_reader_clear(struct line_reader *reader); /* does not close the stream */

#endif
