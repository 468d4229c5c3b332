/*
 * A frame's words are made when the first sample needs them, and then found by the frame's number,
 * so a sample costs one look a frame and one search for its stack of words. Mostly there is one; a
 * frame into which functions were inlined has more, in a row.
 *
 * While stacks are built, running out of memory is noted once, in the builder, and everything
 * after it does nothing.
 */
#include "profile/named_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define UNKNOWN_NAME "[unknown]"

struct frame_words {
	uint32_t first; /* in the builder's words, callers first */
	uint32_t nr;	/* 0: not needed so far */
};

struct builder {
	const struct profile *profile;
	const struct named_stacks_style *style;
	struct named_stacks *stacks;
	struct frame_words *words_of_frame;
	uint32_t *words; /* of frames */
	size_t nr_words, cap_words;
	char *text; /* the word being written */
	size_t nr_text, cap_text;
	uint32_t *path; /* the stack being written */
	size_t nr_path, cap_path;
	int error;
};

/* --- words -------------------------------------------------------------------------------------
 */

static char clean_byte(char separator, char byte)
{
	if (separator && byte == separator)
		return ':';
	return (unsigned char)byte < ' ' || byte == 0x7f ? '?' : byte;
}

static void write_text(struct builder *builder, const char *text)
{
	size_t nr = strlen(text);
	size_t i;

	if (builder->error ||
	    array_reserve(&builder->text, &builder->cap_text, builder->nr_text + nr, 1) < 0) {
		builder->error = -ENOMEM;
		return;
	}
	for (i = 0; i < nr; i++)
		builder->text[builder->nr_text++] = clean_byte(builder->style->separator, text[i]);
}

static void write_name(struct builder *builder, const char *name)
{
	write_text(builder, *name ? name : UNKNOWN_NAME);
}

static void write_number(struct builder *builder, int32_t number)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%d", (int)number);
	write_text(builder, digits);
}

/* Ends the word that was written; 0 after a failure. */
static uint32_t finish_word(struct builder *builder)
{
	int64_t word = builder->error;

	if (!builder->error)
		word = strings_add_bytes(builder->stacks->words, builder->text, builder->nr_text);
	builder->nr_text = 0;
	if (word < 0) {
		builder->error = (int)word;
		return 0;
	}
	return (uint32_t)word;
}

static void push_word(struct builder *builder, uint32_t word)
{
	if (builder->error || array_reserve(&builder->path, &builder->cap_path,
					    builder->nr_path + 1, sizeof(*builder->path)) < 0) {
		builder->error = -ENOMEM;
		return;
	}
	builder->path[builder->nr_path++] = word;
}

static void push_text(struct builder *builder, const char *text)
{
	write_text(builder, text);
	push_word(builder, finish_word(builder));
}

/* --- labels ------------------------------------------------------------------------------------
 */

/* A pid that was not asked for is 0, which is the idle thread's too; "?" as perf's scripts have it.
 */
static void write_pid(struct builder *builder, const struct sample_labels *labels)
{
	if (labels->pid || builder->style->labels & LABEL_PID)
		write_number(builder, labels->pid);
	else
		write_text(builder, "?");
}

static void push_thread(struct builder *builder, const struct sample_labels *labels)
{
	write_name(builder, profile_string(builder->profile, labels->comm));
	if (builder->style->labels & (LABEL_PID | LABEL_TID)) {
		write_text(builder, "-");
		write_pid(builder, labels);
	}
	if (builder->style->labels & LABEL_TID) {
		write_text(builder, "/");
		write_number(builder, labels->tid);
	}
	push_word(builder, finish_word(builder));
}

static void push_number(struct builder *builder, const char *what, int32_t number)
{
	write_text(builder, what);
	write_number(builder, number);
	push_word(builder, finish_word(builder));
}

static void push_labels(struct builder *builder, const struct sample_labels *labels)
{
	unsigned wanted = builder->style->labels;

	if (wanted & LABEL_COMM)
		push_thread(builder, labels);
	if (!(wanted & LABEL_COMM) && wanted & LABEL_PID)
		push_number(builder, "pid ", labels->pid);
	if (!(wanted & LABEL_COMM) && wanted & LABEL_TID)
		push_number(builder, "tid ", labels->tid);
	if (wanted & LABEL_CGROUP) {
		write_text(builder, "cgroup ");
		write_name(builder, profile_string(builder->profile, labels->cgroup));
		push_word(builder, finish_word(builder));
	}
	if (wanted & LABEL_CPU)
		push_number(builder, "cpu ", labels->cpu);
	builder->stacks->nr_labels = builder->nr_path;
}

/* --- frames ------------------------------------------------------------------------------------
 */

const char *named_stacks_no_name(const struct profile *profile, uint32_t module)
{
	const struct module_code *code = profile_code(profile, module);

	return code && code->is_gone ? "[deleted]" : UNKNOWN_NAME;
}

static void write_function(struct builder *builder, const struct frame *frame, uint32_t function)
{
	const struct module *module = profile_module(builder->profile, frame->module);

	write_text(builder, function ? profile_string(builder->profile, function)
				     : named_stacks_no_name(builder->profile, frame->module));
	if (!function && builder->style->show_modules && frame->kind == FRAME_USER &&
	    module->kind != MODULE_UNKNOWN) {
		write_text(builder, " (");
		write_text(builder, profile_module_name(builder->profile, frame->module));
		write_text(builder, ")");
	}
}

static void write_place(struct builder *builder, const struct code_line *line)
{
	const char *path = profile_string(builder->profile, line->file);
	const char *slash = strrchr(path, '/');
	char number[16];

	if (!line->file || !line->line)
		return;
	(void)snprintf(number, sizeof(number), ":%u", line->line);
	write_text(builder, " ");
	write_text(builder, slash ? slash + 1 : path);
	write_text(builder, number);
}

static void write_suffix(struct builder *builder, const struct frame *frame, bool is_inlined)
{
	const struct named_stacks_suffixes *suffixes = &builder->style->suffixes;
	const struct module *module = profile_module(builder->profile, frame->module);
	const char *suffix = NULL;

	if (is_inlined)
		suffix = suffixes->inlined;
	else if (frame->kind == FRAME_KERNEL)
		suffix = suffixes->kernel;
	else if (module->kind == MODULE_RUN_TIME)
		suffix = suffixes->run_time;
	if (suffix)
		write_text(builder, suffix);
}

static void add_word(struct builder *builder, struct frame_words *words)
{
	uint32_t word = finish_word(builder);

	if (builder->error || array_reserve(&builder->words, &builder->cap_words,
					    builder->nr_words + 1, sizeof(word)) < 0) {
		builder->error = -ENOMEM;
		return;
	}
	builder->words[builder->nr_words++] = word;
	words->nr++;
}

static void make_words(struct builder *builder, const struct frame *frame,
		       struct frame_words *words)
{
	const struct code_line *lines = NULL;
	size_t i;

	if (frame->nr_lines)
		lines = profile_lines(builder->profile, frame);
	words->first = (uint32_t)builder->nr_words;
	for (i = frame->nr_lines; i; i--) {
		write_function(builder, frame, lines[i - 1].function);
		write_place(builder, &lines[i - 1]);
		write_suffix(builder, frame, i < frame->nr_lines);
		add_word(builder, words);
	}
	if (frame->nr_lines)
		return;
	write_function(builder, frame, frame->function);
	write_suffix(builder, frame, false);
	add_word(builder, words);
}

static void note_recursion(struct builder *builder, uint32_t word)
{
	if (u64_map_set(&builder->stacks->recursive, word, 1) < 0)
		builder->error = -ENOMEM;
}

/* first_frame: the place in the path where frames begin; a label is nobody's caller. */
static void push_call(struct builder *builder, uint32_t word, bool is_named, size_t first_frame)
{
	if (builder->style->fold_recursion && builder->nr_path > first_frame &&
	    builder->path[builder->nr_path - 1] == word) {
		if (is_named) /* two unknown functions need not be the same one */
			note_recursion(builder, word);
		return;
	}
	push_word(builder, word);
}

static void push_frame(struct builder *builder, uint32_t number, size_t first_frame)
{
	const struct frame *frame = profile_frame(builder->profile, number);
	struct frame_words *words = &builder->words_of_frame[number];
	uint32_t i;

	if (!words->nr)
		make_words(builder, frame, words);
	for (i = 0; i < words->nr && !builder->error; i++)
		push_call(builder, builder->words[words->first + i], frame->function != 0,
			  first_frame);
}

static void push_stacks(struct builder *builder, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(builder->profile, sample);
	size_t nr_kernel = sample->nr_kernel_frames;
	size_t nr_user = sample->nr_frames - nr_kernel;
	size_t first_frame = builder->nr_path;
	size_t i;

	for (i = nr_kernel + nr_user; i > nr_kernel; i--)
		push_frame(builder, frames[i - 1], first_frame);
	if (!nr_user && sample->labels.user_end == WALK_MISSED && !builder->style->no_user)
		push_text(builder, "[Missed User Stack]");
	if (nr_user && nr_kernel && builder->style->delimiter)
		push_text(builder, builder->style->delimiter);
	for (i = nr_kernel; i > 0; i--)
		push_frame(builder, frames[i - 1], first_frame);
	if (!nr_kernel && sample->labels.kernel_end == WALK_MISSED && !builder->style->no_kernel)
		push_text(builder, "[Missed Kernel Stack]");
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static int count_path(struct builder *builder, uint64_t count)
{
	struct named_stacks *stacks = builder->stacks;
	size_t nr_before = stacks->stacks.nr;
	int64_t stack;

	if (builder->error)
		return builder->error;
	if (array_reserve(&stacks->counts, &stacks->cap_counts, nr_before + 1,
			  sizeof(*stacks->counts)) < 0)
		return -ENOMEM;
	stack = stack_table_add(&stacks->stacks, builder->path, builder->nr_path);
	if (stack < 0)
		return (int)stack;
	if (stacks->stacks.nr > nr_before)
		stacks->counts[stack] = 0;
	stacks->counts[stack] += count;
	stacks->total += count;
	return 0;
}

static int add_samples(struct builder *builder)
{
	size_t nr = profile_nr_samples(builder->profile);
	uint32_t i;
	int result;

	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(builder->profile, i);

		if (!sample->count)
			continue;
		builder->nr_path = 0;
		push_labels(builder, &sample->labels);
		push_stacks(builder, sample);
		result = count_path(builder, sample->count);
		if (result < 0)
			return result;
	}
	return 0;
}

int named_stacks_init(struct named_stacks *stacks, const struct profile *profile,
		      const struct named_stacks_style *style)
{
	struct builder builder = {.profile = profile, .style = style, .stacks = stacks};
	size_t nr_frames = profile_nr_frames(profile);
	int result = -ENOMEM;

	*stacks = (struct named_stacks){0};
	stacks->words = strings_new();
	builder.words_of_frame = calloc(nr_frames + 1, sizeof(*builder.words_of_frame));
	if (stacks->words && builder.words_of_frame)
		result = add_samples(&builder);
	free(builder.words_of_frame);
	free(builder.words);
	free(builder.text);
	free(builder.path);
	if (result < 0)
		named_stacks_clear(stacks);
	return result;
}

void named_stacks_clear(struct named_stacks *stacks)
{
	strings_free(stacks->words);
	stack_table_clear(&stacks->stacks);
	free(stacks->counts);
	u64_map_clear(&stacks->recursive);
	*stacks = (struct named_stacks){0};
}

size_t named_stacks_nr(const struct named_stacks *stacks)
{
	return stacks->stacks.nr;
}

const uint32_t *named_stacks_get(const struct named_stacks *stacks, uint32_t stack, size_t *ret_nr)
{
	return stack_table_get(&stacks->stacks, stack, ret_nr);
}

const char *named_stacks_word(const struct named_stacks *stacks, uint32_t word)
{
	return strings_get(stacks->words, word);
}

bool named_stacks_is_recursive(const struct named_stacks *stacks, uint32_t word)
{
	return u64_map_find(&stacks->recursive, word) != NULL;
}
