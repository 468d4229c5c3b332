/*
 * The lines of a stream, one after the other, out of one large buffer: no copy and no allocation
 * for each, and NUL bytes are bytes like others.
 *
 *	struct line_reader reader = {.in = in};
 *	struct line line;
 *	while ((result = line_reader_next(&reader, &line)) > 0)
 *		…
 *	line_reader_clear(&reader);
 *
 * A line ends with \n or \r\n, which are no part of it; the last one may end with the stream.
 */
#ifndef STOOK_BASE_LINE_READER_H
#define STOOK_BASE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Of a longer line only so much is there. */
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
 * What comes next without taking it: whole lines that are in the buffer, at least one unless it is
 * longer than a line may be, with their line ends. Good until the next line is asked for. 0 (also
 * if there are none), -ENOMEM, or the stream's errno.
 */
int line_reader_peek(struct line_reader *reader, struct line *ret);

/* Puts what went wrong into words; returns result. */
int line_reader_explain(int result, struct error *error);

void line_reader_clear(struct line_reader *reader); /* the stream stays open */

#endif
