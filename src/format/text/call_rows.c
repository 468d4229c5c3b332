/* See call_rows.h. */
#include "format/text/call_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/csv.h"
#include "format/text/json.h"

static const char *const state_names[] = {
	[CALL_COUNTED] = "counted",
	[CALL_WAITING] = "waiting",
	[CALL_CUT] = "cut",
	[CALL_REFUSED] = "refused",
};

/* --- choice and order ------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	const struct call_row *left = a, *right = b;

	int difference = strcmp(left->label, right->label);

	if (difference || left->nr_cells != right->nr_cells)
		return difference ? difference : (left->nr_cells ? 1 : -1);
	return key_cells_compare(left->cells, right->cells, left->nr_cells);
}

static int by_count(const void *a, const void *b)
{
	const struct call_row *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? -1 : 1;
	return by_name(a, b);
}

static int by_rate(const void *a, const void *b)
{
	const struct call_row *left = a, *right = b;

	if (left->per_second < right->per_second)
		return -1;
	return left->per_second > right->per_second ? 1 : by_name(a, b);
}

static bool is_worth_showing(const struct call_row *row)
{
	return row->count || row->state == CALL_CUT || row->state == CALL_REFUSED;
}

size_t call_rows_choose(struct call_row *rows, size_t nr, enum call_order order, size_t top)
{
	size_t nr_shown = 0, i;

	for (i = 0; i < nr; i++)
		if (is_worth_showing(&rows[i]))
			rows[nr_shown++] = rows[i];
	qsort(rows, nr_shown, sizeof(*rows), order == CALL_BY_RATE ? by_rate : by_count);
	if (top && nr_shown > top) {
		memmove(rows, rows + nr_shown - top, top * sizeof(*rows));
		nr_shown = top;
	}
	if (order == CALL_BY_NAME)
		qsort(rows, nr_shown, sizeof(*rows), by_name);
	return nr_shown;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static const struct key_cell *cell_of(const struct call_row *row, size_t key)
{
	static const struct key_cell none = {.text = NULL};

	return row->cells ? &row->cells[key] : &none;
}

static void write_text_field(const char *name, const char *text, FILE *out)
{
	(void)fprintf(out, ", \"%s\": ", name);
	json_write_string(out, text);
}

static void write_json_keys(const struct call_interval *interval, const struct call_row *row,
			    FILE *out)
{
	size_t i;

	for (i = 0; i < interval->nr_keys; i++) {
		json_write_string(out, interval->keys[i]);
		(void)fputs(": ", out);
		key_cell_write_json(cell_of(row, i), out);
		(void)fputs(", ", out);
	}
}

static void write_json_row(const struct call_interval *interval, const struct call_row *row,
			   FILE *out)
{
	(void)putc('{', out);
	write_json_keys(interval, row, out);
	(void)fputs("\"name\": ", out);
	json_write_string(out, row->name);
	write_text_field("detail", row->detail, out);
	(void)fprintf(out, ", \"return\": %s", row->is_return ? "true" : "false");
	write_text_field("kind", row->kind, out);
	write_text_field("file", row->file, out);
	(void)fprintf(out, ", \"count\": %" PRIu64 ", \"per_second\": %.1f", row->count,
		      row->per_second);
	write_text_field("state", state_names[row->state], out);
	if (row->state == CALL_CUT)
		(void)fprintf(out, ", \"cut_per_second\": %.1f", row->cut_per_second);
	else
		(void)fputs(", \"cut_per_second\": null", out);
	write_text_field("why", row->why, out);
	(void)putc('}', out);
}

void call_rows_write_json(const struct call_interval *interval, FILE *out)
{
	size_t i;

	(void)fprintf(out, "{\"time\": %.3f, \"seconds\": %.3f, \"missed\": ", interval->time,
		      interval->seconds);
	if (interval->missed == UINT64_MAX)
		(void)fputs("null", out);
	else
		(void)fprintf(out, "%" PRIu64, interval->missed);
	if (interval->nr_keys)
		(void)fprintf(out, ", \"lost\": %" PRIu64, interval->lost);
	(void)fputs(", \"functions\": [", out);
	for (i = 0; i < interval->nr; i++) {
		if (i)
			(void)fputs(", ", out);
		write_json_row(interval, &interval->rows[i], out);
	}
	(void)fputs("]}\n", out);
}

/* --- CSV ------------------------------------------------------------------------------------- */

void call_rows_write_csv_head(const struct call_interval *interval, FILE *out)
{
	size_t i;

	(void)fputs("time,seconds,", out);
	for (i = 0; i < interval->nr_keys; i++)
		(void)fprintf(out, "%s,", interval->keys[i]);
	(void)fputs("name,detail,return,kind,file,count,per_second,state,"
		    "cut_per_second,why\n",
		    out);
}

static void write_csv_row(const struct call_row *row, FILE *out)
{
	csv_write_string(out, row->name);
	(void)putc(',', out);
	csv_write_string(out, row->detail);
	(void)fprintf(out, ",%s,%s,", row->is_return ? "true" : "false", row->kind);
	csv_write_string(out, row->file);
	(void)fprintf(out, ",%" PRIu64 ",%.1f,%s,", row->count, row->per_second,
		      state_names[row->state]);
	if (row->state == CALL_CUT)
		(void)fprintf(out, "%.1f", row->cut_per_second);
	(void)putc(',', out);
	csv_write_string(out, row->why);
	(void)putc('\n', out);
}

void call_rows_write_csv(const struct call_interval *interval, FILE *out)
{
	size_t i, k;

	for (i = 0; i < interval->nr; i++) {
		(void)fprintf(out, "%.3f,%.3f,", interval->time, interval->seconds);
		for (k = 0; k < interval->nr_keys; k++) {
			key_cell_write_csv(cell_of(&interval->rows[i], k), out);
			(void)putc(',', out);
		}
		write_csv_row(&interval->rows[i], out);
	}
}
