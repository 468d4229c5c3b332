/* Choice, order, and what programs read; tally_table.c is what people read. See tally_rows.h. */
#include "format/text/tally_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/csv.h"
#include "format/text/json.h"

double tally_line_average(const struct tally_line *line)
{
	return line->count ? (double)line->sum / (double)line->count : 0;
}

/* --- choice and order ------------------------------------------------------------------------ */

struct sorting {
	enum tally_order order;
	size_t nr_keys;
};

#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_figures(const struct tally_line *a, const struct tally_line *b,
			   enum tally_order order)
{
	switch (order) {
	case TALLY_BY_COUNT:
		return THREE_WAY(a->count, b->count);
	case TALLY_BY_SUM:
		return THREE_WAY(a->sum, b->sum);
	case TALLY_BY_MIN:
		return THREE_WAY(a->least, b->least);
	case TALLY_BY_AVG:
		return THREE_WAY(tally_line_average(a), tally_line_average(b));
	case TALLY_BY_MAX:
		return THREE_WAY(a->most, b->most);
	case TALLY_BY_KEY:
		break;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	int difference = compare_figures(a, b, sorting->order);

	return difference
		       ? difference
		       : key_cells_compare(((const struct tally_line *)a)->cells,
					   ((const struct tally_line *)b)->cells, sorting->nr_keys);
}

void tally_rows_choose(struct tally_sheet *sheet, enum tally_order order, size_t top)
{
	struct sorting sorting = {order == TALLY_BY_KEY ? TALLY_BY_COUNT : order, sheet->nr_keys};

	qsort_r(sheet->lines, sheet->nr_lines, sizeof(*sheet->lines), compare, &sorting);
	if (top && sheet->nr_lines > top) {
		sheet->lines += sheet->nr_lines - top;
		sheet->nr_lines = top;
	}
	sorting.order = order;
	if (order == TALLY_BY_KEY)
		qsort_r(sheet->lines, sheet->nr_lines, sizeof(*sheet->lines), compare, &sorting);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_json_key(const struct tally_sheet *sheet, const struct tally_line *line,
			   FILE *out)
{
	size_t i;

	(void)fputs("{\"key\": {", out);
	for (i = 0; i < sheet->nr_keys; i++) {
		(void)fputs(i ? ", " : "", out);
		json_write_string(out, sheet->keys[i]);
		(void)fputs(": ", out);
		key_cell_write_json(&line->cells[i], out);
	}
	(void)fprintf(out, "}, \"count\": %" PRIu64, line->count);
}

static void write_json_histogram(const struct tally_sheet *sheet, const struct tally_line *line,
				 FILE *out)
{
	bool is_first = true;
	size_t i;

	(void)fputs(", \"histogram\": [", out);
	for (i = 0; i < sheet->nr_ranges; i++) {
		if (!line->buckets[i])
			continue;
		(void)fprintf(out,
			      "%s{\"from\": %" PRId64 ", \"to\": %" PRId64 ", \"count\": %" PRIu64
			      "}",
			      is_first ? "" : ", ", sheet->ranges[i].from, sheet->ranges[i].to,
			      line->buckets[i]);
		is_first = false;
	}
	(void)fputs("]", out);
}

static void write_json_line(const struct tally_sheet *sheet, const struct tally_line *line,
			    FILE *out)
{
	write_json_key(sheet, line, out);
	if (sheet->value)
		(void)fprintf(out,
			      ", \"sum\": %" PRId64 ", \"min\": %" PRId64 ", \"max\": %" PRId64
			      ", \"avg\": %.3f",
			      line->sum, line->least, line->most, tally_line_average(line));
	if (sheet->nr_ranges)
		write_json_histogram(sheet, line, out);
	(void)putc('}', out);
}

void tally_rows_write_json(const struct tally_sheet *sheet, FILE *out)
{
	size_t i;

	(void)fprintf(out, "{\"time\": %.3f, \"seconds\": %.3f, \"value\": ", sheet->time,
		      sheet->seconds);
	json_write_string(out, sheet->value);
	(void)fputs(", \"unit\": ", out);
	json_write_string(out, sheet->unit);
	(void)fputs(", \"rows\": [", out);
	for (i = 0; i < sheet->nr_lines; i++) {
		(void)fputs(i ? ", " : "", out);
		write_json_line(sheet, &sheet->lines[i], out);
	}
	(void)fputs("], \"accounting\": {", out);
	for (i = 0; i < sheet->nr_figures; i++)
		(void)fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", sheet->figures[i].name,
			      sheet->figures[i].number);
	(void)fputs("}}\n", out);
}

/* --- CSV ------------------------------------------------------------------------------------- */

void tally_rows_write_csv_head(const struct tally_sheet *sheet, FILE *out)
{
	size_t i;

	(void)fputs("time", out);
	for (i = 0; i < sheet->nr_keys; i++) {
		(void)putc(',', out);
		csv_write_string(out, sheet->keys[i]);
	}
	(void)fputs(",count", out);
	if (sheet->value)
		(void)fputs(",sum,min,max,avg", out);
	if (sheet->nr_ranges)
		(void)fputs(",from,to,in_range", out);
	(void)fputs("\r\n", out);
}

static void write_csv_line(const struct tally_sheet *sheet, const struct tally_line *line,
			   FILE *out)
{
	size_t i;

	(void)fprintf(out, "%.3f", sheet->time);
	for (i = 0; i < sheet->nr_keys; i++) {
		(void)putc(',', out);
		key_cell_write_csv(&line->cells[i], out);
	}
	(void)fprintf(out, ",%" PRIu64, line->count);
	if (sheet->value)
		(void)fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%.3f", line->sum,
			      line->least, line->most, tally_line_average(line));
}

void tally_rows_write_csv(const struct tally_sheet *sheet, FILE *out)
{
	size_t i, k;

	for (i = 0; i < sheet->nr_lines; i++) {
		const struct tally_line *line = &sheet->lines[i];

		if (!sheet->nr_ranges) {
			write_csv_line(sheet, line, out);
			(void)fputs("\r\n", out);
		}
		for (k = 0; k < sheet->nr_ranges; k++) {
			if (!line->buckets[k])
				continue;
			write_csv_line(sheet, line, out);
			(void)fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRIu64 "\r\n",
				      sheet->ranges[k].from, sheet->ranges[k].to, line->buckets[k]);
		}
	}
}
