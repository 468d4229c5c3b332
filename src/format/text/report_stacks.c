/*
 * Whole stacks one by one, REPORT_FLAT:
 *
 *	  SELF  STACK (below 0.5% left out)
 *	 12.3%  redis-server
 *	        main
 *	        aeMain
 *
 *	  9.8%  redis-server
 *	        …
 *
 * and REPORT_FOLDED, where names are not cut, for scripts:
 *
 *	 12.3%  redis-server;main;aeMain
 */
#include "format/text/report_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/text/columns.h"
#include "format/text/report_percent.h"
#include "view/named_stacks.h"

#define DEFAULT_THRESHOLD 0.5
#define INDENT		  (REPORT_PERCENT_COLUMNS + 2)

struct writer {
	const struct named_stacks *stacks;
	const struct report_options *options;
	FILE *out;
};

static double percent_of(const struct writer *writer, uint32_t stack)
{
	return 100.0 * (double)writer->stacks->counts[stack] / (double)writer->stacks->total;
}

/* Heaviest first; what weighs the same by its text. */
static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct named_stacks *stacks = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (stacks->counts[one] != stacks->counts[other])
		return stacks->counts[one] > stacks->counts[other] ? -1 : 1;
	return named_stacks_compare(stacks, one, other);
}

/* The numbers of the stacks that are heavy enough, heaviest first; NULL when out of memory. */
static uint32_t *heavy_stacks(const struct writer *writer, double threshold, size_t *ret_nr)
{
	size_t nr = named_stacks_nr(writer->stacks), i;
	uint32_t *heavy = malloc((nr + 1) * sizeof(*heavy));

	if (!heavy)
		return NULL;
	*ret_nr = 0;
	for (i = 0; i < nr; i++)
		if (percent_of(writer, (uint32_t)i) >= threshold)
			heavy[(*ret_nr)++] = (uint32_t)i;
	qsort_r(heavy, *ret_nr, sizeof(*heavy), compare_stacks, (void *)writer->stacks);
	return heavy;
}

static void write_folded(const struct writer *writer, uint32_t stack)
{
	size_t nr, i;
	const uint32_t *words = named_stacks_get(writer->stacks, stack, &nr);

	for (i = 0; i < nr; i++) {
		const char *word = named_stacks_word(writer->stacks, words[i]);

		if (i)
			(void)putc(';', writer->out);
		(void)columns_write(writer->out, word, columns_of(word), "");
	}
	(void)putc('\n', writer->out);
}

static void write_flat(const struct writer *writer, uint32_t stack)
{
	const char *ellipsis = writer->options->ascii ? ".." : "…";
	size_t nr, i;
	const uint32_t *words = named_stacks_get(writer->stacks, stack, &nr);

	for (i = 0; i < nr; i++) {
		if (i)
			columns_pad(writer->out, INDENT);
		(void)columns_write(writer->out, named_stacks_word(writer->stacks, words[i]),
				    writer->options->width - INDENT, ellipsis);
		(void)putc('\n', writer->out);
	}
	if (!nr)
		(void)fputs("(no stack)\n", writer->out);
}

static int write_stacks(const struct writer *writer)
{
	const struct report_style *style = &writer->options->style;
	double threshold = style->threshold > 0 ? style->threshold : DEFAULT_THRESHOLD;
	bool is_folded = style->form == REPORT_FOLDED;
	size_t nr = 0, i;
	cleanup_free uint32_t *heavy = heavy_stacks(writer, threshold, &nr);

	if (!heavy)
		return -ENOMEM;
	(void)fprintf(writer->out, "%*s  STACK (below %g%% left out)\n", REPORT_PERCENT_COLUMNS,
		      "SELF", threshold);
	for (i = 0; i < nr && (!style->max_branches || i < style->max_branches); i++) {
		if (i && !is_folded)
			(void)putc('\n', writer->out);
		report_percent_write(writer->out, percent_of(writer, heavy[i]),
				     writer->options->color);
		columns_pad(writer->out, INDENT - REPORT_PERCENT_COLUMNS);
		if (is_folded)
			write_folded(writer, heavy[i]);
		else
			write_flat(writer, heavy[i]);
	}
	return 0;
}

int report_stacks_write(const struct profile *profile, const struct report_options *options,
			FILE *out)
{
	bool is_folded = options->style.form == REPORT_FOLDED;
	const struct named_stacks_style style = {
		.labels = options->labels,
		.suffixes = {.inlined = is_folded ? NULL : " [i]",
			     .kernel = is_folded ? NULL : " [k]"},
		.separator = is_folded ? ';' : '\0',
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
		.lines = options->lines,
		.show_modules = !is_folded,
		.reverse = options->style.order == REPORT_CALLEE,
	};
	cleanup(named_stacks_clear) struct named_stacks stacks = {0};
	const struct writer writer = {.stacks = &stacks, .options = options, .out = out};

	if (named_stacks_init(&stacks, profile, &style) < 0)
		return -ENOMEM;
	return write_stacks(&writer);
}
