/*
 * The parts of the reader and the writer of perf script text. First its lines, of perf 3 to 6, and what they
 * say; pure text.
 *
 *	COMM PID/TID [CPU] TIME:  PERIOD EVENT:		a sample begins
 *		HEX-ADDRESS SYMBOL+0xOFFSET (FILE)	a frame, leaf first
 *	  FILE.c:LINE					its place in the source, with -F +srcline
 *
 * Most of it is left out when other fields are asked for; COMM may have blanks, and SYMBOL and FILE
 * blanks and parentheses. Without call stacks the one frame stands behind the event.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_PARTS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strings.h"
#include "profile/profile.h"

/* --- perf_script_line.c ----------------------------------------------------------------------- */

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

/* --- perf_script_write.c: comments, for what perf's own text has no place for ------------------ */

enum perf_comment_kind {
	PERF_COMMENT_OTHER, /* not one of these, or one that makes no sense */
	PERF_COMMENT_LABELS_ARE,
	PERF_COMMENT_BEGAN,
	PERF_COMMENT_LASTED,
	PERF_COMMENT_SAMPLED,
	PERF_COMMENT_PERIODS,
	PERF_COMMENT_FOR_EACH,
};

struct perf_comment {
	enum perf_comment_kind kind;
	unsigned labels;
	/* Nanoseconds; for SAMPLED the period, 0 if it varied; for FOR_EACH the factor. */
	uint64_t number;
	struct perf_text word, unit, type;
};

/* Parses a line that begins with `#`. */
struct perf_comment perf_comment_parse(const char *line, size_t nr);

/* The run according to the comments, and the labels that entries really have. */
struct perf_run {
	struct profile *profile;
	bool has_labels, has_duration;
	unsigned labels;
	uint32_t event, unit; /* strings */
	uint64_t period, time_ns, duration_ns;
};

/*
 * Takes a comment of the head, or of a second text that was appended: where the two differ, nothing
 * is known any more. 0 or -ENOMEM.
 */
int perf_run_add(struct perf_run *run, const struct perf_comment *comment, bool is_head);
void perf_run_apply(const struct perf_run *run, struct profile_origin *origin);

/* The string of a thread's name as it stands in the text: number or -ENOMEM. */
int64_t perf_run_comm(const struct perf_run *run, struct perf_text text);

/* --- perf_script_stack.c: the stack of a sample, put together line by line --------------------- */

struct perf_symbol {
	uint32_t name; /* the profile's string; 0: none */
	uint32_t module;
	uint32_t frame; /* by itself */
	enum frame_kind kind;
	enum perf_code code;
};

struct perf_stack {
	struct profile *profile;
	uint32_t *frames; /* leaf first: those that are complete */
	size_t nr_frames, nr_kernel, cap_frames;
	bool is_cut; /* its root was lost: it is longer than a profile's may be */

	/* The frame whose lines are being read: inlined functions, their caller, and their places. */
	struct code_line *lines; /* innermost first */
	size_t nr_lines, cap_lines;
	struct perf_symbol symbol; /* of the last line */
	uint64_t address;	   /* likewise */
	bool has_places;

	/* Functions: each text is looked at once. */
	struct strings *texts;
	struct perf_symbol *symbols; /* by the number of the text */
	size_t cap_symbols;
	char *key;
	size_t cap_key;
};

int perf_stack_init(struct perf_stack *stack, struct profile *profile); /* 0 or -ENOMEM */
void perf_stack_clear(struct perf_stack *stack);

/* 0 or -ENOMEM, all three. */
int perf_stack_add(struct perf_stack *stack, const struct perf_frame *frame);
int perf_stack_add_place(struct perf_stack *stack, struct perf_text file, uint32_t line);
int perf_stack_finish(struct perf_stack *stack); /* then frames are all there */

void perf_stack_reset(struct perf_stack *stack); /* for the next sample */

#endif
