/*
 * Sheets as CSV: texts in quotation marks, numbers and true/false without; unknown values are
 * empty. The figures of the sheet precede the columns of each row. A histogram has a row for each
 * non-empty bucket, with three columns.
 *
 * Spreadsheets evaluate a text that begins like a formula, even in quotation marks, and names may
 * exploit that. A leading apostrophe, which spreadsheets do not show, makes it plain text.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "format/text/sheet_cells.h"

struct csv_writer {
	const struct sheet *sheet;
	FILE *out;
	bool has_cell; /* the row has a cell already */
};

/* Writes a text inside quotation marks; separator: a character to replace, or '"'. */
static void write_inside(FILE *out, const char *text, char separator)
{
	while (*text) {
		size_t plain = text_plain(text, '"', separator), bytes;

		(void)fwrite_unlocked(text, 1, plain, out);
		text += plain;
		bytes = text_character(text);
		if (*text == '"')
			(void)fputs("\"\"", out);
		else if (*text && (!bytes || *text == separator))
			(void)putc('?', out);
		else
			(void)fwrite_unlocked(text, 1, bytes, out);
		text += bytes || !*text ? bytes : 1;
	}
}

/* Tab and CR would begin a formula, too; they become `?`. */
static void begin_string(FILE *out, const char *text)
{
	(void)putc('"', out);
	if (*text && strchr("=+-@", *text))
		(void)putc('\'', out);
}

static void write_string(FILE *out, const char *text)
{
	begin_string(out, text);
	write_inside(out, text, '"');
	(void)putc('"', out);
}

static void begin_cell(struct csv_writer *writer)
{
	if (writer->has_cell)
		(void)putc(',', writer->out);
	writer->has_cell = true;
}

static void end_row(struct csv_writer *writer)
{
	if (writer->has_cell)
		(void)fputs("\r\n", writer->out);
	writer->has_cell = false;
}

/* --- headings --------------------------------------------------------------------------------- */

static bool needs_no_quotes(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_.", *name))
			return false;
	return true;
}

static void write_name(struct csv_writer *writer, const struct column *column)
{
	const char *name = column->name;
	const char *dot = column->flags & COLUMN_VERBATIM ? NULL : strchr(name, '.');

	begin_cell(writer);
	if (!needs_no_quotes(name))
		write_string(writer->out, name);
	else if (dot)
		(void)fprintf(writer->out, "%.*s_%s", (int)(dot - name), name, dot + 1);
	else
		(void)fputs(name, writer->out);
}

static void write_headings(struct csv_writer *writer, const struct shown_table *shown)
{
	size_t i;

	for (i = 0; i < shown->nr; i++)
		if (!(shown->columns[i].is->flags & COLUMN_HISTOGRAM)) {
			write_name(writer, shown->columns[i].is);
		} else {
			begin_cell(writer);
			(void)fputs("from,to,in_range", writer->out);
		}
}

/* --- cells ------------------------------------------------------------------------------------ */

static void write_real(struct csv_writer *writer, const struct column *column, double real)
{
	if (isfinite(real))
		(void)fprintf(writer->out, column->significant ? "%.*g" : "%.*f",
			      (int)column->precise, real);
}

static void write_text(struct csv_writer *writer, const struct column *column, const char *text)
{
	if (column->flags & COLUMN_NUMBER && is_plain_number(text))
		(void)fputs(text, writer->out);
	else
		write_string(writer->out, text);
}

/* Writes a path like folded stacks. */
static void write_path(struct csv_writer *writer, const struct cell *cell)
{
	size_t i;

	begin_string(writer->out, cell->path.nr ? cell->path.texts[0] : "");
	for (i = 0; i < cell->path.nr; i++) {
		if (i)
			(void)putc(';', writer->out);
		write_inside(writer->out, cell->path.texts[i], ';');
	}
	(void)putc('"', writer->out);
}

/* bucket: for a histogram. */
static void write_cell(struct csv_writer *writer, const struct column *column,
		       const struct cell *cell, size_t bucket)
{
	const struct histogram *histogram;

	begin_cell(writer);
	switch (cell->kind) {
	case CELL_NONE:
		(void)fputs(column->flags & COLUMN_HISTOGRAM ? ",," : "", writer->out);
		break;
	case CELL_TEXT:
		write_text(writer, column, cell->text);
		break;
	case CELL_COUNT:
		(void)fprintf(writer->out, "%" PRIu64, cell->count);
		break;
	case CELL_INTEGER:
		(void)fprintf(writer->out, "%" PRId64, cell->integer);
		break;
	case CELL_REAL:
		write_real(writer, column, cell->real);
		break;
	case CELL_BOOL:
		(void)fputs(cell->truth ? "true" : "false", writer->out);
		break;
	case CELL_PATH:
		write_path(writer, cell);
		break;
	case CELL_HISTOGRAM:
		histogram = cell->histogram;
		(void)fprintf(writer->out, "%" PRId64 ",%" PRId64 ",%" PRIu64,
			      histogram->ranges[bucket].from, histogram->ranges[bucket].to,
			      histogram->counts[bucket]);
		break;
	}
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool is_figure(const struct block *block)
{
	return block->kind == BLOCK_FIGURE && block->media & MEDIA_CSV && block->column.name &&
	       (!block->column.media || block->column.media & MEDIA_CSV);
}

static void write_figures(struct csv_writer *writer, bool names)
{
	size_t i;

	for (i = 0; i < writer->sheet->nr; i++) {
		const struct block *block = &writer->sheet->blocks[i];

		if (!is_figure(block))
			continue;
		if (names)
			write_name(writer, &block->column);
		else
			write_cell(writer, &block->column, &block->cell, 0);
	}
}

static void write_row(struct csv_writer *writer, const struct shown_table *shown,
		      const struct row *row, size_t bucket)
{
	size_t i;

	write_figures(writer, false);
	for (i = 0; i < shown->nr; i++)
		write_cell(writer, shown->columns[i].is, &row->cells[shown->columns[i].number],
			   bucket);
	end_row(writer);
}

static void write_rows(struct csv_writer *writer, const struct shown_table *shown)
{
	struct row row;
	size_t i, k;

	for (i = 0; i < shown->table->nr_rows && !ferror(writer->out); i++) {
		const struct histogram *histogram;

		if (!shown_table_read(shown, i, &row))
			continue;
		histogram = shown_histogram(shown, &row);
		if (!histogram)
			write_row(writer, shown, &row, 0);
		for (k = 0; histogram && k < histogram->nr; k++)
			if (histogram->counts[k])
				write_row(writer, shown, &row, k);
	}
}

void sheet_write_csv(const struct sheet *sheet, bool with_headings, FILE *out)
{
	struct csv_writer writer = {.sheet = sheet, .out = out};
	struct shown_table shown = {0};
	const struct block *table = NULL;
	size_t i;

	for (i = 0; i < sheet->nr && !table; i++)
		if (sheet->blocks[i].kind == BLOCK_TABLE && sheet->blocks[i].media & MEDIA_CSV)
			table = &sheet->blocks[i];
	if (table)
		shown_table_init(&shown, &table->table, MEDIA_CSV, false, false);
	if (with_headings) {
		write_figures(&writer, true);
		write_headings(&writer, &shown);
		end_row(&writer);
	}
	if (table) {
		write_rows(&writer, &shown);
	} else {
		write_figures(&writer, false);
		end_row(&writer);
	}
}
