/* A frame is complete when the next one begins: only then is it known what it says. */
#include "format/perf/perf_script_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/text/clean_string.h"

static void reset_lines(struct perf_stack *stack)
{
	stack->nr_lines = 0;
	stack->has_places = false;
}

/* The frame that is complete goes to the stack. */
static int close_frame(struct perf_stack *stack)
{
	int64_t frame = stack->symbol.frame;

	if (!stack->nr_lines)
		return 0;
	if (stack->nr_frames == UINT16_MAX) {
		stack->is_cut = true;
		reset_lines(stack);
		return 0;
	}
	if (stack->nr_lines > 1 || stack->has_places)
		frame = profile_add_named_frame(stack->profile, stack->symbol.kind,
						stack->symbol.module, stack->lines,
						stack->nr_lines);
	if (frame < 0 || array_reserve(&stack->frames, &stack->cap_frames, stack->nr_frames + 1,
				       sizeof(*stack->frames)) < 0)
		return -ENOMEM;
	if (stack->symbol.kind == FRAME_KERNEL && stack->nr_kernel == stack->nr_frames)
		stack->nr_kernel++;
	stack->frames[stack->nr_frames++] = (uint32_t)frame;
	reset_lines(stack);
	return 0;
}

/*
 * Below user code, an address in the kernel's half that is in no file is no code: a walk by frame
 * pointers took it for a caller. Without an address it is just unknown.
 */
static struct perf_frame believed(const struct perf_stack *stack, const struct perf_frame *frame)
{
	struct perf_frame believed = *frame;

	if (stack->nr_kernel < stack->nr_frames)
		believed.address = 0;
	return believed;
}

int perf_stack_add(struct perf_stack *stack, const struct perf_frame *frame)
{
	const struct perf_symbol *symbol;
	struct perf_frame known;
	int result = 0;

	if (stack->nr_lines &&
	    (stack->symbol.code != PERF_CODE_INLINED || stack->address != frame->address))
		result = close_frame(stack);
	if (result < 0)
		return result;
	known = believed(stack, frame);
	symbol = perf_symbols_find(&stack->symbols, &known);
	if (!symbol || array_reserve(&stack->lines, &stack->cap_lines, stack->nr_lines + 1,
				     sizeof(*stack->lines)) < 0)
		return -ENOMEM;
	stack->symbol = *symbol;
	stack->address = frame->address;
	stack->lines[stack->nr_lines++] = (struct code_line){.function = symbol->name};
	return 0;
}

int perf_stack_add_place(struct perf_stack *stack, struct perf_text file, uint32_t line)
{
	int64_t name;

	if (!stack->nr_lines || !file.nr)
		return 0;
	name = clean_string_add(stack->profile, file.at, file.nr);
	if (name < 0)
		return (int)name;
	stack->lines[stack->nr_lines - 1].file = (uint32_t)name;
	stack->lines[stack->nr_lines - 1].line = line;
	stack->has_places = true;
	return 0;
}

int perf_stack_finish(struct perf_stack *stack)
{
	return close_frame(stack);
}

void perf_stack_reset(struct perf_stack *stack)
{
	reset_lines(stack);
	stack->nr_frames = 0;
	stack->nr_kernel = 0;
	stack->is_cut = false;
}

int perf_stack_init(struct perf_stack *stack, struct profile *profile)
{
	*stack = (struct perf_stack){.profile = profile};
	return perf_symbols_init(&stack->symbols, profile);
}

void perf_stack_clear(struct perf_stack *stack)
{
	perf_symbols_clear(&stack->symbols);
	free(stack->lines);
	free(stack->frames);
}
