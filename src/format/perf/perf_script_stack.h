/*
 * The stack of a sample of perf script text, put together line by line, leaf first. What is inlined
 * stands before what it is in, with the same address, and a frame's place in the source behind it.
 * perf also calls "inlined" what merely has another name in the debug info than in the symbol table;
 * then nothing of that address follows, and it is a frame of its own, in a file that is not known.
 *
 * Used by perf_script_read.c alone.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_STACK_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/perf/perf_script_line.h"
#include "format/perf/perf_script_symbols.h"
#include "profile/profile.h"

struct perf_stack {
	struct profile *profile;
	struct perf_symbols symbols;
	uint32_t *frames; /* leaf first: those that are complete */
	size_t nr_frames, nr_kernel, cap_frames;
	bool is_cut; /* its root was lost: it is longer than a profile's may be */

	/* The frame whose lines are coming: what was inlined, then what it is in, and their places. */
	struct code_line *lines; /* innermost first */
	size_t nr_lines, cap_lines;
	struct perf_symbol symbol; /* of the last line */
	uint64_t address;	   /* likewise */
	bool has_places;
};

int perf_stack_init(struct perf_stack *stack, struct profile *profile); /* 0 or -ENOMEM */
void perf_stack_clear(struct perf_stack *stack);

/* 0 or -ENOMEM, all three. */
int perf_stack_add(struct perf_stack *stack, const struct perf_frame *frame);
int perf_stack_add_place(struct perf_stack *stack, struct perf_text file, uint32_t line);
int perf_stack_finish(struct perf_stack *stack); /* then frames are all there */

void perf_stack_reset(struct perf_stack *stack); /* for the next sample */

#endif
