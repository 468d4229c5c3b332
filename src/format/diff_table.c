/*
 * The head, the table of functions and the foot of a difference; the tree is diff_tree.c's.
 *
 *	before  old.pb.gz  10,012 samples  20.0 s
 *	after   new.pb.gz  9,988 samples  20.0 s
 *
 *	  BEFORE    AFTER          CHANGE     REL  FUNCTION (SELF)        MODULE
 *	  12.34%   15.01%  +2.67 ±  0.48     +22%  crc64                  redis-server
 *	   1.02%    0.00%  -1.02 ±  0.10     GONE  sdsfree                redis-server
 *	  45.20%   45.03%  … 1,204 maybe by chance:
 *	   3.01%    3.45%  +0.44 ±  0.25     +15%  memcpy                 libc.so.6
 */
#include "format/diff_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/columns.h"
#include "format/diff_cells.h"
#include "format/diff_rows.h"
#include "format/diff_tree.h"

#define DEFAULT_WIDTH  100
#define LEAST_WIDTH    70
#define GAP	       2
#define DOUBTFUL_ROWS  5 /* of those that may be chance */
#define MODULE_COLUMNS 3 /* a third of what names have is theirs at most */

struct table {
	struct diff_terminal terminal;
	const struct comparison *comparison;
	size_t nr_changed; /* rows that did */
	size_t name_columns, module_columns;
};

/* --- the head -------------------------------------------------------------------------------- */

static void write_side(const struct table *table, const char *side, const char *name, double all,
		       double seconds)
{
	const struct profile_origin *origin = profile_origin(table->comparison->profile);
	const char *counted = origin->counted.type ? profile_string(table->comparison->profile,
								    origin->counted.type)
						   : "samples";
	FILE *out = table->terminal.out;
	char buffer[COLUMNS_NUMBER_BYTES];

	(void)fprintf(out, "%-6s  ", side);
	if (name) {
		size_t columns = columns_of(name), most = table->terminal.width / 2;

		(void)columns_write(out, name, columns < most ? columns : most,
				    table->terminal.ascii ? ".." : "…");
		columns_pad(out, GAP);
	}
	(void)fprintf(out, "%s ", columns_number(buffer, (uint64_t)all));
	(void)columns_write(out, counted, columns_of(counted), "");
	if (profile_is_sum(table->comparison->profile) && origin->counted.unit) {
		const char *unit = profile_string(table->comparison->profile, origin->counted.unit);

		(void)fputs(" in ", out);
		(void)columns_write(out, unit, columns_of(unit), "");
	}
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
	bool none = table->comparison->style.group != DIFFERENCE_BY_FUNCTION ||
		    row->module == MODULE_NR_UNKNOWN;

	return none ? "" : profile_module_name(table->comparison->profile, row->module);
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

static void lay_out(struct table *table)
{
	const struct difference_rows *rows = &table->comparison->rows;
	size_t room = table->terminal.width - DIFF_CELLS_COLUMNS, i;

	while (table->nr_changed < rows->nr &&
	       difference_rows_pair(rows, &rows->rows[table->nr_changed])->is.kind != CHANGE_NONE)
		table->nr_changed++;
	for (i = 0; i < rows->nr && i < table->nr_changed + DOUBTFUL_ROWS; i++) {
		size_t columns = columns_of(module_of(table, &rows->rows[i]));

		if (columns > table->module_columns)
			table->module_columns = columns;
	}
	if (table->module_columns > room / MODULE_COLUMNS)
		table->module_columns = room / MODULE_COLUMNS;
	table->name_columns = room - table->module_columns - (table->module_columns ? GAP : 0);
}

static void write_row(const struct table *table, const struct difference_row *row)
{
	const struct difference_rows *rows = &table->comparison->rows;
	const char *ellipsis = table->terminal.ascii ? ".." : "…";
	const char *module = module_of(table, row);
	FILE *out = table->terminal.out;
	size_t columns;

	diff_cells_write(&table->terminal, &rows->scale, &difference_rows_pair(rows, row)->is);
	columns =
		columns_write(out, difference_rows_name(rows, row), table->name_columns, ellipsis);
	if (*module) {
		columns_pad(out, table->name_columns - columns + GAP);
		(void)columns_write(out, module, table->module_columns, ellipsis);
	}
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
	diff_cells_write(&table->terminal, &rows->scale, &sum.is);
	(void)fprintf(table->terminal.out, "%s %s %s", table->terminal.ascii ? ".." : "…",
		      columns_number(buffer, nr), what);
	diff_cells_end(&table->terminal);
}

static void write_rows(const struct table *table)
{
	const struct difference_rows *rows = &table->comparison->rows;
	size_t most = table->comparison->style.max_rows, i;
	size_t shown = table->nr_changed < most ? table->nr_changed : most;

	diff_cells_write_head(&table->terminal);
	(void)fprintf(table->terminal.out, "%s\n", head_of(table));
	for (i = 0; i < shown; i++)
		write_row(table, &rows->rows[i]);
	write_sum(table, shown, table->nr_changed, "more changed");
	write_sum(table, table->nr_changed, rows->nr, "maybe by chance:");
	for (i = table->nr_changed; i < rows->nr && i < table->nr_changed + DOUBTFUL_ROWS; i++)
		if (difference_rows_pair(rows, &rows->rows[i])->is.change != 0)
			write_row(table, &rows->rows[i]);
}

/* --- the foot -------------------------------------------------------------------------------- */

static void write_paths(const struct table *table)
{
	const struct difference_paths *paths = &table->comparison->paths;
	FILE *out = table->terminal.out;

	if (paths->nr)
		return;
	(void)fputs("No call path changed more than by chance.\n", out);
}

static void write_foot(const struct table *table)
{
	const struct comparison *comparison = table->comparison;
	const struct difference_spread *spread = &comparison->spread;
	const struct difference_rows *rows = &comparison->rows;
	FILE *out = table->terminal.out;

	(void)fprintf(out, "%s is one standard deviation, ", table->terminal.ascii ? "+-" : "±");
	if (spread->freedom > 0)
		(void)fprintf(out, "from %zu and %zu %s.\n", spread->nr_before, spread->nr_after,
			      comparison->parts_are_slices ? "slices of time" : "files");
	else
		(void)fputs("of sampling alone: runs vary by more.\n", out);
	if (comparison->style.sigma > 0)
		(void)fprintf(out,
			      "Changed: further off than %.3g of them, where chance brings\n"
			      "about %.2g of %.0f numbers.\n",
			      rows->scale.least_sigma,
			      rows->nr_tests * difference_chance_of_sigma(rows->scale.least_sigma),
			      rows->nr_tests);
	else
		(void)fprintf(out,
			      "Changed: further off than %.1f of them, of paths %.1f, where in %g\n"
			      "of 100 comparisons chance brings nothing.\n",
			      rows->scale.least_sigma, comparison->paths.scale.least_sigma,
			      comparison->style.confidence);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int write_all(struct table *table)
{
	const struct difference_paths *paths = &table->comparison->paths;
	FILE *out = table->terminal.out;
	int err = 0;

	write_head(table);
	lay_out(table);
	write_rows(table);
	(void)putc('\n', out);
	if (paths->nr)
		err = diff_tree_write(&table->terminal, table->comparison);
	else
		write_paths(table);
	if (paths->least_change > 0)
		(void)fprintf(out, "%*sChanges below %.2g%s are left out.\n", DIFF_CELLS_COLUMNS,
			      "", diff_cells_number(&paths->scale, paths->least_change),
			      paths->scale.by_time ? " a second" : "%");
	(void)putc('\n', out);
	write_foot(table);
	return err;
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
	err = write_all(&table);
	if (!err && fflush(out) != 0)
		err = -errno;
	return err;
}
