/* What a line says is decided by profile/named_stacks; here lines are sorted and written. */
#include "format/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "format/folded_line.h"
#include "format/folded_read.h"
#include "profile/named_stacks.h"

#define SEPARATOR ';'

/* As the joined line would compare: a word that ends is followed by a separator. */
static int compare_different_words(const char *a, const char *b)
{
	size_t same = 0;
	unsigned char byte_a, byte_b;

	while (a[same] && a[same] == b[same])
		same++;
	byte_a = (unsigned char)(a[same] ? a[same] : SEPARATOR);
	byte_b = (unsigned char)(b[same] ? b[same] : SEPARATOR);
	return (byte_a > byte_b) - (byte_a < byte_b);
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t line_a = *(const uint32_t *)a, line_b = *(const uint32_t *)b;
	const uint32_t *words_a, *words_b;
	size_t nr_a, nr_b, i;

	if (stacks->counts[line_a] != stacks->counts[line_b])
		return stacks->counts[line_a] > stacks->counts[line_b] ? -1 : 1;
	words_a = named_stacks_get(stacks, line_a, &nr_a);
	words_b = named_stacks_get(stacks, line_b, &nr_b);
	for (i = 0; i < nr_a && i < nr_b; i++)
		if (words_a[i] != words_b[i])
			return compare_different_words(named_stacks_word(stacks, words_a[i]),
						       named_stacks_word(stacks, words_b[i]));
	return (nr_a > nr_b) - (nr_a < nr_b);
}

/* The numbers of the stacks in the order of their lines; NULL when out of memory. */
static uint32_t *sorted_lines(const struct named_stacks *stacks)
{
	size_t nr = named_stacks_nr(stacks);
	uint32_t *lines = malloc((nr + 1) * sizeof(*lines));
	size_t i;

	if (!lines)
		return NULL;
	for (i = 0; i < nr; i++)
		lines[i] = (uint32_t)i;
	qsort_r(lines, nr, sizeof(*lines), compare_lines, (void *)stacks);
	return lines;
}

/* Counts that were read with a fraction are written with it; see folded_read.h. */
static struct folded_scale scale_of(const struct profile *profile)
{
	struct value_type counted = profile_origin(profile)->counted;
	const char *unit = profile_string(profile, counted.unit);

	if (strcmp(profile_string(profile, counted.type), FOLDED_WEIGHT) != 0 ||
	    !text_starts_with(unit, FOLDED_PARTS_OF) || unit[strspn(unit, "1/0")] ||
	    strlen(unit) > strlen(FOLDED_PARTS_OF) + FOLDED_MAX_DECIMALS)
		return folded_scale(0);
	return folded_scale((unsigned)(strlen(unit) - strlen(FOLDED_PARTS_OF)));
}

static void write_count(uint64_t count, struct folded_scale scale, FILE *out)
{
	uint64_t part = count % scale.factor;
	int digits = (int)scale.decimals;

	(void)fprintf(out, " %" PRIu64, count / scale.factor);
	for (; part && part % 10 == 0; part /= 10)
		digits--;
	if (part)
		(void)fprintf(out, ".%0*" PRIu64, digits, part);
	(void)putc_unlocked('\n', out);
}

static void write_line(const struct named_stacks *stacks, uint32_t line, struct folded_scale scale,
		       FILE *out)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(stacks, line, &nr);

	for (i = 0; i < nr; i++) {
		if (i)
			(void)putc_unlocked(SEPARATOR, out);
		(void)fputs_unlocked(named_stacks_word(stacks, words[i]), out);
	}
	write_count(stacks->counts[line], scale, out);
}

int folded_write(const struct profile *profile, const struct folded_options *options, FILE *out)
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
	};
	const struct folded_scale scale = scale_of(profile);
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	cleanup_free uint32_t *lines = NULL;
	size_t i;

	if (named_stacks_init(&stacks, profile, &style) < 0)
		return -ENOMEM;
	lines = sorted_lines(&stacks);
	if (!lines)
		return -ENOMEM;
	errno = 0;
	for (i = 0; i < named_stacks_nr(&stacks) && !ferror_unlocked(out); i++)
		write_line(&stacks, lines[i], scale, out);
	if (ferror_unlocked(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
