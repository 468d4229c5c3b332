/*
 * Converts a profile's samples to stacks of words.
 *
 * A frame's words are made when the first sample needs them, and cached by the frame's number. So a
 * sample costs one array access per frame, and one hash lookup for its stack of words.
 */
#include "view/named_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "view/homes.h"

struct frame_words {
	uint32_t first; /* in words, callers first */
	uint32_t nr;	/* 0: not made yet */
};

struct builder {
	const struct profile *profile;
	const struct named_stacks_style *style;
	struct named_stacks *stacks; /* owns the words */
	struct homes homes;	     /* with by_origin */
	struct frame_words *words_of_frame;
	uint32_t *words; /* of frames */
	size_t nr_words, cap_words;
	char *text; /* the word being written */
	size_t nr_text, cap_text;
	uint32_t *path; /* the stack being written */
	size_t nr_path, cap_path;
	int error; /* the first error; writing is a no-op afterwards */
};

#define UNKNOWN_NAME "[unknown]"

/* --- words ------------------------------------------------------------------------------------ */

static char clean_byte(char separator, char byte)
{
	if (separator && byte == separator)
		return ':';
	return (unsigned char)byte < ' ' || byte == 0x7f ? '?' : byte;
}

static void write_text(struct builder *builder, const char *text)
{
	size_t nr = strlen(text), i;
	char *to;

	if (builder->error ||
	    array_reserve(&builder->text, &builder->cap_text, builder->nr_text + nr, 1) < 0) {
		builder->error = -ENOMEM;
		return;
	}
	to = builder->text + builder->nr_text;
	if (builder->style->is_safe) {
		text_make_safe(to, text, nr);
		text = to;
	}
	for (i = 0; i < nr; i++)
		to[i] = clean_byte(builder->style->separator, text[i]);
	builder->nr_text += nr;
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

/* In a difference, a function counts as the same whether or not it was inlined in either build. */
static enum word_kind compared_kind(const struct builder *builder, enum word_kind kind)
{
	return builder->homes.is_difference && kind != WORD_LABEL && kind != WORD_MISSED ? WORD_USER
											 : kind;
}

/*
 * Labels and functions with equal texts are always different words: their position distinguishes
 * them.
 */
static bool same_word(const struct builder *builder, const struct word_info *a,
		      const struct word_info *b)
{
	if (a->text != b->text || (a->kind == WORD_LABEL) != (b->kind == WORD_LABEL))
		return false;
	return !builder->style->by_origin ||
	       (compared_kind(builder, a->kind) == compared_kind(builder, b->kind) &&
		a->module == b->module);
}

static int64_t intern_word(struct builder *builder, const struct word_info *info)
{
	struct named_stacks *stacks = builder->stacks;
	uint64_t hash = hash_u64(info->text);
	size_t probe = 0;
	uint32_t number;

	if (builder->style->by_origin)
		hash = hash_add(hash,
				(uint64_t)compared_kind(builder, info->kind) << 32 | info->module);
	else
		hash = hash_add(hash, info->kind == WORD_LABEL);
	while (number_index_next(&stacks->word_index, hash, &probe, &number))
		if (same_word(builder, &stacks->words[number], info))
			return number;
	if (array_reserve(&stacks->words, &stacks->cap_words, stacks->nr_words + 1,
			  sizeof(*stacks->words)) < 0 ||
	    number_index_reserve(&stacks->word_index) < 0)
		return -ENOMEM;
	number_index_add(&stacks->word_index, hash, (uint32_t)stacks->nr_words);
	stacks->words[stacks->nr_words] = *info;
	return (int64_t)stacks->nr_words++;
}

/* Interns the word that was written. Returns its number, 0 on failure. */
static uint32_t finish_word(struct builder *builder, struct word_info info)
{
	int64_t number = builder->error;

	if (!number && strings_bytes(builder->stacks->texts) > NAMED_STACKS_MAX_BYTES)
		number = -ENOMEM;
	if (!number)
		number = strings_add_bytes(builder->stacks->texts, builder->text, builder->nr_text);
	builder->nr_text = 0;
	if (number >= 0) {
		info.text = (uint32_t)number;
		number = intern_word(builder, &info);
	}
	if (number < 0) {
		builder->error = (int)number;
		return 0;
	}
	return (uint32_t)number;
}

/* --- labels ----------------------------------------------------------------------------------- */

static uint32_t finish_label(struct builder *builder)
{
	return finish_word(builder, (struct word_info){.kind = WORD_LABEL});
}

/*
 * Writes the pid, or "?" as stackcollapse-perf.pl does if it was not requested: then it is 0, which
 * is also the idle task's pid.
 */
static void write_pid(struct builder *builder, const struct sample_labels *labels)
{
	if (labels->pid || builder->style->labels & LABEL_PID)
		write_number(builder, labels->pid);
	else
		write_text(builder, "?");
}

static uint32_t thread_word(struct builder *builder, const struct sample_labels *labels)
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
	return finish_label(builder);
}

static uint32_t number_word(struct builder *builder, const char *what, int32_t number)
{
	write_text(builder, what);
	write_number(builder, number);
	return finish_label(builder);
}

static uint32_t text_word(struct builder *builder, const char *what, const char *text)
{
	write_text(builder, what);
	write_name(builder, text);
	return finish_label(builder);
}

/* All labels with keys of other programs are one word: `tenant a, zone b`. */
static uint32_t set_word(struct builder *builder, uint32_t set)
{
	const struct profile *profile = builder->profile;
	struct set_label labels[LABEL_SET_MAX];
	size_t nr = profile_label_set(profile, set, labels), i;
	char number[24];

	for (i = 0; i < nr; i++) {
		if (i)
			write_text(builder, ", ");
		write_name(builder, profile_string(profile, labels[i].key));
		write_text(builder, " ");
		(void)snprintf(number, sizeof(number), "%" PRId64, labels[i].number);
		if (labels[i].text)
			write_name(builder, profile_string(profile, labels[i].text));
		else
			write_text(builder, number);
	}
	if (!nr)
		write_text(builder, "[no label]");
	return finish_label(builder);
}

static uint32_t missed_word(struct builder *builder, const char *text)
{
	write_text(builder, text);
	return finish_word(builder, (struct word_info){.kind = WORD_MISSED});
}

/* --- frames ----------------------------------------------------------------------------------- */

const char *named_stacks_no_name(const struct profile *profile, uint32_t module)
{
	const struct module_code *code = profile_code(profile, module);

	if (code && code->is_unread)
		return "[unreadable]";
	return code && code->is_gone ? "[deleted]" : UNKNOWN_NAME;
}

/* Returns the module in which a function is shown. */
static uint32_t module_of(const struct builder *builder, const struct frame *frame,
			  uint32_t function)
{
	if (!builder->style->by_origin)
		return frame->module;
	return builder->style->keep_modules ? homes_of_module(&builder->homes, frame->module)
					    : homes_find(&builder->homes, frame->module, function);
}

static void write_function(struct builder *builder, const struct frame *frame, uint32_t function)
{
	const struct module *module = profile_module(builder->profile, frame->module);

	write_text(builder, function ? profile_string(builder->profile, function)
				     : named_stacks_no_name(builder->profile, frame->module));
	if (!function && builder->style->show_modules && frame->kind == FRAME_USER &&
	    module->kind != MODULE_UNKNOWN) {
		write_text(builder, " (");
		write_text(builder, profile_module_name(builder->profile,
							module_of(builder, frame, function)));
		write_text(builder, ")");
	}
}

static void write_place(struct builder *builder, const struct code_line *line)
{
	const char *path = profile_string(builder->profile, line->file);
	const char *slash = strrchr(path, '/');
	char number[16];

	if (!line->file || !line->line || !builder->style->lines)
		return;
	(void)snprintf(number, sizeof(number), ":%u", line->line);
	write_text(builder, " ");
	write_text(builder, slash ? slash + 1 : path);
	write_text(builder, number);
}

/* For a frame in no module, the kind follows from its home. */
static enum word_kind kind_of(const struct builder *builder, const struct frame *frame,
			      uint32_t home, bool is_inlined)
{
	enum module_kind module = profile_module(builder->profile, home)->kind;

	if (is_inlined)
		return WORD_INLINED;
	if (frame->kind == FRAME_KERNEL ||
	    (frame->module == MODULE_NR_UNKNOWN && module == MODULE_KERNEL))
		return WORD_KERNEL;
	return module == MODULE_RUN_TIME ? WORD_RUN_TIME : WORD_USER;
}

static void write_suffix(struct builder *builder, enum word_kind kind)
{
	const struct named_stacks_suffixes *suffixes = &builder->style->suffixes;
	const char *suffix = NULL;

	if (kind == WORD_INLINED)
		suffix = suffixes->inlined;
	else if (kind == WORD_KERNEL)
		suffix = suffixes->kernel;
	else if (kind == WORD_RUN_TIME)
		suffix = suffixes->run_time;
	if (suffix)
		write_text(builder, suffix);
}

/* Adds the word of a function, whose text was written, to the frame's words. */
static void add_word(struct builder *builder, const struct frame *frame, uint32_t function,
		     bool is_inlined, struct frame_words *words)
{
	uint32_t home = module_of(builder, frame, function);
	struct word_info info = {
		.function = function,
		.module = home,
		.kind = kind_of(builder, frame, home, is_inlined),
	};
	uint32_t word;

	write_suffix(builder, info.kind);
	word = finish_word(builder, info);
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
		add_word(builder, frame, lines[i - 1].function, i < frame->nr_lines, words);
	}
	if (frame->nr_lines)
		return;
	write_function(builder, frame, frame->function);
	add_word(builder, frame, frame->function, false, words);
}

/* Returns the frame's words, callers first; mostly one. Valid until the next call. */
static const uint32_t *frame_words(struct builder *builder, uint32_t number, size_t *ret_nr)
{
	struct frame_words *words = &builder->words_of_frame[number];

	if (!words->nr)
		make_words(builder, profile_frame(builder->profile, number), words);
	*ret_nr = builder->error ? 0 : words->nr;
	return builder->words + words->first;
}

/* --- a sample's words ------------------------------------------------------------------------- */

static void push_word(struct builder *builder, uint32_t word)
{
	if (builder->error || array_reserve(&builder->path, &builder->cap_path,
					    builder->nr_path + 1, sizeof(*builder->path)) < 0)
		builder->error = -ENOMEM;
	else
		builder->path[builder->nr_path++] = word;
}

static void push_labels(struct builder *builder, const struct sample_labels *labels)
{
	unsigned wanted = builder->style->labels;

	if (wanted & LABEL_COMM)
		push_word(builder, thread_word(builder, labels));
	if (!(wanted & LABEL_COMM) && wanted & LABEL_PID)
		push_word(builder, number_word(builder, "pid ", labels->pid));
	if (!(wanted & LABEL_COMM) && wanted & LABEL_TID)
		push_word(builder, number_word(builder, "tid ", labels->tid));
	if (wanted & LABEL_CGROUP)
		push_word(builder, text_word(builder, "cgroup ",
					     profile_string(builder->profile, labels->cgroup)));
	if (wanted & LABEL_PROBE)
		push_word(builder, text_word(builder, "probe ",
					     profile_string(builder->profile, labels->probe)));
	if (wanted & LABEL_CPU)
		push_word(builder, number_word(builder, "cpu ", labels->cpu));
	if (wanted & LABEL_SET)
		push_word(builder, set_word(builder, labels->set));
	builder->stacks->nr_labels = builder->nr_path;
}

static void note_recursion(struct builder *builder, uint32_t word)
{
	if (u64_map_set(&builder->stacks->recursive, word, 1) < 0)
		builder->error = -ENOMEM;
}

/* first_frame: index in the path where frames begin; a label is not a caller. */
static void push_call(struct builder *builder, uint32_t word, bool is_named, size_t first_frame)
{
	if (builder->style->fold_recursion && builder->nr_path > first_frame &&
	    builder->path[builder->nr_path - 1] == word) {
		if (is_named) /* functions without a name may be different ones */
			note_recursion(builder, word);
		return;
	}
	push_word(builder, word);
}

static void push_frame(struct builder *builder, uint32_t number, size_t first_frame)
{
	bool is_named = profile_frame(builder->profile, number)->function != 0;
	size_t nr, i;
	const uint32_t *words = frame_words(builder, number, &nr);

	for (i = 0; i < nr; i++)
		push_call(builder, words[i], is_named, first_frame);
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
		push_word(builder, missed_word(builder, "[Missed User Stack]"));
	if (nr_user && nr_kernel && builder->style->delimiter)
		push_word(builder, text_word(builder, "", builder->style->delimiter));
	for (i = nr_kernel; i > 0; i--)
		push_frame(builder, frames[i - 1], first_frame);
	if (!nr_kernel && sample->labels.kernel_end == WALK_MISSED && !builder->style->no_kernel)
		push_word(builder, missed_word(builder, "[Missed Kernel Stack]"));
}

/* --- counts ----------------------------------------------------------------------------------- */

static void reverse_words(uint32_t *words, size_t nr)
{
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		uint32_t word = words[i];

		words[i] = words[nr - 1 - i];
		words[nr - 1 - i] = word;
	}
}

/* Interns the stack in builder->path, and makes room for its counts. Its number, or -ENOMEM. */
static int64_t intern_path(struct builder *builder)
{
	struct named_stacks *stacks = builder->stacks;
	size_t nr_before = stacks->stacks.nr;
	int64_t stack = builder->error;

	if (!stack && (array_reserve(&stacks->counts, &stacks->cap_counts, nr_before + 1,
				     sizeof(*stacks->counts)) < 0 ||
		       (builder->style->other_value &&
			array_reserve(&stacks->others, &stacks->cap_others, nr_before + 1,
				      sizeof(*stacks->others)) < 0)))
		stack = -ENOMEM;
	if (builder->style->reverse)
		reverse_words(builder->path, builder->nr_path);
	if (!stack)
		stack = (builder->style->keep_order ? stack_table_append : stack_table_add)(
			&stacks->stacks, builder->path, builder->nr_path);
	if (stack >= 0 && stacks->stacks.nr > nr_before) {
		stacks->counts[stack] = 0;
		if (builder->style->other_value)
			stacks->others[stack] = 0;
	}
	return stack;
}

static int count_slice(struct named_stacks *stacks, uint32_t stack, uint32_t slice, uint64_t count)
{
	uint64_t key = (uint64_t)stack << 32 | slice;
	const uint64_t *known = u64_map_find(&stacks->slices, key);

	return u64_map_set(&stacks->slices, key, (known ? *known : 0) + count);
}

static int count_path(struct builder *builder, const struct sample *sample, uint64_t other)
{
	struct named_stacks *stacks = builder->stacks;
	int64_t stack = intern_path(builder);

	if (stack < 0)
		return (int)stack;
	stacks->counts[stack] += sample->count;
	stacks->total += sample->count;
	if (builder->style->other_value) {
		stacks->others[stack] += other;
		stacks->others_total += other;
	}
	if (!builder->style->with_slices)
		return 0;
	return count_slice(stacks, (uint32_t)stack, sample->labels.slice, sample->count);
}

static int add_samples(struct builder *builder)
{
	size_t nr = profile_nr_samples(builder->profile);
	uint64_t other = 0;
	uint32_t i;
	int result;

	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(builder->profile, i);

		if (builder->style->other_value)
			other = profile_value(builder->profile, i, builder->style->other_value);
		if (!sample->count && !other)
			continue;
		builder->nr_path = 0;
		push_labels(builder, &sample->labels);
		push_stacks(builder, sample);
		result = count_path(builder, sample, other);
		if (result < 0)
			return result;
	}
	return 0;
}

static int add_no_word(struct named_stacks *stacks)
{
	if (array_reserve(&stacks->words, &stacks->cap_words, 1, sizeof(*stacks->words)) < 0)
		return -ENOMEM;
	stacks->words[stacks->nr_words++] = (struct word_info){0};
	return 0;
}

int named_stacks_init(struct named_stacks *stacks, const struct profile *profile,
		      const struct named_stacks_style *style)
{
	struct builder builder = {.profile = profile, .style = style, .stacks = stacks};
	int result;

	*stacks = (struct named_stacks){.separator = style->separator};
	stacks->texts = strings_new();
	builder.words_of_frame =
		calloc(profile_nr_frames(profile) + 1, sizeof(*builder.words_of_frame));
	result = !builder.words_of_frame || !stacks->texts || add_no_word(stacks) < 0 ? -ENOMEM : 0;
	if (!result && style->by_origin)
		result = homes_init(&builder.homes, profile);
	if (!result)
		result = add_samples(&builder);
	homes_clear(&builder.homes);
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
	strings_free(stacks->texts);
	free(stacks->words);
	number_index_clear(&stacks->word_index);
	stack_table_clear(&stacks->stacks);
	free(stacks->counts);
	free(stacks->others);
	u64_map_clear(&stacks->slices);
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
	return strings_get(stacks->texts, stacks->words[word].text);
}

const struct word_info *named_stacks_info(const struct named_stacks *stacks, uint32_t word)
{
	return &stacks->words[word];
}

/* Compares two words as if both were followed by the separator. */
static int compare_different_words(const char *a, const char *b, char separator)
{
	size_t same = 0;
	unsigned char byte_a, byte_b;

	while (a[same] && a[same] == b[same])
		same++;
	byte_a = (unsigned char)(a[same] ? a[same] : separator);
	byte_b = (unsigned char)(b[same] ? b[same] : separator);
	return (byte_a > byte_b) - (byte_a < byte_b);
}

int named_stacks_compare(const struct named_stacks *stacks, uint32_t a, uint32_t b)
{
	size_t nr_a, nr_b, i;
	const uint32_t *words_a = named_stacks_get(stacks, a, &nr_a);
	const uint32_t *words_b = named_stacks_get(stacks, b, &nr_b);
	int order = 0;

	for (i = 0; i < nr_a && i < nr_b && !order; i++)
		if (words_a[i] != words_b[i])
			order = compare_different_words(named_stacks_word(stacks, words_a[i]),
							named_stacks_word(stacks, words_b[i]),
							stacks->separator);
	return order ? order : (nr_a > nr_b) - (nr_a < nr_b);
}

bool named_stacks_is_recursive(const struct named_stacks *stacks, uint32_t word)
{
	return u64_map_find(&stacks->recursive, word) != NULL;
}
