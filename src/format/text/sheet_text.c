/*
 * Sheets on a terminal:
 *
 *	12,345 samples
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION             MODULE
 *	23.4%    2,889  45.1%  dictFind             redis-server
 *	 9.3%    1,148         … 204 more
 *
 * Numbers are right-aligned and never truncated. Names share the width that numbers and short words
 * leave: the other names get a third or a half, the main column the rest. Names that are too long
 * lose their middle, paths their start, and trees their outermost guides. Blanks are written only
 * before other text, so no line ends in blanks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "format/text/sheet_cells.h"
#include "format/text/sheet_write.h"
#include "profile/simple_name.h"

#define DEFAULT_WIDTH	   80
#define LEAST_WIDTH	   60
#define ROOMY_WIDTH	   80 /* minimum for errors and COLUMN_ROOMY */
#define GAP		   2
#define LEAST_COLUMNS	   8  /* minimum for each column of texts, on average */
#define LEAST_NAME_COLUMNS 24 /* minimum that guides leave to names */
#define LEVEL_COLUMNS	   2  /* width of one guide */

/* Percentages have the limits and colours of perf report, which users are familiar with. */
#define RED_PERCENT   5.0
#define GREEN_PERCENT 0.5
#define RED	      "\033[31m"
#define GREEN	      "\033[32m"
#define NORMAL	      "\033[m"
#define END_OF_TONE   "\033[0m"

/* More is red and less is blue, as in flame graphs; doubtful rows are grey. */
static const char *const tones[] = {
	[TONE_NONE] = "",	   [TONE_MORE] = "\033[31m",   [TONE_LESS] = "\033[94m",
	[TONE_NEW] = "\033[1;31m", [TONE_GONE] = "\033[1;94m", [TONE_DOUBTFUL] = "\033[90m",
};

struct glyphs {
	const char *fork, *last_fork, *guide, *no_guide, *left_out, *between, *ellipsis, *error;
};

static const struct glyphs utf8_glyphs = {"├ ", "└ ", "│ ", "  ", "… ", " › ", "…", " ±"};
static const struct glyphs ascii_glyphs = {"|-", "`-", "| ", "  ", "..", " > ", "..", "+-"};

struct text_writer {
	const struct glyphs *glyphs;
	FILE *out;
	size_t width;
	bool ascii, color;
	/* The table being written. */
	struct shown_table shown;
	size_t wanted[TABLE_COLUMNS_MAX], widths[TABLE_COLUMNS_MAX];
	bool *guides; /* level -> true if more forks follow below */
	size_t cap_guides;
	size_t at, blanks; /* columns written in the line; blanks to write before the next text */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* --- widths of columns ------------------------------------------------------------------------ */

static size_t columns_of_words(const char *text, bool ascii)
{
	size_t columns = text_columns(text);
	const char *at;

	for (at = text; ascii && *at; at++) {
		const char *other = (unsigned char)*at < 0x80 ? NULL : ascii_of(at);

		columns += other ? strlen(other) - 1 : 0;
	}
	return columns;
}

/* True if the cell's text is a name, which is untrusted and is written without translation. */
static bool is_name(const struct shown_column *column, const struct row *row)
{
	return column->is->flags & COLUMN_NAME && row->kind != ROW_REST;
}

static size_t path_columns(const struct text_writer *writer, const struct cell *cell)
{
	size_t between = text_columns(writer->glyphs->between), columns = 0, i;

	if (cell->path.is_cut)
		columns = text_columns(writer->glyphs->ellipsis) + between;
	for (i = 0; i < cell->path.nr; i++)
		columns += text_columns(cell->path.texts[i]) + (i ? between : 0);
	return columns;
}

/* Returns the columns of a cell without guides and without truncation. */
static size_t cell_columns(const struct text_writer *writer, const struct shown_column *column,
			   const struct row *row)
{
	const struct cell *cell = &row->cells[column->number];
	char buffer[CELL_BYTES];
	const char *text;
	size_t columns;

	if (cell->kind == CELL_PATH)
		return path_columns(writer, cell);
	text = shown_text(column, cell, buffer);
	columns = is_name(column, row) ? text_columns(text) : columns_of_words(text, writer->ascii);
	if (writer->width >= ROOMY_WIDTH && shown_error(column, cell, ERROR_COLUMNS, buffer))
		columns += text_columns(writer->glyphs->error) + strlen(buffer);
	return columns;
}

static void measure(struct text_writer *writer)
{
	const struct shown_table *shown = &writer->shown;
	size_t *wanted = writer->wanted;
	char buffer[CELL_BYTES];
	struct row row;
	size_t i, k;

	for (k = 0; k < shown->nr; k++)
		wanted[k] = larger(
			columns_of_words(shown_heading(&shown->columns[k], buffer), writer->ascii),
			shown->columns[k].is->least_width);
	for (i = 0; i < shown->table->nr_rows; i++) {
		if (!shown_table_read(shown, i, &row) || row.kind == ROW_BLANK)
			continue;
		for (k = 0; k < shown->nr; k++) {
			const struct shown_column *column = &shown->columns[k];
			size_t columns;

			if (column->is->flags & COLUMN_OVERFLOWS ||
			    (row.kind == ROW_REST && !column->is_number &&
			     !(column->is->flags & COLUMN_TREE)))
				continue;
			columns = cell_columns(writer, column, &row);
			if (column->is->flags & COLUMN_TREE)
				columns += row.level * LEVEL_COLUMNS;
			wanted[k] = larger(wanted[k], columns);
		}
	}
}

static bool is_plain(const struct shown_column *column)
{
	return !column->is_number && !(column->is->flags & COLUMN_NAME);
}

/* Returns the column that gets the remaining width. */
static size_t main_column(const struct shown_table *shown)
{
	size_t first = shown->nr, i;

	for (i = 0; i < shown->nr; i++) {
		if (shown->columns[i].is->flags & COLUMN_MAIN)
			return i;
		if (first == shown->nr && !shown->columns[i].is_number)
			first = i;
	}
	return first;
}

static size_t gap_before(const struct shown_table *shown, size_t column)
{
	unsigned gap = shown->columns[column].is->gap;

	if (!column)
		return 0;
	return gap ? gap : GAP;
}

/* Gives texts of one kind the width they want, but at most `share` of the room each. */
static void give(struct text_writer *writer, bool plain, size_t main, size_t share, size_t *room)
{
	size_t i;

	for (i = 0; i < writer->shown.nr; i++) {
		if (i == main || writer->shown.columns[i].is_number ||
		    is_plain(&writer->shown.columns[i]) != plain)
			continue;
		writer->widths[i] = smaller(writer->wanted[i], smaller(share, *room));
		*room -= writer->widths[i];
	}
}

/*
 * Short words come first, then the names share a third or a half, then the main column; remaining
 * room goes to columns that want more. If there are too many columns for the width, lines become
 * longer.
 */
static void lay_out(struct text_writer *writer)
{
	const struct shown_table *shown = &writer->shown;
	size_t main = main_column(shown), fixed = 0, least = 0, nr_names = 0, room, i;
	const size_t *wanted = writer->wanted;

	measure(writer);
	memcpy(writer->widths, wanted, shown->nr * sizeof(*wanted));
	if (shown->table->never_cut || main == shown->nr)
		return;
	for (i = 0; i < shown->nr; i++) {
		fixed += gap_before(shown, i);
		if (shown->columns[i].is_number)
			fixed += wanted[i];
		else
			least += LEAST_COLUMNS;
		nr_names +=
			i != main && !shown->columns[i].is_number && !is_plain(&shown->columns[i]);
	}
	room = writer->width > fixed + least ? writer->width - fixed : least;
	if (shown->columns[main].is_number)
		main = shown->nr;
	give(writer, true, main, room / 3, &room);
	give(writer, false, main, nr_names > 1 ? room / 2 / nr_names : room / 3, &room);
	if (main < shown->nr) {
		writer->widths[main] = smaller(wanted[main], room);
		room -= writer->widths[main];
	}
	for (i = 0; i < shown->nr; i++) {
		size_t more = smaller(wanted[i] - writer->widths[i], room);

		writer->widths[i] += more;
		room -= more;
	}
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Writes pending blanks before other text. */
static void catch_up(struct text_writer *writer)
{
	text_pad(writer->out, writer->blanks);
	writer->at += writer->blanks;
	writer->blanks = 0;
}

static void put_glyph(struct text_writer *writer, const char *text)
{
	catch_up(writer);
	(void)fputs(text, writer->out);
	writer->at += text_columns(text);
}

#define FITTED_COLUMNS 512 /* limit of the width for names that lose their middle */

/* Writes a name that is too long, shortened. Returns the columns written. */
static size_t put_fitted(struct text_writer *writer, const char *name, size_t columns)
{
	const char *ellipsis = writer->glyphs->ellipsis;
	char buffer[FITTED_COLUMNS * 4 + 1];

	if (columns > FITTED_COLUMNS)
		return text_write_columns(writer->out, name, columns, ellipsis);
	simple_name_fit(name, columns, ellipsis, buffer);
	(void)fputs(buffer, writer->out);
	return text_columns(buffer);
}

/* Writes text in at most this many columns. Texts other than names are truncated at the end. */
static void put_text(struct text_writer *writer, const char *text, bool is_name, size_t columns)
{
	size_t needed = is_name ? text_columns(text) : columns_of_words(text, writer->ascii);

	if (!*text)
		return;
	catch_up(writer);
	if (is_name && needed > columns) {
		writer->at += put_fitted(writer, text, columns);
		return;
	}
	if (is_name || needed > columns) {
		writer->at +=
			text_write_columns(writer->out, text, columns, writer->glyphs->ellipsis);
		return;
	}
	shown_write_words(writer->out, text, writer->ascii);
	writer->at += needed;
}

static void end_line(struct text_writer *writer)
{
	(void)putc('\n', writer->out);
	writer->at = writer->blanks = 0;
}

/*
 * Returns the number of levels that a tree column has room for; no limit if the column is wide
 * enough.
 */
static size_t levels_in(const struct text_writer *writer, size_t number)
{
	size_t columns = writer->widths[number];

	if (columns >= writer->wanted[number])
		return SIZE_MAX;
	return columns > LEAST_NAME_COLUMNS ? (columns - LEAST_NAME_COLUMNS) / LEVEL_COLUMNS : 0;
}

/*
 * Writes the guides of all levels above; if there are too many, the outermost are omitted. The
 * innermost guide of a fork is where the row's own path begins. Returns the columns written.
 */
static size_t put_guides(struct text_writer *writer, size_t number, const struct row *row)
{
	const struct glyphs *glyphs = writer->glyphs;
	size_t room = levels_in(writer, number);
	size_t first = row->level > room ? row->level - room : 0;
	size_t i;

	if (!row->level)
		return 0;
	if (row->is_fork)
		writer->guides[row->level - 1] = row->has_more;
	for (i = first; i < row->level; i++) {
		bool more = writer->guides[i];
		const char *glyph = more ? glyphs->guide : glyphs->no_guide;

		if (first && i == first)
			glyph = glyphs->left_out;
		else if (row->is_fork && i == row->level - 1)
			glyph = more ? glyphs->fork : glyphs->last_fork;
		put_glyph(writer, glyph);
	}
	return (row->level - first) * LEVEL_COLUMNS;
}

/* Writes as many of the last texts as fit. */
static void put_path(struct text_writer *writer, const struct cell *cell, size_t columns)
{
	const struct glyphs *glyphs = writer->glyphs;
	size_t between = text_columns(glyphs->between),
	       cut = text_columns(glyphs->ellipsis) + between;
	size_t left = columns, first = cell->path.nr, i;

	while (first) {
		bool is_last = first == cell->path.nr, in_front = first > 1 || cell->path.is_cut;
		size_t needed = text_columns(cell->path.texts[first - 1]) + (is_last ? 0 : between);

		if (!is_last && needed + (in_front ? cut : 0) > left)
			break;
		left -= smaller(needed, left);
		first--;
	}
	if ((first || cell->path.is_cut) && left >= cut) {
		put_glyph(writer, glyphs->ellipsis);
		put_glyph(writer, glyphs->between);
	}
	for (i = first; i < cell->path.nr; i++) {
		put_text(writer, cell->path.texts[i], true, columns);
		if (i + 1 < cell->path.nr)
			put_glyph(writer, glyphs->between);
	}
}

static const char *heat_of(const struct text_writer *writer, const struct shown_column *column,
			   const struct row *row)
{
	const struct cell *cell = &row->cells[column->number];

	if (!writer->color || !(column->is->flags & COLUMN_HEAT) || cell->kind != CELL_REAL ||
	    row->kind == ROW_REST || cell->real < GREEN_PERCENT)
		return NULL;
	return cell->real >= RED_PERCENT ? RED : GREEN;
}

static void put_number(struct text_writer *writer, const struct shown_column *column,
		       const struct row *row)
{
	const struct cell *cell = &row->cells[column->number];
	const char *heat = heat_of(writer, column, row);
	char buffer[CELL_BYTES];

	catch_up(writer);
	(void)fputs(heat ? heat : "", writer->out);
	put_text(writer, shown_text(column, cell, buffer), false, SIZE_MAX);
	(void)fputs(heat ? NORMAL : "", writer->out);
	if (writer->width < ROOMY_WIDTH || !shown_error(column, cell, ERROR_COLUMNS, buffer))
		return;
	put_glyph(writer, writer->glyphs->error);
	put_text(writer, buffer, false, SIZE_MAX);
}

/* Writes a cell after the pending blanks. */
static void put_cell(struct text_writer *writer, size_t number, const struct row *row)
{
	const struct shown_column *column = &writer->shown.columns[number];
	const struct cell *cell = &row->cells[column->number];
	size_t width = writer->widths[number], columns = width, needed, begin;
	char buffer[CELL_BYTES];

	needed = cell_columns(writer, column, row);
	if (column->is_number) {
		writer->blanks += width > needed ? width - needed : 0;
		if (needed)
			put_number(writer, column, row);
		return;
	}
	begin = writer->at + writer->blanks;
	if (column->is->flags & COLUMN_TREE)
		columns -= put_guides(writer, number, row);
	if (writer->shown.table->never_cut)
		columns = SIZE_MAX;
	if (cell->kind == CELL_PATH)
		put_path(writer, cell, columns);
	else
		put_text(writer, shown_text(column, cell, buffer), is_name(column, row), columns);
	needed = writer->at > begin ? writer->at - begin : 0;
	writer->blanks += needed < width ? width - needed : 0;
}

/* The first text of such a row describes what it sums up; nothing follows it. */
static void put_rest(struct text_writer *writer, size_t number, const struct row *row)
{
	const struct shown_column *column = &writer->shown.columns[number];
	size_t at = writer->at + writer->blanks;
	size_t columns = writer->width > at ? writer->width - at : 0;
	char buffer[CELL_BYTES];

	columns = larger(columns, writer->widths[number]);
	if (column->is->flags & COLUMN_TREE)
		columns -= put_guides(writer, number, row);
	put_text(writer, shown_text(column, &row->cells[column->number], buffer), false, columns);
}

static void write_row(struct text_writer *writer, const struct row *row)
{
	const struct shown_table *shown = &writer->shown;
	const char *tone = writer->color ? tones[row->tone] : "";
	size_t i;

	(void)fputs(tone, writer->out);
	for (i = 0; i < shown->nr && row->kind != ROW_BLANK; i++) {
		writer->blanks += gap_before(shown, i);
		if (row->kind == ROW_REST && !shown->columns[i].is_number &&
		    row->cells[shown->columns[i].number].kind == CELL_TEXT) {
			put_rest(writer, i, row);
			break;
		}
		put_cell(writer, i, row);
	}
	(void)fputs(*tone ? END_OF_TONE : "", writer->out);
	end_line(writer);
}

static void write_headings(struct text_writer *writer)
{
	const struct shown_table *shown = &writer->shown;
	char buffer[CELL_BYTES];
	size_t nr = 0, i;

	for (i = 0; i < shown->nr; i++)
		nr += *shown->columns[i].is->heading != '\0';
	if (!nr)
		return;
	for (i = 0; i < shown->nr; i++) {
		const char *text = shown_heading(&shown->columns[i], buffer);
		size_t needed = smaller(columns_of_words(text, writer->ascii), writer->widths[i]);
		size_t pad = writer->widths[i] - needed;

		writer->blanks += gap_before(shown, i) + (shown->columns[i].is_number ? pad : 0);
		put_text(writer, text, false, writer->widths[i]);
		writer->blanks += shown->columns[i].is_number ? 0 : pad;
	}
	end_line(writer);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void write_caption_text(FILE *out, const char *text, bool is_name, bool ascii)
{
	if (is_name)
		(void)text_write_columns(out, text, text_columns(text), "");
	else
		shown_write_words(out, text, ascii);
}

static void write_histograms(struct text_writer *writer)
{
	const struct shown_table *shown = &writer->shown;
	bool is_first = true;
	struct row row;
	size_t i;

	for (i = 0; i < shown->table->nr_rows; i++) {
		const struct histogram *histogram;

		if (!shown_table_read(shown, i, &row) || row.kind == ROW_BLANK)
			continue;
		(void)fputs(is_first ? "" : "\n", writer->out);
		is_first = false;
		shown_write_caption(shown, &row, write_caption_text, writer->out);
		histogram = shown_histogram(shown, &row);
		if (histogram)
			shown_write_histogram(histogram, "", writer->out);
	}
}

static int make_room_for_guides(struct text_writer *writer, size_t nr)
{
	size_t old = writer->cap_guides;

	if (array_reserve(&writer->guides, &writer->cap_guides, nr, sizeof(*writer->guides)) < 0)
		return -ENOMEM;
	if (writer->cap_guides > old)
		memset(writer->guides + old, 0,
		       (writer->cap_guides - old) * sizeof(*writer->guides));
	return 0;
}

static int write_table(struct text_writer *writer, const struct table *table)
{
	struct row row;
	size_t i;

	shown_table_init(&writer->shown, table, MEDIA_TEXT, writer->ascii,
			 writer->width < ROOMY_WIDTH);
	if (shown_has_histograms(&writer->shown)) {
		write_histograms(writer);
		return 0;
	}
	lay_out(writer);
	write_headings(writer);
	for (i = 0; i < table->nr_rows && !ferror(writer->out); i++) {
		if (!shown_table_read(&writer->shown, i, &row))
			continue;
		if (make_room_for_guides(writer, row.level) < 0)
			return -ENOMEM;
		write_row(writer, &row);
	}
	return 0;
}

/* --- other blocks ----------------------------------------------------------------------------- */

static void put_span(struct text_writer *writer, const struct span *span)
{
	size_t columns = text_columns(span->text);

	put_text(writer, span->text, span->is_name,
		 span->is_name ? smaller(columns, writer->width / 2) : SIZE_MAX);
}

static void write_line(struct text_writer *writer, const struct block *block)
{
	size_t i;

	if (block->style == LINE_ROOMY && writer->width < ROOMY_WIDTH)
		return;
	if (block->style == LINE_BULLET)
		put_glyph(writer, "* ");
	for (i = 0; i < block->nr_spans; i++)
		put_span(writer, &block->spans[i]);
	end_line(writer);
}

static void write_notes(struct text_writer *writer, const struct block *block)
{
	size_t i;

	for (i = 0; i < block->nr_spans; i++) {
		put_span(writer, &block->spans[i]);
		end_line(writer);
	}
}

static void write_figure(struct text_writer *writer, const struct block *block)
{
	const struct table table = figure_table(block);
	struct span span = {.is_name = block->column.flags & COLUMN_NAME};
	const struct shown_column *column = &writer->shown.columns[0];
	char heading[CELL_BYTES], buffer[CELL_BYTES];

	shown_table_init(&writer->shown, &table, MEDIA_TEXT, writer->ascii, false);
	if (!writer->shown.nr)
		return;
	put_text(writer, shown_heading(column, heading), false, SIZE_MAX);
	writer->blanks += GAP;
	span.text = (char *)shown_text(column, &block->cell, buffer);
	put_span(writer, &span);
	end_line(writer);
}

int sheet_write_text(const struct sheet *sheet, const struct sheet_style *style, FILE *out)
{
	struct text_writer writer = {
		.glyphs = style->ascii ? &ascii_glyphs : &utf8_glyphs,
		.out = out,
		.width = style->width ? larger(style->width, LEAST_WIDTH) : DEFAULT_WIDTH,
		.ascii = style->ascii,
		.color = style->color,
	};
	int result = 0;
	size_t i;

	for (i = 0; i < sheet->nr && !result; i++) {
		const struct block *block = &sheet->blocks[i];

		if (!(block->media & MEDIA_TEXT))
			continue;
		switch (block->kind) {
		case BLOCK_FIGURE:
			write_figure(&writer, block);
			break;
		case BLOCK_LINE:
			write_line(&writer, block);
			break;
		case BLOCK_NOTES:
			write_notes(&writer, block);
			break;
		case BLOCK_TABLE:
			result = write_table(&writer, &block->table);
			break;
		}
	}
	free(writer.guides);
	return result;
}

int sheet_write(const struct sheet *sheet, enum media medium, const struct sheet_style *style,
		FILE *out)
{
	int result = sheet_status(sheet);

	if (result < 0)
		return result;
	errno = 0;
	switch (medium) {
	case MEDIA_TEXT:
		result = sheet_write_text(sheet, style, out);
		break;
	case MEDIA_MARKDOWN:
		if (sheet->is_line && !style->is_first)
			(void)putc('\n', out); /* otherwise the previous table would continue */
		sheet_write_markdown(sheet, out);
		break;
	case MEDIA_CSV:
		sheet_write_csv(sheet, !sheet->is_line || style->is_first, out);
		break;
	case MEDIA_JSON:
		sheet_write_json(sheet, out);
		break;
	default:
		return -EINVAL;
	}
	return result < 0 ? result : stream_finish(out);
}
