/*
 * Looks up inlined calls and lines for the addresses of one file, by elf/dwarf/debug_info in an
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
	int fd;	     /* of the file with the DWARF; owned by the caller */
	int root_fd; /* of the root in which its paths are valid; -1: our own root */
	/* Time limit for this file, if below the limit for every file; 0: no such limit. */
	uint64_t most_ns;
	int stop_fd; /* the lookup stops when this becomes readable; 0 or -1: none */
};

/*
 * As debug_info_find(); request->found() is called in this process. Also returns -ETIME,
 * -ECANCELED, -EFAULT, -E2BIG (the child's memory limit); found() was called for all results before
 * that. -ENOMEM means this process, not the child.
 */
int source_lines_find(const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error);

/* --- the child's answers ---------------------------------------------------------------------- */

/*
 * The protocol of the pipe from child to parent; in this header for tests. An attacker who took
 * over the child through a crafted file may write anything: the size of answers is bounded, and so
 * is the work that they cause.
 */

/* Limits on a message, and on a text in it including its NUL. The writer truncates longer texts. */
#define LINE_MESSAGE_MAX_BYTES (256u << 10)
#define LINE_TEXT_MAX_BYTES    (16u << 10)

struct answer_writer {
	int fd;
	size_t nr;
	uint8_t bytes[2 * LINE_MESSAGE_MAX_BYTES];
};

/*
 * Each returns 0 or a negative errno. Messages are buffered and sent in large writes, or at the
 * end.
 */
int answer_writer_add(struct answer_writer *writer, size_t i, const struct debug_line *lines,
		      size_t nr_lines);
int answer_writer_end(struct answer_writer *writer, const struct debug_info_work *work);
int answer_writer_error(struct answer_writer *writer, const struct error *error);

struct answer_reader;

/* Reads the answers to this request, which must outlive the reader. NULL when out of memory. */
struct answer_reader *answer_reader_new(const struct debug_info_request *request,
					struct error *error);
void answer_reader_free(struct answer_reader *reader);

/*
 * Parses received bytes and calls request->found() for each complete answer. 0, found()'s negative
 * result, or -EPROTO for a malformed message; after a failure all further calls return it again.
 */
int answer_reader_parse(struct answer_reader *reader, const void *bytes, size_t nr);

/*
 * Ends reading; err is the child's result. On 0 fills *ret; otherwise returns err, with *error
 * filled unless err came from request->found(). -EPROTO if the end message is missing.
 */
int answer_reader_end(const struct answer_reader *reader, int err, struct debug_info_work *ret,
		      struct error *error);

#endif
