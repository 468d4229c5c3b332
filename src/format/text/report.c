/*
 * The report's head, and what follows it: the tables are report_table.c's, call paths
 * view/call_tree_sheet.c's.
 *
 *	12,345 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION             MODULE
 *	23.4%    2,889  45.1%  dictFind             redis-server
 *	…
 *
 * The table is sorted by what functions did themselves; who called them is what the tree is for.
 */
#include "format/text/report.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/columns.h"
#include "format/text/report_rows.h"
#include "format/text/report_table.h"
#include "format/text/sheet_write.h"

#define DEFAULT_WIDTH 80
#define LEAST_WIDTH   60
#define DEFAULT_ROWS  20

/* What is counted is somebody else's word: no control characters to the terminal. */
static void write_counted(const struct profile *profile, FILE *out)
{
	char buffer[AMOUNT_COUNTED_BYTES];
	const char *counted = amount_counted(profile, profile_total(profile), buffer);

	(void)columns_write(out, counted, columns_of(counted), "");
}

static void write_total(const struct profile *profile, FILE *out)
{
	char buffer[AMOUNT_BYTES];

	(void)fputs(amount_total(profile, profile_total(profile), buffer), out);
	write_counted(profile, out);
	(void)putc('\n', out);
}

static void write_nothing(const struct profile *profile, FILE *out)
{
	if (profile_is_sum(profile)) {
		(void)fputs("A sum of 0.\n", out);
		return;
	}
	(void)fputs("No ", out);
	write_counted(profile, out);
	(void)fputs(".\n", out);
}

static void write_head(const struct profile *profile, FILE *out)
{
	uint64_t other = profile_other_count(profile);
	char buffer[COLUMNS_NUMBER_BYTES];

	write_total(profile, out);
	if (other)
		(void)fprintf(out, "%s of them in stacks that there was no room for\n",
			      columns_number(buffer, other));
	(void)putc('\n', out);
}

/* Then one table says what the other would. */
static bool is_by_category(const struct report_rows *rows)
{
	return rows->nr_keys == 1 && rows->keys[0] == GROUP_CATEGORY;
}

static int write_tables(const struct profile *profile, const struct report_options *options,
			FILE *out)
{
	cleanup(report_rows_clear) struct report_rows rows = {0};

	if (report_rows_init(&rows, profile, &options->style, options->categories) < 0)
		return -ENOMEM;
	report_rows_drop_modules(&rows);
	if (options->categories && !is_by_category(&rows)) {
		report_table_write_categories(&rows, options, out);
		(void)putc('\n', out);
	}
	report_table_write(&rows, options, out);
	return 0;
}

static int write_paths(const struct profile *profile, const struct report_options *options,
		       FILE *out)
{
	const struct call_paths_style style = {
		.order = options->style.order,
		.form = options->style.form,
		.threshold = options->style.threshold,
		.max_branches = options->style.max_branches,
		.labels = options->labels,
		.lines = options->lines,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};
	const struct sheet_style sheet_style = {
		.width = options->width, .ascii = options->ascii, .color = options->color};
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err = call_tree_sheet_add(&sheet, MEDIA_TEXT, profile, &style);

	return err ? err : sheet_write(&sheet, MEDIA_TEXT, &sheet_style, out);
}

static int write_all(const struct profile *profile, const struct report_options *options, FILE *out)
{
	int result;

	if (!profile_total(profile)) {
		write_nothing(profile, out);
		return 0;
	}
	write_head(profile, out);
	result = write_tables(profile, options, out);
	if (result < 0 || options->style.form == REPORT_NONE)
		return result;
	(void)putc('\n', out);
	return write_paths(profile, options, out);
}

int report_write(const struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report_options filled = *options;
	int result;

	if (!filled.width)
		filled.width = DEFAULT_WIDTH;
	if (filled.width < LEAST_WIDTH)
		filled.width = LEAST_WIDTH;
	if (!filled.style.max_rows)
		filled.style.max_rows = DEFAULT_ROWS;
	errno = 0;
	result = write_all(profile, &filled, out);
	if (result < 0)
		return result;
	return stream_finish(out);
}
