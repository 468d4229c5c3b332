/*
 * Ranges of code, and who knows about each: a sorted array without overlaps. And the ranges that
 * nobody else knows: the code that a signal handler returns to where no call frame information
 * covers it, as musl's and Go's.
 */
#ifndef STOOK_ELF_UNWIND_CODE_SPANS_H
#define STOOK_ELF_UNWIND_CODE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image/elf_image.h"

struct code_span {
	uint64_t start, end;
	uint32_t offset; /* what the source knows it by */
	uint32_t source;
};

struct code_spans {
	struct code_span *spans;
	size_t nr, capacity;
};

/* Adds one that is not empty, at the end. 0 or -ENOMEM. */
int code_spans_add(struct code_spans *spans, const struct code_span *span);

/* Sorts what was added in any order. Where two overlap, the one that starts first wins. */
void code_spans_settle(struct code_spans *spans);

/* Adds what `others` has in the gaps of `spans`; both are settled. 0 or -ENOMEM, and no change. */
int code_spans_fill(struct code_spans *spans, const struct code_spans *others);

/* Puts one into a gap, or in the place of a span's last part, or all of it. 0 or -ENOMEM. */
int code_spans_insert(struct code_spans *spans, const struct code_span *span);

/* The first span that ends after an address; their number if there is none. */
size_t code_spans_at(const struct code_spans *spans, uint64_t address);

/*
 * The first gap between two addresses that no span covers: true with its bounds, false if there is none.
 * A loop over all gaps goes on from each one's end.
 */
bool code_spans_next_gap(const struct code_spans *spans, uint64_t from, uint64_t end,
			 uint64_t *ret_start, uint64_t *ret_end);

void code_spans_clear(struct code_spans *spans);

/*
 * Adds to *returns a span with that source for each one found in the executable segments outside of
 * `known`; sorted, as far as the segments are. 0 or -ENOMEM. Code that cannot be read has none.
 */
int signal_returns_find(struct code_spans *returns, const struct elf_image *image,
			const struct code_spans *known, uint32_t source);

#endif
