/*
 * Spans of code. They are sorted by address although the compiler's sections are nearly so: a
 * linker puts cold code elsewhere, but its entries where they came from.
 */
#include "elf/unwind/code_spans.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int code_spans_add(struct code_spans *spans, const struct code_span *span)
{
	if (array_reserve(&spans->spans, &spans->capacity, spans->nr + 1, sizeof(*span)) < 0)
		return -ENOMEM;
	spans->spans[spans->nr++] = *span;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct code_span *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_sorted(const struct code_spans *spans)
{
	size_t i;

	for (i = 1; i < spans->nr; i++)
		if (compare(&spans->spans[i - 1], &spans->spans[i]) > 0)
			return false;
	return true;
}

void code_spans_settle(struct code_spans *spans)
{
	uint64_t reach = 0;
	size_t i, nr = 0;

	if (!is_sorted(spans))
		qsort(spans->spans, spans->nr, sizeof(*spans->spans), compare);
	for (i = 0; i < spans->nr; i++) {
		struct code_span span = spans->spans[i];

		if (span.start < reach)
			span.start = reach;
		if (span.start >= span.end)
			continue;
		reach = span.end;
		spans->spans[nr++] = span;
	}
	spans->nr = nr;
}

size_t code_spans_at(const struct code_spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->spans[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the parts of one span that lie before, between and after the others from *at on. */
static int add_uncovered(struct code_spans *to, const struct code_spans *cover, size_t at,
			 struct code_span span)
{
	uint64_t end = span.end;
	int err = 0;

	for (; err == 0 && span.start < end; at++) {
		bool is_last = at == cover->nr || cover->spans[at].start >= end;

		span.end = is_last ? end : cover->spans[at].start;
		if (span.start < span.end)
			err = code_spans_add(to, &span);
		if (is_last)
			break;
		span.start = cover->spans[at].end;
	}
	return err;
}

/* Two sorted arrays without overlaps into one. */
static int merge(struct code_spans *spans, const struct code_spans *others)
{
	struct code_spans merged = {0};
	size_t i = 0, j = 0;

	if (array_reserve(&merged.spans, &merged.capacity, spans->nr + others->nr,
			  sizeof(*merged.spans)) < 0)
		return -ENOMEM;
	while (i < spans->nr || j < others->nr) {
		bool is_first = j == others->nr ||
				(i < spans->nr && spans->spans[i].start < others->spans[j].start);

		merged.spans[merged.nr++] = is_first ? spans->spans[i++] : others->spans[j++];
	}
	code_spans_clear(spans);
	*spans = merged;
	return 0;
}

int code_spans_fill(struct code_spans *spans, const struct code_spans *others)
{
	struct code_spans pieces = {0};
	size_t i, at = 0;
	int err = 0;

	for (i = 0; i < others->nr && err == 0; i++) {
		while (at < spans->nr && spans->spans[at].end <= others->spans[i].start)
			at++;
		err = add_uncovered(&pieces, spans, at, others->spans[i]);
	}
	if (err == 0 && pieces.nr)
		err = merge(spans, &pieces);
	code_spans_clear(&pieces);
	return err;
}

int code_spans_insert(struct code_spans *spans, const struct code_span *span)
{
	size_t i = code_spans_at(spans, span->start);
	struct code_span *at;

	if (array_reserve(&spans->spans, &spans->capacity, spans->nr + 1, sizeof(*span)) < 0)
		return -ENOMEM;
	at = &spans->spans[i];
	if (i < spans->nr && at->start == span->start) {
		*at = *span;
		return 0;
	}
	if (i < spans->nr && at->start < span->start) {
		at->end = span->start;
		at++, i++;
	}
	memmove(at + 1, at, (spans->nr - i) * sizeof(*at));
	*at = *span;
	spans->nr++;
	return 0;
}

void code_spans_clear(struct code_spans *spans)
{
	free(spans->spans);
	*spans = (struct code_spans){0};
}
