/* The parts of the reader and the writer of perf script text, besides perf_script_line.h. */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_PARTS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strings.h"
#include "format/perf/perf_script_line.h"
#include "profile/profile.h"

/* --- perf_script_comments.c: what perf's own text has no place for ----------------------------- */

/*
 * The values of a profile as events: one word each, and no two the same. The count is named after the
 * event that was sampled, whether it is a number of samples or a sum of periods; others are named
 * after their type, with a number behind a word that is taken: `cpu~2`.
 */
struct perf_words {
	const char *texts[PROFILE_MAX_VALUES];	   /* by the number of the value; the profile's */
	unsigned char numbers[PROFILE_MAX_VALUES]; /* 0: none */
	size_t nr;
};

void perf_words_init(struct perf_words *words, const struct profile *profile);
void perf_words_put(const struct perf_words *words, size_t value, FILE *out);

/* The labels that perf's text can have at all. */
#define PERF_COMMENT_LABELS (LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU)

/* Writes the comments; multiple: the value that is the count times the period; 0: none is. */
void perf_comments_write(const struct profile *profile, const struct perf_words *words,
			 size_t multiple, unsigned labels, FILE *out);

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
