/*
 * Answers of elf/dwarf/debug_info on their way through a pipe. What is read may have been written by
 * whoever took over the child that reads somebody's file: it is bounded, and so is what it makes us
 * do.
 */
#ifndef STOOK_SYM_LINE_MESSAGES_H
#define STOOK_SYM_LINE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/dwarf/debug_info.h"

/* Of one message, and of one text in it with its NUL. Longer texts are cut by the writer. */
#define LINE_MESSAGE_MAX_BYTES (256u << 10)
#define LINE_TEXT_MAX_BYTES    (16u << 10)

struct line_writer {
	int fd;
	size_t nr;
	uint8_t bytes[2 * LINE_MESSAGE_MAX_BYTES];
};

/* Each returns 0 or a negative errno. What is added is sent when there is enough, or at the end. */
int line_writer_add(struct line_writer *writer, size_t i, const struct debug_line *lines,
		    size_t nr_lines);
int line_writer_end(struct line_writer *writer, const struct debug_info_work *work);
int line_writer_error(struct line_writer *writer, const struct error *error);

struct line_reader;

/* For the answers to this request, which must stay. NULL when out of memory. */
struct line_reader *line_reader_new(const struct debug_info_request *request, struct error *error);
void line_reader_free(struct line_reader *reader);

/*
 * Takes what has come and tells request->found() of the answers that are complete. 0, its negative
 * result, or -EPROTO for what no writer wrote; then it takes no more.
 */
int line_reader_take(struct line_reader *reader, const void *bytes, size_t nr);

/*
 * What came at the end: err, with words about it unless it is the result of request->found(), or
 * *ret; -EPROTO if the end is not there.
 */
int line_reader_end(const struct line_reader *reader, int err, struct debug_info_work *ret,
		    struct error *error);

#endif
