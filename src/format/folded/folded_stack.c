/* Marks are thought about only in lines that have some: most have none. */
#include "format/folded/folded_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct builder {
	struct folded_stack *stack;
	struct folded_words *words;
	const uint32_t *line;
	size_t nr_line;
};

static enum folded_mark mark_of(const struct builder *builder, size_t i)
{
	return folded_word(builder->words, builder->line[i])->mark;
}

static int push_frame(struct builder *builder, int64_t frame)
{
	if (frame < 0)
		return (int)frame;
	builder->stack->frames[builder->stack->nr++] = (uint32_t)frame;
	return 0;
}

static int push_plain_frames(struct builder *builder)
{
	int result = 0;
	size_t i;

	for (i = builder->nr_line; i > 1 && !result; i--) {
		uint32_t number = builder->line[i - 1];
		int64_t frame = folded_word(builder->words, number)->frames[FOLDED_PLAIN];

		if (frame == FOLDED_NONE)
			frame = folded_words_frame(builder->words, number, FOLDED_PLAIN);
		result = push_frame(builder, frame);
	}
	return result;
}

/* A frame is the words from `first` up to `end`: itself, and what was inlined into it. */
static int push_marked_frame(struct builder *builder, size_t first, size_t end, bool in_kernel)
{
	enum folded_mark kind =
		mark_of(builder, first) == FOLDED_RUN_TIME ? FOLDED_RUN_TIME : FOLDED_PLAIN;

	if (in_kernel)
		kind = FOLDED_KERNEL;
	builder->stack->nr_kernel += in_kernel;
	if (end - first > 1)
		return push_frame(builder,
				  folded_words_inlined(builder->words, builder->line + first,
						       end - first, kind));
	return push_frame(builder, folded_words_frame(builder->words, builder->line[first], kind));
}

/* Where the frame begins that the word before `end` belongs to. */
static size_t frame_start(const struct builder *builder, size_t begin, size_t end)
{
	size_t first = end - 1;

	while (first > begin && mark_of(builder, first) == FOLDED_INLINED)
		first--;
	return first;
}

/* The kernel's frames are at the leaf, in a row. */
static int push_marked_frames(struct builder *builder, size_t begin, size_t end)
{
	bool in_kernel = true;
	int result = 0;

	while (end > begin && !result) {
		size_t first = frame_start(builder, begin, end);

		in_kernel = in_kernel && mark_of(builder, first) == FOLDED_KERNEL;
		result = push_marked_frame(builder, first, end, in_kernel);
		end = first;
	}
	return result;
}

/* Whether all words from `begin` on are the kernel's. */
static bool is_kernel_only(const struct builder *builder, size_t begin, size_t end)
{
	while (end > begin) {
		end = frame_start(builder, begin, end);
		if (mark_of(builder, end) != FOLDED_KERNEL)
			return false;
	}
	return true;
}

/*
 * What stands for a stack that was missed is no frame of it: it stands where that stack would be,
 * and no frame of that stack is there.
 */
static int push_frames(struct builder *builder, struct sample_labels *labels)
{
	size_t begin = 1, end = builder->nr_line;

	if (end > 1 && mark_of(builder, end - 1) == FOLDED_MISSED_KERNEL &&
	    (end == 2 || mark_of(builder, frame_start(builder, 1, end - 1)) != FOLDED_KERNEL)) {
		labels->kernel_end = WALK_MISSED;
		end--;
	}
	if (end > 1 && mark_of(builder, 1) == FOLDED_MISSED_USER &&
	    is_kernel_only(builder, 2, end)) {
		labels->user_end = WALK_MISSED;
		begin++;
	}
	return push_marked_frames(builder, begin, end);
}

/*
 * The place of the one delimiter, or 0. It stands between frames: next to a stack that was missed
 * nobody writes it.
 */
static size_t find_delimiter(const struct builder *builder)
{
	size_t at = 0, last = builder->nr_line - 1, i;

	for (i = 1; i <= last; i++) {
		enum folded_mark mark = mark_of(builder, i);

		if (mark == FOLDED_WAKER || (mark == FOLDED_DELIMITER && at))
			return 0;
		if (mark == FOLDED_DELIMITER)
			at = i;
	}
	if (at < 2 || at == last || (at == 2 && mark_of(builder, 1) == FOLDED_MISSED_USER) ||
	    (at + 1 == last && mark_of(builder, last) == FOLDED_MISSED_KERNEL))
		return 0;
	return at;
}

static int push_delimited_frames(struct builder *builder, size_t delimiter)
{
	size_t end = builder->nr_line, first;
	int result = 0;

	for (; end > delimiter + 1 && !result; end = first) {
		first = frame_start(builder, delimiter + 1, end);
		result = push_marked_frame(builder, first, end, true);
	}
	for (end = delimiter; end > 1 && !result; end = first) {
		first = frame_start(builder, 1, end);
		result = push_marked_frame(builder, first, end, false);
	}
	return result;
}

static int push_special_frames(struct builder *builder, struct sample_labels *labels)
{
	size_t delimiter = find_delimiter(builder);

	builder->stack->is_delimited = delimiter != 0;
	return delimiter ? push_delimited_frames(builder, delimiter) : push_frames(builder, labels);
}

int folded_stack_read(struct folded_stack *stack, struct folded_words *words, const uint32_t *line,
		      size_t nr, bool has_marks, struct sample_labels *labels)
{
	struct builder builder = {.stack = stack, .words = words, .line = line, .nr_line = nr};
	int result;

	stack->nr = 0;
	stack->nr_kernel = 0;
	stack->is_delimited = false;
	if (array_reserve(&stack->frames, &stack->cap, nr, sizeof(*stack->frames)) < 0)
		return -ENOMEM;
	result = has_marks ? push_special_frames(&builder, labels) : push_plain_frames(&builder);
	if (result < 0)
		return result;
	if (stack->nr > stack->nr_kernel)
		labels->user_end = WALK_COMPLETE;
	if (stack->nr_kernel)
		labels->kernel_end = WALK_UNWOUND;
	return 0;
}

void folded_stack_clear(struct folded_stack *stack)
{
	free(stack->frames);
	*stack = (struct folded_stack){0};
}
