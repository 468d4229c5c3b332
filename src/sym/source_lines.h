/*
 * Inlined calls and lines for the addresses of one file, looked up by elf/dwarf/debug_info in an
 * isolated child that has no more rights than the file's owner, within the file's own root.
 */
#ifndef STOOK_SYM_SOURCE_LINES_H
#define STOOK_SYM_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "elf/dwarf/debug_info.h"

struct source_lines_place {
	int fd;	     /* of the file with the DWARF; stays the caller's */
	int root_fd; /* of the root that paths in it are of; -1: ours */
	/* What this file may take where that is less than any file may; 0: as any. */
	uint64_t most_ns;
	int stop_fd; /* looking things up ends when this can be read; 0 or -1: there is none */
};

/*
 * As debug_info_find(): request->found() is called in this process. Also -ETIME, -ECANCELED, -EFAULT, -E2BIG
 * (more memory than the child may have): then what was found until then has been told. -ENOMEM is
 * ours, not the child's.
 */
int source_lines_find(const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error);

/* --- the child's answers ---------------------------------------------------------------------- */

/*
 * Answers of elf/dwarf/debug_info on their way through a pipe; here for tests. They may have been
 * written by an attacker who took over the child through somebody's file: their size is bounded,
 * and so is the work that they cause.
 */

/* Of one message, and of one text in it with its NUL. Longer texts are cut by the writer. */
#define LINE_MESSAGE_MAX_BYTES (256u << 10)
#define LINE_TEXT_MAX_BYTES    (16u << 10)

struct answer_writer {
	int fd;
	size_t nr;
	uint8_t bytes[2 * LINE_MESSAGE_MAX_BYTES];
};

/* Each returns 0 or a negative errno. What is added is sent when there is enough, or at the end. */
int answer_writer_add(struct answer_writer *writer, size_t i, const struct debug_line *lines,
		      size_t nr_lines);
int answer_writer_end(struct answer_writer *writer, const struct debug_info_work *work);
int answer_writer_error(struct answer_writer *writer, const struct error *error);

struct answer_reader;

/* For the answers to this request, which must stay. NULL when out of memory. */
struct answer_reader *answer_reader_new(const struct debug_info_request *request,
					struct error *error);
void answer_reader_free(struct answer_reader *reader);

/*
 * Takes what has come and tells request->found() of the answers that are complete. 0, its negative
 * result, or -EPROTO for what no writer wrote; then it takes no more.
 */
int answer_reader_take(struct answer_reader *reader, const void *bytes, size_t nr);

/*
 * What came at the end: err, with words about it unless it is the result of request->found(), or
 * *ret; -EPROTO if the end is not there.
 */
int answer_reader_end(const struct answer_reader *reader, int err, struct debug_info_work *ret,
		      struct error *error);

#endif
