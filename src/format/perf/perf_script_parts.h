/*
 * Shared parts of the reader and the writer of perf script text. First the parser of its lines, as
 * printed by perf 3 to 6; it is pure text processing.
 *
 *	COMM PID/TID [CPU] TIME:  PERIOD EVENT:		a sample begins
 *		HEX-ADDRESS SYMBOL+0xOFFSET (FILE)	a frame, leaf first
 *	  FILE.c:LINE					its source position, with -F +srcline
 *
 * Most parts may be missing, depending on the fields that were requested. COMM may contain blanks;
 * SYMBOL and FILE may contain blanks and parentheses. Without call stacks, the only frame follows
 * the event.
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

/* A part of a line; nr 0: missing. */
struct perf_text {
	const char *at;
	size_t nr;
};

struct perf_header {
	struct perf_text comm, event;
	struct perf_text rest; /* after the event: a tracepoint's fields, or a frame */
	bool has_pid, has_tid, has_cpu, has_time, has_period;
	int32_t pid, tid, cpu;
	uint64_t time_ns;
	uint64_t period;
};

/*
 * True if the line may begin a sample. A single number is a tid, which perf prints by default; a
 * line without a number is a comm.
 */
bool perf_script_header(const char *line, size_t nr, struct perf_header *ret);

/* True if the line is almost certainly a header. */
bool perf_header_is_sure(const struct perf_header *header);

/* True if a frame with its file follows in the same line, as printed without call stacks. */
bool perf_header_has_frame(const struct perf_header *header);

struct perf_frame {
	uint64_t address;
	struct perf_text symbol; /* without its offset; may be [unknown] */
	struct perf_text file;
};

bool perf_script_frame(const char *line, size_t nr, struct perf_frame *ret);

/* Parses `  FILE.c:LINE`; also true, without a file, for frames without known source. */
bool perf_script_place(const char *line, size_t nr, struct perf_text *ret_file, uint32_t *ret_line);

/* The kind of a frame's code. */
enum perf_code {
	PERF_CODE_UNKNOWN,
	PERF_CODE_FILE,
	PERF_CODE_VDSO,
	PERF_CODE_KERNEL,
	PERF_CODE_RUN_TIME, /* JIT-compiled */
	PERF_CODE_INLINED,  /* inlined into the following frame */
};

/* Derived from the name of the frame's file. */
enum perf_code perf_script_code(const struct perf_frame *frame);

/* --- perf_script_write.c: comments with information that perf's text cannot represent --------- */

enum perf_comment_kind {
	PERF_COMMENT_OTHER, /* unknown or invalid */
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

/* The run as described by the comments, and the labels that entries really have. */
struct perf_run {
	struct profile *profile;
	bool has_labels, has_duration;
	unsigned labels;
	uint32_t event, unit; /* strings */
	uint64_t period, time_ns, duration_ns;
};

/*
 * Evaluates a comment of the head, or of a second text that was appended; values that differ
 * between the two become unknown. Returns 0 or -ENOMEM.
 */
int perf_run_add(struct perf_run *run, const struct perf_comment *comment, bool is_head);
void perf_run_apply(const struct perf_run *run, struct profile_origin *origin);

/* Returns the string for a thread's name as written in the text, or -ENOMEM. */
int64_t perf_run_comm(const struct perf_run *run, struct perf_text text);

/* --- perf_script_stack.c: builds the stack of a sample line by line --------------------------- */

struct perf_symbol {
	uint32_t name; /* string in the profile; 0: none */
	uint32_t module;
	uint32_t frame; /* a frame with only this symbol */
	enum frame_kind kind;
	enum perf_code code;
};

struct perf_stack {
	struct profile *profile;
	uint32_t *frames; /* complete frames, leaf first */
	size_t nr_frames, nr_kernel, cap_frames;
	bool is_cut; /* the root is missing: too many frames for a profile */

	/* The frame being read: inlined functions, their caller, and their source positions. */
	struct code_line *lines; /* innermost first */
	size_t nr_lines, cap_lines;
	struct perf_symbol symbol; /* of the last line */
	uint64_t address;	   /* likewise */
	bool has_places;

	/* Symbols by text, so that each text is parsed once. */
	struct strings *texts;
	struct perf_symbol *symbols; /* indexed by the number of the text */
	size_t cap_symbols;
	char *key;
	size_t cap_key;
};

int perf_stack_init(struct perf_stack *stack, struct profile *profile); /* 0 or -ENOMEM */
void perf_stack_clear(struct perf_stack *stack);

/* All three return 0 or -ENOMEM. */
int perf_stack_add(struct perf_stack *stack, const struct perf_frame *frame);
int perf_stack_add_place(struct perf_stack *stack, struct perf_text file, uint32_t line);
int perf_stack_finish(struct perf_stack *stack); /* afterwards all frames are complete */

void perf_stack_reset(struct perf_stack *stack); /* for the next sample */

#endif
