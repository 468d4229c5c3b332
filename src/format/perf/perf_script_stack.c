/*
 * Builds the stack of a sample of perf script text line by line, leaf first. A frame is complete
 * when the next one begins: inlined functions precede the function they are in, with the same
 * address, and a frame's source position follows it. perf also prints "inlined" for a function
 * whose name in the debug info differs from the symbol table; then no function with that address
 * follows, and the line is a separate frame, in an unknown file.
 *
 * A frame is identified by its symbol and file, not by its address, which is meaningless without
 * the mappings of its process. perf-map-agent writes functions inlined into JIT-compiled code as
 * `outer->inner`; these become lines of one frame, like perf's own `(inlined)` ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"

#define UNKNOWN_NAME "[unknown]"
#define INTO	     "->"

static bool is_text(struct perf_text text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

/* --- modules ---------------------------------------------------------------------------------- */

static bool is_kernel_itself(struct perf_text file)
{
	static const char kernel[] = "[kernel.kallsyms]";
	const char *slash;

	if (!file.nr || is_text(file, UNKNOWN_NAME))
		return true;
	if (file.nr >= strlen(kernel) && !memcmp(file.at, kernel, strlen(kernel)))
		return true; /* also with a suffix: [kernel.kallsyms]_stext */
	slash = memrchr(file.at, '/', file.nr);
	return (slash || *file.at != '[') && memmem(file.at, file.nr, "vmlinu", strlen("vmlinu"));
}

static int64_t add_module(struct perf_stack *stack, enum module_kind kind, struct perf_text file)
{
	struct module module = {.kind = kind};
	int64_t name = profile_add_foreign_string(stack->profile, file.at, file.nr);

	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	return profile_add_module(stack->profile, &module);
}

static int64_t module_of(struct perf_stack *stack, const struct perf_frame *frame,
			 enum perf_code code)
{
	switch (code) {
	case PERF_CODE_KERNEL:
		if (is_kernel_itself(frame->file))
			return MODULE_NR_KERNEL;
		return add_module(stack, MODULE_KERNEL, frame->file);
	case PERF_CODE_FILE:
		return add_module(stack, MODULE_FILE, frame->file);
	case PERF_CODE_VDSO:
		return add_module(stack, MODULE_VDSO, frame->file);
	case PERF_CODE_RUN_TIME:
		return add_module(stack, MODULE_RUN_TIME, frame->file);
	case PERF_CODE_INLINED:
		return frame->address >> 63 ? MODULE_NR_KERNEL : MODULE_NR_UNKNOWN;
	default:
		return MODULE_NR_UNKNOWN;
	}
}

/* --- names ------------------------------------------------------------------------------------ */

static int64_t name_of(struct perf_stack *stack, struct perf_text name)
{
	if (!name.nr || is_text(name, UNKNOWN_NAME))
		return 0;
	return profile_add_foreign_string(stack->profile, name.at, name.nr);
}

/* Removes the first function from a chain of inlined functions and returns it. */
static struct perf_text cut_name(struct perf_text *chain)
{
	const char *into = memmem(chain->at, chain->nr, INTO, strlen(INTO));
	struct perf_text name = *chain;

	if (!into) {
		chain->nr = 0;
		return name;
	}
	name.nr = (size_t)(into - name.at);
	chain->at += name.nr + strlen(INTO);
	chain->nr -= name.nr + strlen(INTO);
	return name;
}

static int64_t add_frame(struct perf_stack *stack, const struct perf_symbol *symbol,
			 const struct code_line *lines, size_t nr)
{
	return profile_add_named_frame(stack->profile, symbol->kind, symbol->module, lines, nr);
}

/* The outermost function is first in the text, and last in lines. */
static int64_t add_chain(struct perf_stack *stack, struct perf_symbol *symbol,
			 struct perf_text chain)
{
	size_t nr_most = chain.nr / strlen(INTO) + 1, nr = 0;
	cleanup_free struct code_line *lines = calloc(nr_most, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	while (chain.nr) {
		int64_t name = name_of(stack, cut_name(&chain));

		if (name < 0)
			return name;
		lines[nr_most - ++nr].function = (uint32_t)name;
	}
	symbol->name = lines[nr_most - 1].function;
	return add_frame(stack, symbol, lines + nr_most - nr, nr);
}

static int64_t add_name(struct perf_stack *stack, struct perf_symbol *symbol, struct perf_text text)
{
	const struct code_line *line;
	int64_t name;

	if (symbol->code == PERF_CODE_RUN_TIME && text.nr &&
	    memmem(text.at, text.nr, INTO, strlen(INTO)))
		return add_chain(stack, symbol, text);
	name = name_of(stack, text);
	if (name < 0)
		return name;
	symbol->name = (uint32_t)name;
	line = &(struct code_line){.function = symbol->name};
	return add_frame(stack, symbol, line, symbol->name != 0);
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* An inlined function has no file: its address decides. */
static bool is_in_kernel(const struct perf_frame *frame, enum perf_code code)
{
	return code == PERF_CODE_KERNEL || (code == PERF_CODE_INLINED && frame->address >> 63);
}

static int set_symbol(struct perf_stack *stack, size_t number, const struct perf_frame *frame)
{
	struct perf_symbol symbol = {.code = perf_script_code(frame)};
	int64_t result = module_of(stack, frame, symbol.code);

	if (result < 0)
		return (int)result;
	symbol.module = (uint32_t)result;
	symbol.kind = is_in_kernel(frame, symbol.code) ? FRAME_KERNEL : FRAME_USER;
	result = add_name(stack, &symbol, frame->symbol);
	if (result < 0)
		return (int)result;
	symbol.frame = (uint32_t)result;
	stack->symbols[number] = symbol;
	return 0;
}

/*
 * The key of a symbol: both texts, and the address's half (user or kernel). The length of the first
 * text comes first, so that different pairs give different keys.
 */
static size_t make_key(struct perf_stack *stack, const struct perf_frame *frame)
{
	const uint64_t front = (uint64_t)frame->symbol.nr << 1 | frame->address >> 63;
	const struct perf_text parts[] = {
		{(const char *)&front, sizeof(front)}, frame->symbol, frame->file};
	size_t nr = 0, i;

	if (array_reserve(&stack->key, &stack->cap_key,
			  sizeof(front) + frame->symbol.nr + frame->file.nr, 1) < 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].nr) {
			memcpy(stack->key + nr, parts[i].at, parts[i].nr);
			nr += parts[i].nr;
		}
	return nr;
}

/* Returns the symbol of a frame, valid until the next call. NULL when out of memory. */
static const struct perf_symbol *find_symbol(struct perf_stack *stack,
					     const struct perf_frame *frame)
{
	uint32_t nr_known = strings_nr(stack->texts);
	size_t nr_key = make_key(stack, frame);
	int64_t number;

	/* Reserve first: otherwise, after an error, a text would exist without its symbol. */
	if (!nr_key || array_reserve(&stack->symbols, &stack->cap_symbols, (size_t)nr_known + 1,
				     sizeof(*stack->symbols)) < 0)
		return NULL;
	number = strings_add_bytes(stack->texts, stack->key, nr_key);
	if (number < 0 || (number == nr_known && set_symbol(stack, (size_t)number, frame) < 0))
		return NULL;
	return &stack->symbols[number];
}

/* --- the stack -------------------------------------------------------------------------------- */

static void reset_lines(struct perf_stack *stack)
{
	stack->nr_lines = 0;
	stack->has_places = false;
}

/* Adds the complete frame to the stack. */
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

int perf_stack_add(struct perf_stack *stack, const struct perf_frame *frame)
{
	const struct perf_symbol *symbol;
	struct perf_frame believed = *frame;
	int result = 0;

	if (stack->nr_lines &&
	    (stack->symbol.code != PERF_CODE_INLINED || stack->address != frame->address))
		result = close_frame(stack);
	if (result < 0)
		return result;
	/*
	 * A kernel address below user code that is in no file is not code: a walk by frame pointers
	 * mistook it for a caller. Without its address it is just an unknown frame.
	 */
	if (stack->nr_kernel < stack->nr_frames)
		believed.address = 0;
	symbol = find_symbol(stack, &believed);
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
	name = profile_add_foreign_string(stack->profile, file.at, file.nr);
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
	*stack = (struct perf_stack){.profile = profile, .texts = strings_new()};
	return stack->texts ? 0 : -ENOMEM;
}

void perf_stack_clear(struct perf_stack *stack)
{
	strings_free(stack->texts);
	free(stack->symbols);
	free(stack->key);
	free(stack->lines);
	free(stack->frames);
}
