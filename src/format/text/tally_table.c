/*
 * The table, whose columns are as wide as what is in them, and histograms with a line above each
 * that has the same figures.
 */
#include "format/text/tally_rows.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "format/text/columns.h"

#define FIGURE_BYTES 40
#define MIN_COLUMNS  8
#define NR_FIGURES   5

/* Units of time by the largest value that is shown in them. */
static const struct unit {
	int64_t below;
	double ns;
	const char *name;
} units[] = {
	{100000, 1, "ns"},
	{100000000, 1e3, "us"},
	{100000000000, 1e6, "ms"},
	{INT64_MAX, 1e9, "s"},
};

static const char *const figure_names[NR_FIGURES] = {"COUNT", "SUM", "MIN", "AVG", "MAX"};

static const struct unit *choose_unit(const struct tally_sheet *sheet)
{
	int64_t most = 0;
	size_t unit = 0, i;

	for (i = 0; i < sheet->nr_lines; i++)
		most = sheet->lines[i].most > most ? sheet->lines[i].most : most;
	while (unit + 1 < ARRAY_SIZE(units) && most >= units[unit].below)
		unit++;
	return &units[unit];
}

static void time_text(char *text, double ns, const struct unit *unit)
{
	(void)snprintf(text, FIGURE_BYTES, unit->ns > 1 ? "%.3f" : "%.0f", ns / unit->ns);
}

/* The figures of a line, in the order of their names. */
static void figure_text(const struct tally_line *line, size_t figure, const struct unit *unit,
			char *text)
{
	const int64_t numbers[NR_FIGURES] = {(int64_t)line->count, line->sum, line->least, 0,
					     line->most};

	if (!figure)
		(void)snprintf(text, FIGURE_BYTES, "%" PRIu64, line->count);
	else if (unit)
		time_text(text, figure == 3 ? tally_line_average(line) : (double)numbers[figure],
			  unit);
	else if (figure == 3)
		(void)snprintf(text, FIGURE_BYTES, "%.1f", tally_line_average(line));
	else
		(void)snprintf(text, FIGURE_BYTES, "%" PRId64, numbers[figure]);
}

/* --- the table ------------------------------------------------------------------------------- */

static size_t key_columns(const struct tally_sheet *sheet, size_t key)
{
	char text[KEY_HEADING_BYTES];
	size_t columns, i;

	key_heading(sheet->keys[key], text);
	columns = columns_of(text);
	for (i = 0; i < sheet->nr_lines; i++) {
		size_t own = columns_of(key_cell_text(&sheet->lines[i].cells[key]));

		columns = own > columns ? own : columns;
	}
	return columns;
}

static size_t figure_columns(const struct tally_sheet *sheet, size_t figure,
			     const struct unit *unit)
{
	size_t columns = MIN_COLUMNS, i;
	char text[FIGURE_BYTES];

	for (i = 0; i < sheet->nr_lines; i++) {
		figure_text(&sheet->lines[i], figure, unit, text);
		columns = strlen(text) > columns ? strlen(text) : columns;
	}
	return columns;
}

static void write_key_column(const struct tally_sheet *sheet, const struct tally_line *line,
			     size_t key, size_t columns, FILE *out)
{
	bool is_number = sheet->nr_lines && sheet->lines[0].cells[key].is_number;
	char text[KEY_HEADING_BYTES];

	if (key)
		(void)fputs("  ", out);
	if (line) {
		key_cell_write_padded(key_cell_text(&line->cells[key]), columns, is_number, out);
		return;
	}
	key_heading(sheet->keys[key], text);
	key_cell_write_padded(text, columns, is_number, out);
}

static void write_figure_column(const struct tally_line *line, size_t figure,
				const struct unit *unit, size_t columns, FILE *out)
{
	char text[FIGURE_BYTES];

	if (line)
		figure_text(line, figure, unit, text);
	else if (unit && figure)
		(void)snprintf(text, sizeof(text), "%s(%s)", figure_names[figure], unit->name);
	else
		(void)snprintf(text, sizeof(text), "%s", figure_names[figure]);
	(void)fprintf(out, "  %*s", (int)columns, text);
}

/* The lines, and in front of them (-1) the headings. */
static void write_lines(const struct tally_sheet *sheet, FILE *out)
{
	const struct unit *unit = sheet->is_time ? choose_unit(sheet) : NULL;
	size_t nr_figures = sheet->value ? NR_FIGURES : 1;
	size_t keys[16], figures[NR_FIGURES], i, k;

	for (k = 0; k < sheet->nr_keys && k < ARRAY_SIZE(keys); k++)
		keys[k] = key_columns(sheet, k);
	for (k = 0; k < nr_figures; k++)
		figures[k] = figure_columns(sheet, k, unit);
	for (i = 0; i <= sheet->nr_lines; i++) {
		const struct tally_line *line = i ? &sheet->lines[i - 1] : NULL;

		for (k = 0; k < sheet->nr_keys && k < ARRAY_SIZE(keys); k++)
			write_key_column(sheet, line, k, keys[k], out);
		for (k = 0; k < nr_figures; k++)
			write_figure_column(line, k, unit, figures[k], out);
		(void)putc('\n', out);
	}
}

/* --- histograms ------------------------------------------------------------------------------ */

static void write_caption(const struct tally_sheet *sheet, const struct tally_line *line,
			  const struct unit *unit, FILE *out)
{
	static const char *const names[NR_FIGURES] = {"count", "sum", "min", "avg", "max"};
	char text[FIGURE_BYTES];
	size_t i;

	for (i = 0; i < sheet->nr_keys; i++) {
		(void)fprintf(out, "%s%s ", i ? ", " : "", sheet->keys[i]);
		key_cell_write_padded(key_cell_text(&line->cells[i]), 0, false, out);
	}
	for (i = 0; i < NR_FIGURES; i++) {
		figure_text(line, i, unit, text);
		(void)fprintf(out, "%s %s %s%s%s", i ? "," : ":", names[i], text,
			      i && unit ? " " : "", i && unit ? unit->name : "");
	}
	(void)putc('\n', out);
}

static void write_histograms(const struct tally_sheet *sheet, FILE *out)
{
	const struct unit *unit = sheet->is_time ? choose_unit(sheet) : NULL;
	char title[KEY_HEADING_BYTES];
	size_t i;

	(void)snprintf(title, sizeof(title), "%s%s%s%s", sheet->value, sheet->unit ? " (" : "",
		       sheet->unit ? sheet->unit : "", sheet->unit ? ")" : "");
	for (i = 0; i < sheet->nr_lines; i++) {
		if (i)
			(void)putc('\n', out);
		write_caption(sheet, &sheet->lines[i], unit, out);
		histogram_write(title, sheet->ranges, sheet->lines[i].buckets, sheet->nr_ranges,
				out);
	}
}

void tally_rows_write_table(const struct tally_sheet *sheet, bool has_time, FILE *out)
{
	time_t seconds = (time_t)sheet->time;
	char text[32] = "";
	struct tm local;

	(void)putc('\n', out);
	if (has_time && localtime_r(&seconds, &local))
		(void)strftime(text, sizeof(text), "%H:%M:%S\n", &local);
	(void)fputs(text, out);
	if (sheet->nr_ranges)
		write_histograms(sheet, out);
	else
		write_lines(sheet, out);
}
