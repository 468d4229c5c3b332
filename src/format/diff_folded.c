/* Folded stacks with two numbers a line, heaviest first; see diff_rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/diff_rows.h"

#define SEPARATOR ';'

/* By both numbers together, then by text. */
static int compare_lines(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t line_a = *(const uint32_t *)a, line_b = *(const uint32_t *)b;
	uint64_t sum_a = stacks->counts[line_a] + stacks->others[line_a];
	uint64_t sum_b = stacks->counts[line_b] + stacks->others[line_b];
	const uint32_t *words_a, *words_b;
	size_t nr_a, nr_b, i;

	if (sum_a != sum_b)
		return sum_a > sum_b ? -1 : 1;
	words_a = named_stacks_get(stacks, line_a, &nr_a);
	words_b = named_stacks_get(stacks, line_b, &nr_b);
	for (i = 0; i < nr_a && i < nr_b; i++)
		if (words_a[i] != words_b[i])
			return strcmp(named_stacks_word(stacks, words_a[i]),
				      named_stacks_word(stacks, words_b[i]));
	return (nr_a > nr_b) - (nr_a < nr_b);
}

static void write_line(const struct named_stacks *stacks, uint32_t line, FILE *out)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(stacks, line, &nr);

	for (i = 0; i < nr; i++) {
		if (i)
			(void)putc_unlocked(SEPARATOR, out);
		(void)fputs_unlocked(named_stacks_word(stacks, words[i]), out);
	}
	(void)fprintf(out, " %" PRIu64 " %" PRIu64 "\n", stacks->others[line],
		      stacks->counts[line]);
}

static int write_lines(const struct named_stacks *stacks, FILE *out)
{
	size_t nr = named_stacks_nr(stacks), i;
	cleanup_free uint32_t *lines = malloc((nr + 1) * sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		lines[i] = (uint32_t)i;
	qsort_r(lines, nr, sizeof(*lines), compare_lines, (void *)stacks);
	errno = 0;
	for (i = 0; i < nr && !ferror_unlocked(out); i++)
		write_line(stacks, lines[i], out);
	if (ferror_unlocked(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

int diff_rows_write_folded(const struct profile *profile, const struct format_options *options,
			   FILE *out)
{
	static const struct named_stacks_suffixes annotations = {
		.inlined = "_[i]", .kernel = "_[k]", .run_time = "_[j]"};
	static const struct named_stacks_suffixes none = {.inlined = NULL};
	const struct named_stacks_style style = {
		.labels = options->labels,
		.suffixes = options->annotate ? annotations : none,
		.delimiter = options->delimited ? "-" : NULL,
		.separator = SEPARATOR,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.other_value = comparison_value(profile),
	};
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};

	if (!style.other_value)
		return -EINVAL;
	if (named_stacks_init(&stacks, profile, &style) < 0)
		return -ENOMEM;
	return write_lines(&stacks, out);
}
