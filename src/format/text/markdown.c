/*
 * See markdown.h.
 *
 *	### 12,345 samples
 *
 *	`cpu-clock`, every 10,101,010 nanoseconds, for 30.0 s from 2026-11-21T20:42:00Z
 *
 *	* 98.7 % of user stacks are whole
 *
 *	| self | samples | total | function | module |
 *	|-----:|--------:|------:|----------|--------|
 *	| 23.4% | 2,889 | 45.1% | `dictFind` | `redis-server` |
 */
#include "format/text/markdown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/columns.h"
#include "format/text/markdown_text.h"
#include "format/text/report_rows.h"
#include "format/text/report_time.h"
#include "format/text/sheet_write.h"
#include "view/call_tree.h"

#define DEFAULT_ROWS 10

/* --- the head -------------------------------------------------------------------------------- */

static int write_origin(const struct profile *profile, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	char buffer[COLUMNS_NUMBER_BYTES], time[REPORT_TIME_BYTES];

	if (!origin->event)
		return 0;
	if (markdown_write_code(out, profile_string(profile, origin->event)) < 0)
		return -ENOMEM;
	if (origin->period) {
		(void)fprintf(out, ", every %s ", columns_number(buffer, origin->period));
		markdown_write_words(out, origin->unit ? profile_string(profile, origin->unit)
						       : "events");
	}
	if (origin->duration_ns)
		(void)fprintf(out, ", for %.1f s", (double)origin->duration_ns / 1e9);
	if (origin->time_ns)
		(void)fprintf(out, " from %s", report_time(origin->time_ns, time));
	(void)fputs("\n\n", out);
	return 0;
}

static int write_head(const struct profile *profile, FILE *out)
{
	char buffer[AMOUNT_BYTES], counted[AMOUNT_COUNTED_BYTES];
	uint64_t total = profile_total(profile);
	size_t i;

	(void)fputs("### ", out);
	markdown_write_words(out, amount_total(profile, total, buffer));
	markdown_write_words(out, amount_counted(profile, total, counted));
	(void)fputs("\n\n", out);
	if (write_origin(profile, out) < 0)
		return -ENOMEM;
	for (i = 0; i < profile_nr_comments(profile); i++) {
		(void)fputs("* ", out);
		markdown_write_words(out, profile_comment(profile, i));
		(void)putc('\n', out);
	}
	if (i)
		(void)putc('\n', out);
	return 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void write_headings(const struct report_rows *rows, FILE *out)
{
	size_t i;

	(void)fputs("| self | ", out);
	markdown_write_words(out, amount_heading(rows->profile));
	(void)fputs(rows->has_totals ? " | total |" : " |", out);
	for (i = 0; i < rows->nr_keys; i++)
		(void)fprintf(out, " %s |", report_rows_key_name(rows->keys[i]));
	(void)fputs(rows->has_totals ? "\n|---:|---:|---:|" : "\n|---:|---:|", out);
	for (i = 0; i < rows->nr_keys; i++)
		(void)fputs(report_rows_key_is_number(rows->keys[i]) ? "---:|" : "---|", out);
	(void)putc('\n', out);
}

static int write_row(const struct report_rows *rows, const struct group_total *group, FILE *out)
{
	char number[COLUMNS_NUMBER_BYTES], buffer[REPORT_CELL_BYTES];
	size_t i;

	(void)fprintf(out, "| %.1f%% | %s |", report_rows_percent(rows, group->self),
		      amount_number(rows->profile, group->self, number));
	if (rows->has_totals)
		(void)fprintf(out, " %.1f%% |", report_rows_percent(rows, group->total));
	for (i = 0; i < rows->nr_keys; i++) {
		(void)putc(' ', out);
		if (markdown_write_code(out, report_rows_text(rows, group, rows->keys[i], buffer)) <
		    0)
			return -ENOMEM;
		(void)fputs(" |", out);
	}
	(void)putc('\n', out);
	return 0;
}

static int write_categories(const struct report_rows *rows, FILE *out)
{
	char number[COLUMNS_NUMBER_BYTES];
	size_t i;

	(void)fputs("| self | count | category |\n|---:|---:|---|\n", out);
	for (i = 0; i < rows->nr_heavy_categories; i++) {
		uint64_t count = rows->category_counts[rows->heavy_categories[i]];

		(void)fprintf(out, "| %.1f%% | %s | ", report_rows_percent(rows, count),
			      amount_number(rows->profile, count, number));
		if (markdown_write_code(
			    out, categories_name(rows->categories, rows->heavy_categories[i])) < 0)
			return -ENOMEM;
		(void)fputs(" |\n", out);
	}
	(void)putc('\n', out);
	return 0;
}

static int write_tables(const struct report_rows *rows, FILE *out)
{
	size_t i;

	if (rows->category_is_functions && write_categories(rows, out) < 0)
		return -ENOMEM;
	write_headings(rows, out);
	for (i = 0; i < rows->nr; i++)
		if (write_row(rows, &rows->totals.groups[i], out) < 0)
			return -ENOMEM;
	(void)putc('\n', out);
	return 0;
}

/* --- the heaviest path ----------------------------------------------------------------------- */

static int write_path(const struct profile *profile, const struct report_options *options,
		      FILE *out)
{
	const struct call_paths_style style = {
		.labels = options->labels,
		.lines = options->lines,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};
	const struct sheet_style sheet_style = {0};
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err = call_tree_sheet_add(&sheet, MEDIA_MARKDOWN, profile, &style);

	return err ? err : sheet_write(&sheet, MEDIA_MARKDOWN, &sheet_style, out);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int write_all(const struct profile *profile, const struct report_options *options, FILE *out)
{
	cleanup(report_rows_clear) struct report_rows rows = {0};
	struct report_style style = options->style;

	if (!style.max_rows)
		style.max_rows = DEFAULT_ROWS;
	if (write_head(profile, out) < 0)
		return -ENOMEM;
	if (!profile_total(profile))
		return 0;
	if (report_rows_init(&rows, profile, &style, options->categories) < 0)
		return -ENOMEM;
	report_rows_drop_modules(&rows);
	if (write_tables(&rows, out) < 0)
		return -ENOMEM;
	return style.form == REPORT_NONE ? 0 : write_path(profile, options, out);
}

int markdown_write(const struct profile *profile, const struct report_options *options, FILE *out)
{
	int result;

	errno = 0;
	result = write_all(profile, options, out);
	if (result < 0)
		return result;
	return stream_finish(out);
}
