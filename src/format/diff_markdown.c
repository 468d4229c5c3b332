/*
 * A difference for a ticket: two tables of what changed, see diff_rows.h.
 *
 *	| before | after | change | | function |
 *	|---:|---:|---:|---|---|
 *	| 12.34 % | 15.01 % | +2.67 ± 0.48 | +22 % | `crc64` |
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/columns.h"
#include "format/diff_cells.h"
#include "format/diff_rows.h"

#define SHOWN_FRAMES 6 /* of a path: its last ones */

/* As code: what would end it, or the table's cell, is replaced. */
static void write_code(FILE *out, const char *text)
{
	(void)putc('`', out);
	while (*text) {
		size_t bytes = columns_character(text);

		if (!bytes)
			(void)putc('?', out);
		else if (*text == '`')
			(void)putc('\'', out);
		else if (*text == '|')
			(void)fputs("\\|", out);
		else
			(void)fwrite(text, 1, bytes, out);
		text += bytes ? bytes : 1;
	}
	(void)putc('`', out);
}

static void write_numbers(const struct difference_scale *scale, const struct difference *is,
			  FILE *out)
{
	const char *unit = scale->by_time ? "/s" : " %";

	(void)fprintf(out, "| %.2f%s | %.2f%s | %+.2f ± %.2f | ",
		      diff_cells_number(scale, is->before), unit,
		      diff_cells_number(scale, is->after), unit,
		      diff_cells_number(scale, is->change), diff_cells_number(scale, is->error));
	if (is->kind == CHANGE_MORE || is->kind == CHANGE_LESS)
		(void)fprintf(out, "%+.0f %% | ", 100 * is->change / is->before);
	else
		(void)fprintf(out, "%s | ", diff_cells_kind(is->kind));
}

static void write_head(const char *what, FILE *out)
{
	(void)fprintf(out, "| before | after | change | | %s |\n|---:|---:|---:|---|---|\n", what);
}

static size_t write_rows(const struct comparison *comparison, FILE *out)
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
		write_code(out, difference_rows_name(rows, &rows->rows[i]));
		(void)fputs(" |\n", out);
	}
	return i;
}

static void write_way(const struct comparison *comparison, const struct difference_line *line,
		      FILE *out)
{
	const struct difference_paths *paths = &comparison->paths;
	uint32_t way[SHOWN_FRAMES], node = line->last;
	size_t nr = 0;

	for (; node && nr < SHOWN_FRAMES; node = paths->parents[node])
		way[nr++] = node;
	(void)fputs(node ? "… › " : "", out);
	while (nr--) {
		write_code(out, named_stacks_word(&comparison->stacks,
						  paths->nodes.nodes[way[nr]].word));
		(void)fputs(nr ? " › " : "", out);
	}
	(void)fputs(line->is_rest ? ", besides the paths below it |\n" : " |\n", out);
}

static void write_paths(const struct comparison *comparison, FILE *out)
{
	const struct difference_paths *paths = &comparison->paths;
	size_t i;

	if (!paths->nr)
		return;
	(void)putc('\n', out);
	write_head("call path", out);
	for (i = 0; i < paths->nr; i++) {
		write_numbers(&paths->scale, &paths->lines[i].pair.is, out);
		write_way(comparison, &paths->lines[i], out);
	}
}

static void write_side(const char *side, const char *name, double all, FILE *out)
{
	char buffer[COLUMNS_NUMBER_BYTES];

	(void)fprintf(out, "- %s: ", side);
	if (name) {
		write_code(out, name);
		(void)fputs(", ", out);
	}
	(void)fprintf(out, "%s counted\n", columns_number(buffer, (uint64_t)all));
}

int diff_rows_write_markdown(const struct profile *profile, const struct format_options *options,
			     const struct comparison_style *style, FILE *out)
{
	cleanup(comparison_clear) struct comparison comparison = {0};
	int err = diff_rows_compare(&comparison, profile, options, style);

	if (err)
		return err;
	write_side("before", style->before_name, comparison.scale.before_all, out);
	write_side("after", style->after_name, comparison.scale.after_all, out);
	(void)putc('\n', out);
	if (!write_rows(&comparison, out))
		(void)fputs("Nothing changed more than by chance.\n", out);
	write_paths(&comparison, out);
	errno = 0;
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
