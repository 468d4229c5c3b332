/*
 * A difference for a ticket: two tables of what changed, see diff_rows.h.
 *
 *	| before | after | change | sigma | | function |
 *	|---:|---:|---:|---:|---|---|
 *	| 12.34% | 15.01% | +2.67 ± 0.48 | 5.55 | +22% | `crc64` |
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/diff_cells.h"
#include "format/text/diff_rows.h"
#include "format/text/markdown_text.h"

#define SHOWN_FRAMES 6 /* of a path: its last ones */

static void write_numbers(const struct difference_scale *scale, const struct difference *is,
			  FILE *out)
{
	const char *unit = scale->by_time ? "/s" : "%";

	(void)fprintf(out, "| %.2f%s | %.2f%s | %+.2f ± %.2f | %.2f | ",
		      diff_cells_number(scale, is->before), unit,
		      diff_cells_number(scale, is->after), unit,
		      diff_cells_number(scale, is->change), diff_cells_number(scale, is->error),
		      is->sigma);
	if (is->kind == CHANGE_MORE || is->kind == CHANGE_LESS)
		(void)fprintf(out, "%+.0f%% | ", 100 * is->change / is->before);
	else
		(void)fprintf(out, "%s | ", diff_cells_kind(is->kind));
}

static void write_head(const char *what, FILE *out)
{
	(void)fprintf(out,
		      "| before | after | change | sigma | | %s |\n|---:|---:|---:|---:|---|---|\n",
		      what);
}

/* How many there are, or -ENOMEM. */
static int write_rows(const struct comparison *comparison, FILE *out)
{
	static const char *const heads[] = {
		[DIFFERENCE_BY_FUNCTION] = "function",
		[DIFFERENCE_BY_MODULE] = "module",
		[DIFFERENCE_BY_COMM] = "thread",
	};
	const struct difference_rows *rows = &comparison->rows;
	size_t i;

	for (i = 0; i < rows->nr && i < comparison->style.max_rows; i++) {
		const struct difference_pair *pair = difference_rows_pair(rows, &rows->rows[i]);

		if (pair->is.kind == CHANGE_NONE)
			break;
		if (!i)
			write_head(heads[comparison->style.group], out);
		write_numbers(&rows->scale, &pair->is, out);
		if (markdown_write_code(out, difference_rows_name(rows, &rows->rows[i])) < 0)
			return -ENOMEM;
		(void)fputs(" |\n", out);
	}
	return (int)i;
}

static int write_way(const struct comparison *comparison, const struct difference_line *line,
		     FILE *out)
{
	const struct difference_paths *paths = &comparison->paths;
	uint32_t way[SHOWN_FRAMES], node = line->last;
	size_t nr = 0;

	for (; node && nr < SHOWN_FRAMES; node = paths->parents[node])
		way[nr++] = node;
	(void)fputs(node ? "… › " : "", out);
	while (nr--) {
		if (markdown_write_code(out, named_stacks_word(&comparison->stacks,
							       paths->nodes.nodes[way[nr]].word)) <
		    0)
			return -ENOMEM;
		(void)fputs(nr ? " › " : "", out);
	}
	(void)fputs(line->is_rest ? ", besides the paths below it |\n" : " |\n", out);
	return 0;
}

static int write_paths(const struct comparison *comparison, FILE *out)
{
	const struct difference_paths *paths = &comparison->paths;
	size_t i;

	if (!paths->nr)
		return 0;
	(void)putc('\n', out);
	write_head("call path", out);
	for (i = 0; i < paths->nr; i++) {
		write_numbers(&paths->scale, &paths->lines[i].pair.is, out);
		if (write_way(comparison, &paths->lines[i], out) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int write_side(const struct profile *profile, const char *side, const char *name, double all,
		      FILE *out)
{
	char buffer[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];

	(void)fprintf(out, "- %s: ", side);
	if (name) {
		if (markdown_write_code(out, name) < 0)
			return -ENOMEM;
		(void)fputs(", ", out);
	}
	markdown_write_words(out, amount_total(profile, (uint64_t)all, buffer));
	markdown_write_words(out, amount_counted(profile, (uint64_t)all, counted));
	(void)putc('\n', out);
	return 0;
}

static int write_all(const struct comparison *comparison, FILE *out)
{
	const struct comparison_style *style = &comparison->style;
	const struct difference_scale *scale = &comparison->scale;
	int nr;

	if (write_side(comparison->profile, "before", style->before_name, scale->before_all, out) <
		    0 ||
	    write_side(comparison->profile, "after", style->after_name, scale->after_all, out) < 0)
		return -ENOMEM;
	(void)putc('\n', out);
	nr = write_rows(comparison, out);
	if (nr < 0)
		return nr;
	if (!nr)
		(void)fputs("Nothing changed more than by chance.\n", out);
	return write_paths(comparison, out);
}

int diff_rows_write_markdown(const struct profile *profile, const struct format_options *options,
			     const struct comparison_style *style, FILE *out)
{
	cleanup(comparison_clear) struct comparison comparison = {0};
	int err = diff_rows_compare(&comparison, profile, options, style);

	if (err)
		return err;
	errno = 0;
	err = write_all(&comparison, out);
	return err ? err : stream_finish(out);
}
