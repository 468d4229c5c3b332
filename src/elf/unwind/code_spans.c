/*
 * Spans of code. They are sorted by address although the compiler's sections nearly are: a linker
 * moves cold code, but not its entries.
 *
 * Signal returns are found by the bytes of the system call rt_sigreturn. Only the gaps between
 * known spans are searched, and only up to a limit: in most files they are the padding between
 * functions, in files without CFI all of the code. Code is read in windows shared by many gaps.
 *
 * Such a span starts one byte before the code, as in glibc's own CFI: the handler returns to the
 * first byte, and an unwinder that takes it for a return address looks up the byte before it.
 */
#include "elf/unwind/code_spans.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

int code_spans_add(struct code_spans *spans, const struct code_span *span)
{
	return ARRAY_ADD(spans->spans, spans->nr, spans->capacity, *span);
}

static int compare(const void *left, const void *right)
{
	const struct code_span *a = left, *b = right;

	return COMPARE(a->start, b->start) ?: COMPARE(a->offset, b->offset);
}

void code_spans_settle(struct code_spans *spans)
{
	uint64_t reach = 0;
	size_t i, nr = 0;

	for (i = 1; i < spans->nr; i++)
		if (compare(&spans->spans[i - 1], &spans->spans[i]) > 0)
			break;
	if (i < spans->nr)
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
	return ARRAY_NR_UP_TO(spans->spans, spans->nr, end, address);
}

/* Adds the parts of a span that no span of `cover`, from index `at` on, covers. */
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

/* Merges two sorted arrays without overlaps, from their ends: a second array of all would take as much memory again. */
static int merge(struct code_spans *spans, const struct code_spans *others)
{
	size_t i = spans->nr, j = others->nr, to = i + j;

	if (ARRAY_RESERVE(spans->spans, spans->capacity, to) < 0)
		return -ENOMEM;
	spans->nr = to;
	while (j) {
		bool is_last = i && spans->spans[i - 1].start > others->spans[j - 1].start;

		spans->spans[--to] = is_last ? spans->spans[--i] : others->spans[--j];
	}
	return 0;
}

int code_spans_fill(struct code_spans *spans, struct code_spans *others)
{
	struct code_spans pieces = {0};
	size_t i, at = 0;
	int err = 0;

	if (!spans->nr) {
		code_spans_clear(spans);
		*spans = *others;
		*others = (struct code_spans){0};
		return 0;
	}
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

	if (ARRAY_RESERVE(spans->spans, spans->capacity, spans->nr + 1) < 0)
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

bool code_spans_next_gap(const struct code_spans *spans, uint64_t from, uint64_t end,
			 uint64_t *ret_start, uint64_t *ret_end)
{
	size_t i = code_spans_at(spans, from);

	for (; i < spans->nr && spans->spans[i].start <= from; i++)
		from = spans->spans[i].end;
	if (from >= end)
		return false;
	*ret_start = from;
	*ret_end = i < spans->nr && spans->spans[i].start < end ? spans->spans[i].start : end;
	return true;
}

void code_spans_clear(struct code_spans *spans)
{
	free(spans->spans);
	*spans = (struct code_spans){0};
}

/* --- signal returns -------------------------------------------------------------------------- */

#define WINDOW_BYTES	 (256U << 10)
#define READ_MAX_BYTES	 (16U << 20) /* of a file's code */
#define PATTERN_MAX	 9
#define RETURNS_MAX	 64 /* per file; usually one */
#define SHORTEST_PATTERN 7
#define CLONE_MAX_BYTES	 10

struct pattern {
	uint16_t machine;
	uint8_t align;
	uint8_t nr;
	uint8_t bytes[PATTERN_MAX];
};

static const struct pattern patterns[] = {
	/* mov $15, %rax; syscall */
	{EM_X86_64, 1, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}},
	/* mov $15, %eax; syscall */
	{EM_X86_64, 1, 7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}},
	/* mov x8, #139; svc #0 */
	{EM_AARCH64, 4, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}},
};

struct search {
	const struct elf_image *image;
	struct code_spans *returns;
	uint32_t source;
	uint8_t *window;
	uint64_t window_bytes;
	uint64_t offset; /* of the window, in the file */
	size_t nr;	 /* bytes in it */
	uint64_t nr_read;
};

/*
 * The bytes at a file offset, at most one window; NULL if they can't be read or the limit is
 * reached.
 */
static const uint8_t *look(struct search *search, const struct elf_segment *segment,
			   uint64_t offset, uint64_t nr)
{
	uint64_t left = segment->offset + segment->bytes - offset;

	if (offset >= search->offset && offset - search->offset <= search->nr &&
	    nr <= search->nr - (offset - search->offset))
		return search->window + (offset - search->offset);
	search->nr = 0;
	if (left > search->window_bytes)
		left = search->window_bytes;
	if (left > READ_MAX_BYTES - search->nr_read)
		return NULL;
	if (elf_image_read(search->image, offset, search->window, left) < 0)
		return NULL;
	search->nr_read += left;
	search->offset = offset;
	search->nr = left;
	return search->window;
}

static int search_bytes(struct search *search, const uint8_t *bytes, size_t nr, uint64_t address,
			uint64_t gap_start)
{
	size_t i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(patterns) && err == 0; i++) {
		const struct pattern *pattern = &patterns[i];
		const uint8_t *at = bytes, *end = bytes + nr;

		if (pattern->machine != search->image->machine)
			continue;
		while (err == 0 &&
		       (at = memmem(at, (size_t)(end - at), pattern->bytes, pattern->nr))) {
			uint64_t found = address + (uint64_t)(at - bytes);
			struct code_span span = {
				.start = found > gap_start ? found - 1 : found,
				.end = found + pattern->nr,
				.source = search->source,
			};

			if (found % pattern->align == 0 && search->returns->nr < RETURNS_MAX)
				err = code_spans_add(search->returns, &span);
			at++;
		}
	}
	return err;
}

/*
 * Adds a span for the end of glibc's clone() and clone3(). Their CFI stops before the system call,
 * because it would be wrong in the child. In the parent, up to the return, only the return address
 * is on the stack.
 */
static int add_clone(struct search *search, const uint8_t *bytes, size_t nr, uint64_t address)
{
	static const uint8_t call[] = {0x0f, 0x05}, ret = 0xc3;
	struct code_span span = {.start = address, .source = search->source + 1};
	const uint8_t *end;

	if (search->image->machine != EM_X86_64 || nr < CLONE_MAX_BYTES ||
	    memcmp(bytes, call, sizeof(call)) != 0 || !(end = memchr(bytes, ret, CLONE_MAX_BYTES)))
		return 0;
	span.end = address + (uint64_t)(end - bytes) + 1;
	return code_spans_add(search->returns, &span);
}

/* Windows overlap so that no pattern is missed; duplicates are merged later. */
static int search_gap(struct search *search, const struct elf_segment *segment, uint64_t start,
		      uint64_t end)
{
	uint64_t at = start;
	int err = 0;

	while (err == 0 && end - at >= SHORTEST_PATTERN) {
		uint64_t nr = end - at < search->window_bytes ? end - at : search->window_bytes;
		const uint8_t *bytes =
			look(search, segment, segment->offset + (at - segment->vaddr), nr);

		if (!bytes)
			break;
		if (at == start)
			err = add_clone(search, bytes, nr, at);
		if (err == 0)
			err = search_bytes(search, bytes, nr, at, start);
		if (at + nr == end)
			break;
		at += nr - PATTERN_MAX + 1;
	}
	return err;
}

static int search_segment(struct search *search, const struct elf_segment *segment,
			  const struct code_spans *known)
{
	uint64_t at = segment->vaddr, end = segment->vaddr + segment->bytes, start;
	int err = 0;

	while (err == 0 && code_spans_next_gap(known, at, end, &start, &at))
		err = search_gap(search, segment, start, at);
	return err;
}

int signal_returns_find(struct code_spans *returns, const struct elf_image *image,
			const struct code_spans *known, uint32_t source)
{
	struct search search = {.image = image, .returns = returns, .source = source};
	uint64_t window_bytes = image->bytes < WINDOW_BYTES ? image->bytes : WINDOW_BYTES;
	cleanup_free uint8_t *window = malloc(window_bytes);
	size_t i;
	int err = 0;

	if (!window)
		return -ENOMEM;
	search.window = window;
	search.window_bytes = window_bytes;
	for (i = 0; i < image->nr_segments && err == 0; i++)
		err = search_segment(&search, &image->segments[i], known);
	code_spans_settle(returns);
	return err;
}
