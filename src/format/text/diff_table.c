/*
 * The head, the table of functions and the foot of a difference; the tree is diff_tree.c's.
 *
 *	before  old.pb.gz  10,012 samples  20.0 s
 *	after   new.pb.gz  9,988 samples  20.0 s
 *
 *	  BEFORE    AFTER           CHANGE  SIGMA     REL  FUNCTION, SELF  MODULE
 *	  12.34%   15.01%   +2.67 ±   0.48   5.55    +22%  crc64           redis-server
 *	   1.02%    0.00%   -1.02 ±   0.10  10.14    GONE  sdsfree         redis-server
 *	  86.64%   84.99%   -1.65 ±   0.48             -2%  … 1,204 maybe by chance:
 *	   3.01%    3.45%   +0.44 ±   0.25   1.75    +15%  memcpy          libc.so.6
 */
#include "format/text/diff_table.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/fd_io.h"
#include "view/amount.h"
#include "format/text/columns.h"
#include "format/text/diff_cells.h"
#include "format/text/diff_rows.h"
#include "format/text/diff_tree.h"

#define DEFAULT_WIDTH  100
#define LEAST_WIDTH    60
#define GAP	       2
#define DOUBTFUL_ROWS  5 /* of those that may be chance */
#define MODULE_COLUMNS 3 /* a third of what names have is theirs at most */
#define MODULE_HEAD    "MODULE"

struct table {
	struct diff_terminal terminal;
	const struct comparison *comparison;
	size_t nr_changed; /* rows that did */
	size_t nr_shown;   /* of these */
	size_t name_columns, module_columns;
};

static const char *ellipsis(const struct table *table)
{
	return table->terminal.ascii ? ".." : "…";
}

/* --- the head -------------------------------------------------------------------------------- */

static void write_side(const struct table *table, const char *side, const char *name, double all,
		       double seconds)
{
	const struct profile *profile = table->comparison->profile;
	char buffer[AMOUNT_BYTES], counted_buffer[AMOUNT_COUNTED_BYTES];
	const char *counted = amount_counted(profile, (uint64_t)all, counted_buffer);
	FILE *out = table->terminal.out;

	(void)fprintf(out, "%-6s  ", side);
	if (name) {
		size_t columns = columns_of(name), most = table->terminal.width / 2;

		(void)columns_write(out, name, columns < most ? columns : most, ellipsis(table));
		columns_pad(out, GAP);
	}
	(void)fputs(amount_total(profile, (uint64_t)all, buffer), out);
	(void)columns_write(out, counted, columns_of(counted), "");
	if (seconds > 0)
		(void)fprintf(out, "  %.1f s", seconds);
	(void)putc('\n', out);
}

static void write_head(const struct table *table)
{
	const struct comparison_style *style = &table->comparison->style;
	const struct difference_scale *scale = &table->comparison->scale;

	write_side(table, "before", style->before_name, scale->before_all, style->before_seconds);
	write_side(table, "after", style->after_name, scale->after_all, style->after_seconds);
	if (scale->by_time)
		(void)fputs("Compared by time: numbers are a second.\n", table->terminal.out);
	(void)putc('\n', table->terminal.out);
}

/* --- the table ------------------------------------------------------------------------------- */

static const char *module_of(const struct table *table, const struct difference_row *row)
{
	const char *module = diff_rows_module(table->comparison, row);

	return module ? module : "";
}

static const char *head_of(const struct table *table)
{
	bool total = table->comparison->style.order == DIFFERENCE_TOTAL;

	switch (table->comparison->style.group) {
	case DIFFERENCE_BY_MODULE:
		return total ? "MODULE, TOTAL" : "MODULE, SELF";
	case DIFFERENCE_BY_COMM:
		return "THREADS";
	case DIFFERENCE_BY_FUNCTION:
		break;
	}
	return total ? "FUNCTION, TOTAL" : "FUNCTION, SELF";
}

/* Those that changed come first; of the others a few. */
static void choose_rows(struct table *table)
{
	const struct difference_rows *rows = &table->comparison->rows;
	size_t most = table->comparison->style.max_rows;

	while (table->nr_changed < rows->nr &&
	       difference_rows_pair(rows, &rows->rows[table->nr_changed])->is.kind != CHANGE_NONE)
		table->nr_changed++;
	table->nr_shown = table->nr_changed < most ? table->nr_changed : most;
}

static bool is_shown(const struct table *table, size_t row)
{
	const struct difference_rows *rows = &table->comparison->rows;

	if (row < table->nr_changed)
		return row < table->nr_shown;
	return row < table->nr_changed + DOUBTFUL_ROWS &&
	       difference_rows_pair(rows, &rows->rows[row])->is.change != 0;
}

static void widen(size_t *columns, const char *text)
{
	size_t wanted = columns_of(text);

	if (wanted > *columns)
		*columns = wanted;
}

/* Modules get a third at most, names what is left. */
static void lay_out(struct table *table)
{
	const struct difference_rows *rows = &table->comparison->rows;
	size_t room = table->terminal.width - diff_cells_columns(&table->terminal), i;

	widen(&table->name_columns, head_of(table));
	for (i = 0; i < rows->nr && i < table->nr_changed + DOUBTFUL_ROWS; i++) {
		if (!is_shown(table, i))
			continue;
		widen(&table->name_columns, difference_rows_name(rows, &rows->rows[i]));
		widen(&table->module_columns, module_of(table, &rows->rows[i]));
	}
	if (table->module_columns) {
		widen(&table->module_columns, MODULE_HEAD);
		if (table->module_columns > room / MODULE_COLUMNS)
			table->module_columns = room / MODULE_COLUMNS;
		room -= table->module_columns + GAP;
	}
	if (table->name_columns > room)
		table->name_columns = room;
}

static void write_cells(const struct table *table, const char *name, const char *module)
{
	FILE *out = table->terminal.out;
	size_t columns = columns_write(out, name, table->name_columns, ellipsis(table));

	if (!*module)
		return;
	columns_pad(out, table->name_columns - columns + GAP);
	(void)columns_write(out, module, table->module_columns, ellipsis(table));
}

static void write_row(const struct table *table, const struct difference_row *row)
{
	const struct difference_rows *rows = &table->comparison->rows;

	diff_cells_write(&table->terminal, &rows->scale, &difference_rows_pair(rows, row)->is);
	write_cells(table, difference_rows_name(rows, row), module_of(table, row));
	diff_cells_end(&table->terminal);
}

/* Together: by what they did themselves, or nobody would know what a sum of totals is. */
static void write_sum(const struct table *table, size_t first, size_t end, const char *what)
{
	const struct difference_rows *rows = &table->comparison->rows;
	struct difference_pair sum = {0};
	char buffer[COLUMNS_NUMBER_BYTES];
	size_t i, nr = 0;

	for (i = first; i < end; i++) {
		const struct difference_pair *pair = difference_rows_pair(rows, &rows->rows[i]);

		sum.before += rows->rows[i].self.before;
		sum.after += rows->rows[i].self.after;
		nr += pair->before || pair->after;
	}
	if (!nr)
		return;
	sum.is = difference_of(&rows->scale, sum.before, sum.after);
	sum.is.kind = CHANGE_NONE;
	diff_cells_write_sum(&table->terminal, &rows->scale, &sum.is);
	(void)fprintf(table->terminal.out, "%s %s %s", ellipsis(table), columns_number(buffer, nr),
		      what);
	diff_cells_end(&table->terminal);
}

static void write_rows(const struct table *table)
{
	const struct difference_rows *rows = &table->comparison->rows;
	size_t i;

	diff_cells_write_head(&table->terminal);
	write_cells(table, head_of(table), table->module_columns ? MODULE_HEAD : "");
	(void)putc('\n', table->terminal.out);
	for (i = 0; i < table->nr_shown; i++)
		write_row(table, &rows->rows[i]);
	write_sum(table, table->nr_shown, table->nr_changed, "more changed");
	write_sum(table, table->nr_changed, rows->nr, "maybe by chance:");
	for (i = table->nr_changed; i < rows->nr && i < table->nr_changed + DOUBTFUL_ROWS; i++)
		if (is_shown(table, i))
			write_row(table, &rows->rows[i]);
}

/* --- the foot -------------------------------------------------------------------------------- */

static int write_paths(const struct table *table)
{
	const struct difference_paths *paths = &table->comparison->paths;
	const struct diff_terminal *terminal = &table->terminal;

	if (!paths->nr) {
		(void)fputs("No call path changed more than by chance.\n", terminal->out);
	} else if (diff_tree_write(terminal, table->comparison) < 0) {
		return -ENOMEM;
	}
	if (paths->least_change > 0)
		(void)fprintf(terminal->out, "%*sChanges below %.2g%s are left out.\n",
			      (int)diff_cells_columns(terminal), "",
			      diff_cells_number(&paths->scale, paths->least_change),
			      paths->scale.by_time ? " a second" : "%");
	return 0;
}

/* What the numbers of errors are of. */
static void write_errors(const struct table *table)
{
	const struct comparison *comparison = table->comparison;
	const struct difference_spread *spread = &comparison->spread;
	FILE *out = table->terminal.out;

	if (diff_cells_have_errors(&table->terminal))
		(void)fprintf(out, "%s: how far off a change may be, one standard deviation.\n",
			      table->terminal.ascii ? "+-" : "±");
	(void)fputs("SIGMA: how unlikely it is as chance, in standard deviations,\n", out);
	if (spread->freedom > 0)
		(void)fprintf(out, "from %zu and %zu %s.\n", spread->nr_before, spread->nr_after,
			      comparison->parts_are_slices ? "slices" : "files");
	else
		(void)fputs("of sampling alone: runs vary by more.\n", out);
}

static void write_foot(const struct table *table)
{
	const struct comparison *comparison = table->comparison;
	const struct difference_rows *rows = &comparison->rows;
	FILE *out = table->terminal.out;

	write_errors(table);
	if (comparison->style.sigma > 0)
		(void)fprintf(out,
			      "Changed: what has a sigma of %.2f or more, where chance\n"
			      "brings about %.2g of %.0f numbers.\n",
			      rows->scale.least_sigma,
			      rows->nr_tests * difference_chance_of_sigma(rows->scale.least_sigma),
			      rows->nr_tests);
	else
		(void)fprintf(out,
			      "Changed: what has a sigma of %.2f or more, of paths %.2f,\n"
			      "where in %g of 100 comparisons chance brings nothing.\n",
			      rows->scale.least_sigma, comparison->paths.scale.least_sigma,
			      comparison->style.confidence);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int write_all(struct table *table)
{
	FILE *out = table->terminal.out;

	write_head(table);
	choose_rows(table);
	lay_out(table);
	write_rows(table);
	(void)putc('\n', out);
	if (write_paths(table) < 0)
		return -ENOMEM;
	(void)putc('\n', out);
	write_foot(table);
	return 0;
}

int diff_table_write(const struct profile *profile, const struct format_options *options,
		     const struct comparison_style *style, FILE *out)
{
	cleanup(comparison_clear) struct comparison comparison = {0};
	struct table table = {
		.terminal = {out, options->width ? options->width : DEFAULT_WIDTH, options->ascii,
			     options->color},
		.comparison = &comparison,
	};
	int err = diff_rows_compare(&comparison, profile, options, style);

	if (err)
		return err;
	if (table.terminal.width < LEAST_WIDTH)
		table.terminal.width = LEAST_WIDTH;
	errno = 0;
	err = write_all(&table);
	return err ? err : stream_finish(out);
}
