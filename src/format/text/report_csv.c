/* See report_csv.h. */
#include "format/text/report_csv.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/csv.h"
#include "format/text/report_rows.h"

static void write_headings(const struct report_rows *rows, FILE *out)
{
	size_t i;

	for (i = 0; i < rows->nr_keys; i++)
		(void)fprintf(out, "%s,", report_rows_key_name(rows->keys[i]));
	(void)fputs("self,total,self_percent,total_percent", out);
	(void)fputs(profile_is_sum(rows->profile) ? ",unit" : "", out);
	csv_end_row(out);
}

static void write_row(const struct report_rows *rows, const struct group_total *group, FILE *out)
{
	char buffer[REPORT_CELL_BYTES];
	size_t i;

	for (i = 0; i < rows->nr_keys; i++) {
		const char *text = report_rows_text(rows, group, rows->keys[i], buffer);

		if (report_rows_key_is_number(rows->keys[i]))
			(void)fputs(text, out);
		else
			csv_write_string(out, text);
		(void)putc(',', out);
	}
	(void)fprintf(out, "%" PRIu64 ",%" PRIu64 ",%.4f,%.4f", group->self, group->total,
		      report_rows_percent(rows, group->self),
		      report_rows_percent(rows, group->total));
	if (profile_is_sum(rows->profile)) {
		(void)putc(',', out);
		csv_write_string(out, amount_unit(rows->profile));
	}
	csv_end_row(out);
}

int report_csv_write(const struct profile *profile, const struct report_options *options, FILE *out)
{
	cleanup(report_rows_clear) struct report_rows rows = {0};
	size_t i;

	if (report_rows_init(&rows, profile, &options->style, options->categories) < 0)
		return -ENOMEM;
	errno = 0;
	write_headings(&rows, out);
	for (i = 0; i < rows.nr && !ferror(out); i++)
		write_row(&rows, &rows.totals.groups[i], out);
	return stream_finish(out);
}
