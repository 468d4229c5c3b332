/*
 * The table of `stook funccount`; see call_table.h.
 *
 *	(an empty line)
 *	12:34:56				with a time
 *	FUNC                                    COUNT
 *	call                                      334
 *	postponeClientRead                        514
 *
 * What calls are told apart by besides stands in front, in columns as wide as what is in them:
 *
 *	 PID  COMM          FUNC                                    COUNT
 *	 812  redis-server  call                                      334
 *
 * A third column has the calls a second, a last one, which is there only if it has something to say,
 * what became of the probe. Names are never cut: scripts read them.
 */
#include "format/text/call_table.h"

#include <inttypes.h>
#include <time.h>

#include "format/text/columns.h"

#define NAME_COLUMNS 36
#define NO_KEY	     "-"
#define GAP	     "  "

static void write_time(double time, FILE *out)
{
	time_t seconds = (time_t)time;
	char text[32] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		(void)strftime(text, sizeof(text), "%H:%M:%S", &local);
	(void)fprintf(out, "%s\n", text);
}

static bool is_cut(const struct call_row *row)
{
	return row->state == CALL_CUT;
}

static bool any_is_cut(const struct call_interval *interval)
{
	size_t i;

	for (i = 0; i < interval->nr; i++)
		if (is_cut(&interval->rows[i]))
			return true;
	return false;
}

/* --- keys ------------------------------------------------------------------------------------ */

static const char *key_text(const struct call_row *row, size_t key)
{
	return row->cells ? key_cell_text(&row->cells[key]) : NO_KEY;
}

struct key_column {
	size_t columns;
	bool is_number;
};

static struct key_column lay_out(const struct call_interval *interval, size_t key)
{
	struct key_column column = {0};
	char heading[KEY_HEADING_BYTES];
	size_t i;

	key_heading(interval->keys[key], heading);
	column.columns = columns_of(heading);
	for (i = 0; i < interval->nr; i++) {
		const struct call_row *row = &interval->rows[i];
		size_t own = columns_of(key_text(row, key));

		column.columns = own > column.columns ? own : column.columns;
		column.is_number |= row->cells && row->cells[key].is_number;
	}
	return column;
}

/* Of a row, or, without one, the headings. */
static void write_keys(const struct call_interval *interval, const struct key_column *columns,
		       const struct call_row *row, FILE *out)
{
	size_t i;

	for (i = 0; i < interval->nr_keys && i < CALL_TABLE_KEYS_MAX; i++) {
		char heading[KEY_HEADING_BYTES];

		key_heading(interval->keys[i], heading);
		key_cell_write_padded(row ? key_text(row, i) : heading, columns[i].columns,
				      columns[i].is_number, out);
		(void)fputs(GAP, out);
	}
}

/* --- rows ------------------------------------------------------------------------------------ */

static void write_row(const struct call_row *row, const struct call_table_options *options,
		      FILE *out)
{
	size_t columns = columns_write(out, row->label, columns_of(row->label), "");

	if (columns < NAME_COLUMNS)
		columns_pad(out, NAME_COLUMNS - columns);
	(void)fprintf(out, " %8" PRIu64, row->count);
	if (options->rate)
		(void)fprintf(out, " %12.1f", row->per_second);
	if (is_cut(row))
		(void)fprintf(out, "  cut at %.0f/s", row->cut_per_second);
	(void)putc('\n', out);
}

void call_table_write(const struct call_interval *interval,
		      const struct call_table_options *options, FILE *out)
{
	struct key_column columns[CALL_TABLE_KEYS_MAX];
	size_t i;

	for (i = 0; i < interval->nr_keys && i < CALL_TABLE_KEYS_MAX; i++)
		columns[i] = lay_out(interval, i);
	(void)putc('\n', out);
	if (options->timestamp)
		write_time(interval->time, out);
	write_keys(interval, columns, NULL, out);
	(void)fprintf(out, "%-*s %8s", NAME_COLUMNS, "FUNC", "COUNT");
	if (options->rate)
		(void)fprintf(out, " %12s", "PER SECOND");
	(void)fputs(any_is_cut(interval) ? "  NOTE\n" : "\n", out);
	for (i = 0; i < interval->nr; i++) {
		const struct call_row *row = &interval->rows[i];

		if (!row->count && !is_cut(row))
			continue;
		write_keys(interval, columns, row, out);
		write_row(row, options, out);
	}
}
