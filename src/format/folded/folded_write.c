/*
 * Writes folded stacks: view/named_stacks makes the words of the lines, which are sorted and
 * written here.
 */
#include "format/folded/folded.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "profile/sort.h"
#include "view/diff/comparison.h"
#include "view/named_stacks.h"

#define SEPARATOR ';'

static uint64_t weight_of(const struct named_stacks *stacks, uint32_t line)
{
	return stacks->counts[line] + (stacks->others ? stacks->others[line] : 0);
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t line_a = *(const uint32_t *)a, line_b = *(const uint32_t *)b;
	uint64_t weight_a = weight_of(stacks, line_a), weight_b = weight_of(stacks, line_b);

	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	return named_stacks_compare(stacks, line_a, line_b);
}

static void write_count(uint64_t count, struct value_scale scale, FILE *out)
{
	char text[VALUE_SCALE_BYTES];

	(void)putc_unlocked(' ', out);
	(void)fputs_unlocked(value_scale_text(text, count, scale), out);
}

/* The event that the line counts, as its outermost frame. */
static void write_root(const char *event, FILE *out)
{
	(void)putc_unlocked('[', out);
	for (; *event; event++)
		(void)putc_unlocked(*event == SEPARATOR || *event <= ' ' ? '_' : *event, out);
	(void)putc_unlocked(']', out);
	(void)putc_unlocked(SEPARATOR, out);
}

static void write_line(const struct named_stacks *stacks, uint32_t line, struct value_scale scale,
		       FILE *out)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(stacks, line, &nr);

	for (i = 0; i < nr; i++) {
		if (i)
			(void)putc_unlocked(SEPARATOR, out);
		(void)fputs_unlocked(named_stacks_word(stacks, words[i]), out);
	}
	if (stacks->others)
		write_count(stacks->others[line], scale, out);
	write_count(stacks->counts[line], scale, out);
	(void)putc_unlocked('\n', out);
}

int folded_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	static const struct named_stacks_suffixes annotations = {
		.inlined = "_[i]", .kernel = "_[k]", .run_time = "_[j]"};
	static const struct named_stacks_suffixes none = {.inlined = NULL};
	const struct named_stacks_style style = {
		.labels = options->labels,
		.suffixes = options->annotate ? annotations : none,
		.delimiter = options->delimited ? "-" : NULL,
		.separator = SEPARATOR,
		.is_safe = true,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.lines = options->lines,
		.other_value = comparison_value(profile),
	};
	const struct value_scale scale = profile_scale(profile);
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup_free uint32_t *lines = NULL;
	size_t i;

	if (named_stacks_init(&stacks, profile, &style) < 0)
		return -ENOMEM;
	lines = sort_numbers(named_stacks_nr(&stacks), compare_lines, &stacks);
	if (!lines)
		return -ENOMEM;
	errno = 0;
	for (i = 0; i < named_stacks_nr(&stacks) && !ferror_unlocked(out); i++) {
		if (options->has_root)
			write_root(profile_value_name(profile, 0), out);
		write_line(&stacks, lines[i], scale, out);
	}
	return stream_finish(out);
}
