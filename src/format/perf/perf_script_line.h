/*
 * The lines of perf script text, of perf 3 to 6, and what they say. Pure text.
 *
 *	COMM PID/TID [CPU] TIME:  PERIOD EVENT:		a sample begins
 *		HEX-ADDRESS SYMBOL+0xOFFSET (FILE)	a frame, leaf first
 *	  FILE.c:LINE					its place in the source, with -F +srcline
 *
 * Most of it is left out when other fields are asked for; COMM may have blanks, and SYMBOL and FILE
 * blanks and parentheses. Without call stacks the one frame stands behind the event.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_LINE_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a line; nr 0: it is not there. */
struct perf_text {
	const char *at;
	size_t nr;
};

struct perf_header {
	struct perf_text comm, event;
	struct perf_text rest; /* behind the event: what a tracepoint tells, or a frame */
	bool has_pid, has_tid, has_cpu, has_time, has_period;
	int32_t pid, tid, cpu;
	uint64_t time_ns;
	uint64_t period;
};

/*
 * True if the line may begin a sample. One number alone is a tid, as perf prints it by default; a
 * line without any is a comm.
 */
bool perf_script_header(const char *line, size_t nr, struct perf_header *ret);

/* True if the line can hardly be anything but a header. */
bool perf_header_is_sure(const struct perf_header *header);

/* True if a frame with its file follows, as it does without call stacks. */
bool perf_header_has_frame(const struct perf_header *header);

struct perf_frame {
	uint64_t address;
	struct perf_text symbol; /* without its offset; may be [unknown] */
	struct perf_text file;
};

bool perf_script_frame(const char *line, size_t nr, struct perf_frame *ret);

/* `  FILE.c:LINE`; others, of frames without a known source, are taken too and give no file. */
bool perf_script_place(const char *line, size_t nr, struct perf_text *ret_file, uint32_t *ret_line);

/* Where a frame's code is. */
enum perf_code {
	PERF_CODE_UNKNOWN,
	PERF_CODE_FILE,
	PERF_CODE_VDSO,
	PERF_CODE_KERNEL,
	PERF_CODE_RUN_TIME, /* JIT-compiled */
	PERF_CODE_INLINED,  /* in the frame that follows */
};

/* Found by the name of the frame's file. */
enum perf_code perf_script_code(const struct perf_frame *frame);

#endif
