/*
 * Reading and writing all of it: descriptors, where short counts and interrupted calls are taken
 * care of; streams; and the lines of a stream. Also the descriptors that this needs: the standard
 * streams', and enough of them.
 */
#ifndef STOOK_BASE_FD_IO_H
#define STOOK_BASE_FD_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/* Reads up to nr bytes at an offset, fewer only where the file ends; or -errno. */
ssize_t fd_read_up_to(int fd, uint64_t offset, void *to, size_t nr);

/* Reads exactly nr bytes at an offset: 0, -ENODATA if the file ends before that, or -errno. */
int fd_read_at(int fd, uint64_t offset, void *to, size_t nr);

/*
 * True if less than a sixteenth of the range is stored and the rest is a hole. A file of a few KiB
 * can claim to be terabytes of zeros; what is worth reading has bytes. False where the file system
 * does not know.
 */
bool fd_is_hollow(int fd, uint64_t offset, uint64_t nr);

/* Writes all of them: 0 or -errno. */
int fd_write_at(int fd, uint64_t offset, const void *from, size_t nr);

/*
 * Standard streams that are closed become /dev/null: a file that is opened later must not become
 * standard output or standard error, and get what is said there.
 */
void fd_open_standard_streams(void);

/*
 * Allows ourselves as many descriptors as we may have, which programs that are begun after it
 * inherit. How many that is; UINT64_MAX: no limit, or it can't be told.
 */
uint64_t fd_allow_all(void);

/* --- streams ---------------------------------------------------------------------------------- */

/*
 * Flushes what was written: 0, or a negative errno if that, or any writing before it, failed. Why an
 * earlier one did is known only if errno was set to 0 before the first.
 */
int stream_finish(FILE *out);

/*
 * The next bytes, which stay to be read. Fewer than were asked for are all that there are; 0 also if
 * they can't be put back.
 */
size_t stream_peek(FILE *in, char *head, size_t nr);

/* --- lines of a stream ------------------------------------------------------------------------ */

/*
 * One line after the other, out of one large buffer: no copy and no allocation for each, and NUL
 * bytes are bytes like others.
 *
 *	struct line_reader reader = {.in = in};
 *	struct line line;
 *	while ((result = line_reader_next(&reader, &line)) > 0)
 *		…
 *	line_reader_clear(&reader);
 *
 * A line ends with \n or \r\n, which are no part of it; the last one may end with the stream.
 */

/* Longer lines are truncated. */
#define LINE_READER_MAX_BYTES (16U << 20)

struct line {
	const char *text; /* not ended by a NUL; good until the next line is asked for */
	size_t nr;
	bool is_cut; /* it was longer; the rest was passed over */
};

struct line_reader {
	FILE *in;
	uint64_t number; /* of the line that was handed out last, counted from 1 */
	char *bytes;
	size_t start, end, cap; /* what is left of the bytes, and their room */
	bool at_end;		/* of the stream */
	bool in_cut;		/* the rest of a line that was cut is still to be passed over */
};

/* 1: a line; 0: there are no more; -ENOMEM, or the stream's errno. */
int line_reader_next(struct line_reader *reader, struct line *ret);

/*
 * Peeks at the whole lines that are in the buffer, with their line ends; at least one, unless it is
 * longer than a line may be. They are valid until the next line is read. 0 (also at the end of the
 * file), -ENOMEM, or the stream's errno.
 */
int line_reader_peek(struct line_reader *reader, struct line *ret);

/* Puts what went wrong into words; returns result. */
int line_reader_explain(int result, struct error *error);

void line_reader_clear(struct line_reader *reader); /* the stream stays open */

#endif
