/*
 * Ranges of code with the source that describes each: a sorted array without overlaps. Also finds
 * the code that signal handlers return to if no call frame information covers it, as musl's and
 * Go's.
 */
#ifndef STOOK_ELF_UNWIND_CODE_SPANS_H
#define STOOK_ELF_UNWIND_CODE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"

struct code_span {
	uint64_t start, end;
	uint32_t offset; /* identifies it in the source */
	uint32_t source;
};

struct code_spans {
	struct code_span *spans;
	size_t nr, capacity;
};

/* Appends a span that is not empty. 0 or -ENOMEM. */
int code_spans_add(struct code_spans *spans, const struct code_span *span);

/* Sorts spans that were added in any order. If two overlap, the one that starts first is kept. */
void code_spans_settle(struct code_spans *spans);

/*
 * Adds the parts of `others` in gaps of `spans`; both must be settled. 0, or -ENOMEM and no change. Without spans so far,
 * it takes the others, and leaves none.
 */
int code_spans_fill(struct code_spans *spans, struct code_spans *others);

/* Inserts a span into a gap, or replaces the last part of a span, or all of it. 0 or -ENOMEM. */
int code_spans_insert(struct code_spans *spans, const struct code_span *span);

/* Index of the first span that ends after an address; the number of spans if there is none. */
size_t code_spans_at(const struct code_spans *spans, uint64_t address);

/*
 * Finds the first gap between two addresses that no span covers: true with its bounds, false if
 * there is none. Loop over all gaps by continuing from each one's end.
 */
bool code_spans_next_gap(const struct code_spans *spans, uint64_t from, uint64_t end,
			 uint64_t *ret_start, uint64_t *ret_end);

void code_spans_clear(struct code_spans *spans);

/*
 * Adds to *returns a span with that source for each signal return in the executable segments
 * outside of `known`; sorted, if the segments are. 0 or -ENOMEM. Unreadable code is skipped.
 */
int signal_returns_find(struct code_spans *returns, const struct elf_image *image,
			const struct code_spans *known, uint32_t source);

#endif
