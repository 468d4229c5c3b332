/*
 * Words are named_words.c's. A sample costs one look a frame and one search for its stack of words.
 */
#include "view/named_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/profile.h"
#include "view/named_words.h"

struct builder {
	const struct profile *profile;
	const struct named_stacks_style *style;
	struct named_stacks *stacks;
	struct named_words words;
	uint32_t *path; /* the stack being written */
	size_t nr_path, cap_path;
	int error;
};

/* --- a sample's words ------------------------------------------------------------------------- */

static void push_word(struct builder *builder, uint32_t word)
{
	if (builder->words.error || array_reserve(&builder->path, &builder->cap_path,
						  builder->nr_path + 1, sizeof(*builder->path)) < 0)
		builder->error = -ENOMEM;
	else
		builder->path[builder->nr_path++] = word;
}

static void push_labels(struct builder *builder, const struct sample_labels *labels)
{
	unsigned wanted = builder->style->labels;
	struct named_words *words = &builder->words;

	if (wanted & LABEL_COMM)
		push_word(builder, named_words_thread(words, labels));
	if (!(wanted & LABEL_COMM) && wanted & LABEL_PID)
		push_word(builder, named_words_number(words, "pid ", labels->pid));
	if (!(wanted & LABEL_COMM) && wanted & LABEL_TID)
		push_word(builder, named_words_number(words, "tid ", labels->tid));
	if (wanted & LABEL_CGROUP)
		push_word(builder,
			  named_words_text(words, "cgroup ",
					   profile_string(builder->profile, labels->cgroup)));
	if (wanted & LABEL_CPU)
		push_word(builder, named_words_number(words, "cpu ", labels->cpu));
	builder->stacks->nr_labels = builder->nr_path;
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
	bool is_named = profile_frame(builder->profile, number)->function != 0;
	size_t nr, i;
	const uint32_t *words = named_words_of_frame(&builder->words, number, &nr);

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
		push_word(builder, named_words_missed(&builder->words, "[Missed User Stack]"));
	if (nr_user && nr_kernel && builder->style->delimiter)
		push_word(builder,
			  named_words_text(&builder->words, "", builder->style->delimiter));
	for (i = nr_kernel; i > 0; i--)
		push_frame(builder, frames[i - 1], first_frame);
	if (!nr_kernel && sample->labels.kernel_end == WALK_MISSED && !builder->style->no_kernel)
		push_word(builder, named_words_missed(&builder->words, "[Missed Kernel Stack]"));
}

/* --- counts ----------------------------------------------------------------------------------- */

static void turn_round(uint32_t *words, size_t nr)
{
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		uint32_t word = words[i];

		words[i] = words[nr - 1 - i];
		words[nr - 1 - i] = word;
	}
}

/* The number of the stack that was written, with room for its counts; or -ENOMEM. */
static int64_t intern_path(struct builder *builder)
{
	struct named_stacks *stacks = builder->stacks;
	size_t nr_before = stacks->stacks.nr;
	int64_t stack = builder->error ? builder->error : builder->words.error;

	if (!stack && (array_reserve(&stacks->counts, &stacks->cap_counts, nr_before + 1,
				     sizeof(*stacks->counts)) < 0 ||
		       (builder->style->other_value &&
			array_reserve(&stacks->others, &stacks->cap_others, nr_before + 1,
				      sizeof(*stacks->others)) < 0)))
		stack = -ENOMEM;
	if (builder->style->reverse)
		turn_round(builder->path, builder->nr_path);
	if (!stack)
		stack = stack_table_add(&stacks->stacks, builder->path, builder->nr_path);
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
	result = named_words_init(&builder.words, profile, style, stacks);
	if (!stacks->texts || add_no_word(stacks) < 0)
		result = -ENOMEM;
	if (!result)
		result = add_samples(&builder);
	named_words_clear(&builder.words);
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

/* A word that ends is followed by a separator. */
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
