/*
 * Looks up inlined calls and lines for the addresses of one file, by elf/dwarf/debug_info in a parser
 * without rights (worker/worker.h). Files that DWARF refers to (.dwo, dwz's) are requested from stook.
 */
#ifndef STOOK_SYM_SOURCE_LINES_H
#define STOOK_SYM_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "elf/dwarf/debug_info.h"
#include "sym/debug_files.h"
#include "worker/worker.h"

struct source_lines_place {
	const struct code_file *file; /* with its build id, if that is known */
	/* See struct worker_question: where debug files, and files that they refer to, may be. */
	int (*find_place)(void *context, const struct worker_want *want, struct worker_place *ret);
	void *context;
	/* Time limit for this file, if below the limit for every file; 0: no such limit. */
	uint64_t most_ns;
	int stop_fd; /* the lookup stops when this becomes readable; -1: none */
};

/*
 * As debug_info_find(), for the file or its debug file; request->found() is called in this process. A file without
 * debug information has no lines. Also returns -ETIME (found() was called for the results before that),
 * -ECANCELED, -EFAULT, -E2BIG (the parser's memory limit), -EOWNERDEAD, -EHOSTDOWN. -ENOMEM means this process,
 * not the parser.
 */
int source_lines_find(struct worker *worker, const struct source_lines_place *place,
		      const struct debug_info_request *request, struct debug_info_work *ret,
		      struct error *error);

/* The task that runs in parsers. */
int lines_task(struct worker_job *job, void **state);

/* --- the parser's answers --------------------------------------------------------------------- */

/*
 * The messages of an answer; in this header for tests. An attacker who took over the parser through a
 * crafted file may write anything: the size of answers is bounded, and so is the work that they
 * cause.
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
 * Each returns 0 or a negative errno. Messages are buffered and written in large pieces, or at the
 * end.
 */
int answer_writer_add(struct answer_writer *writer, size_t i, const struct debug_line *lines,
		      size_t nr_lines);
int answer_writer_end(struct answer_writer *writer, const struct debug_info_work *work);
int answer_writer_error(struct answer_writer *writer, const struct error *error);

/*
 * Reads the messages, and calls request->found() for each complete answer, also if something wrong follows. On 0
 * fills *ret. Otherwise returns found()'s negative result, or the error that the answer ends with, or -EPROTO for
 * a malformed message, or no end; *error is filled unless found() failed.
 */
int lines_answer_read(const void *bytes, size_t nr, const struct debug_info_request *request,
		      struct debug_info_work *ret, struct error *error);

#endif
