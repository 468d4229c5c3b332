/*
 * Sheets as Markdown, with tables as supported by most issue trackers. Blocks of different kinds
 * are always separated by an empty line.
 *
 * Names are written as code spans, so that they cannot contain markup. A code span ends at the
 * number of backticks that began it, so it begins with more than the name contains; in a table, a
 * `|` in it is escaped, since it would end the cell. An indented block cannot be ended by a name.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "format/text/sheet_cells.h"
#include "profile/simple_name.h"

#define NAME_COLUMNS 100 /* longer names are shortened */
#define NAME_BYTES   (NAME_COLUMNS * 4 + 1)
#define INDENT	     "    " /* of code blocks */

/* --- names and words -------------------------------------------------------------------------- */

static const char *clean_name(const char *name, char buffer[NAME_BYTES])
{
	simple_name_fit(name, NAME_COLUMNS, "…", buffer);
	return buffer;
}

static size_t longest_backticks(const char *text)
{
	size_t longest = 0, nr;

	for (; *text; text += nr + (text[nr] != '\0')) {
		nr = strspn(text, "`");
		if (nr > longest)
			longest = nr;
	}
	return longest;
}

static void write_fence(FILE *out, size_t nr)
{
	for (; nr; nr--)
		(void)putc('`', out);
}

static void write_name(FILE *out, const char *name, bool in_table)
{
	char buffer[NAME_BYTES];
	const char *text = clean_name(name, buffer), *pad;
	size_t fence = 1 + longest_backticks(text);

	pad = fence > 1 || !*text ? " " : "";
	write_fence(out, fence);
	(void)fputs(pad, out);
	for (; *text; text++) {
		if (*text == '|' && in_table)
			(void)putc('\\', out);
		(void)putc(*text, out);
	}
	(void)fputs(pad, out);
	write_fence(out, fence);
}

/* A backslash before punctuation is always valid. Some characters are markup only at the start. */
static void write_words(FILE *out, const char *text, bool at_start)
{
	if (at_start && *text && strchr("+-#=", *text))
		(void)putc('\\', out);
	while (*text) {
		size_t bytes = text_character(text);

		if (bytes == 1 && strchr("\\`*_{}[]<>|~$@&", *text))
			(void)putc('\\', out);
		if (bytes)
			(void)fwrite(text, 1, bytes, out);
		else
			(void)putc('?', out);
		text += bytes ? bytes : 1;
	}
}

/* --- separation of blocks --------------------------------------------------------------------- */

enum part { PART_NOTHING, PART_WORDS, PART_HEADING, PART_LIST, PART_CODE, PART_TABLE };

struct markdown_writer {
	FILE *out;
	enum part last;
	bool wants_space; /* the sheet has an empty line here */
};

static void begin_part(struct markdown_writer *writer, enum part part)
{
	bool goes_on = part == writer->last && part != PART_HEADING && part != PART_TABLE;

	if (writer->last != PART_NOTHING && (writer->wants_space || !goes_on))
		(void)putc('\n', writer->out);
	/* Otherwise the block would belong to the list's last item. */
	if (part == PART_CODE && writer->last == PART_LIST)
		(void)fputs("<!-- -->\n\n", writer->out);
	writer->wants_space = false;
	writer->last = part;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void write_heading(const struct shown_column *column, FILE *out)
{
	char buffer[CELL_BYTES], lower[CELL_BYTES];
	const char *heading = shown_heading(column, buffer);
	size_t i;

	for (i = 0; heading[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)(column->is->flags & COLUMN_VERBATIM
					  ? heading[i]
					  : tolower((unsigned char)heading[i]));
	lower[i] = '\0';
	write_words(out, lower, false);
}

static void write_path(const struct cell *cell, FILE *out)
{
	size_t i;

	(void)fputs(cell->path.is_cut ? "… › " : "", out);
	for (i = 0; i < cell->path.nr; i++) {
		(void)fputs(i ? " › " : "", out);
		write_name(out, cell->path.texts[i], true);
	}
}

static void write_cell(const struct shown_column *column, const struct row *row, FILE *out)
{
	const struct cell *cell = &row->cells[column->number];
	char buffer[CELL_BYTES];
	const char *text = shown_text(column, cell, buffer);
	unsigned i;

	for (i = 0; column->is->flags & COLUMN_TREE && i < row->level; i++)
		(void)fputs("· ", out);
	if (cell->kind == CELL_PATH)
		write_path(cell, out);
	else if (cell->kind != CELL_TEXT)
		(void)fputs(text, out);
	else if (column->is->flags & COLUMN_NAME && row->kind != ROW_REST && *text)
		write_name(out, text, true);
	else
		write_words(out, text, false);
	if (shown_error(column, cell, 0, buffer))
		(void)fprintf(out, " ± %s", buffer);
}

static void write_row(const struct shown_table *shown, const struct row *row, FILE *out)
{
	size_t i;

	(void)putc('|', out);
	for (i = 0; i < shown->nr; i++) {
		(void)putc(' ', out);
		write_cell(&shown->columns[i], row, out);
		(void)fputs(" |", out);
	}
	(void)putc('\n', out);
}

static void write_caption_text(FILE *out, const char *text, bool is_name, bool ascii)
{
	if (is_name)
		write_name(out, text, false);
	else
		write_words(out, text, false);
}

static void write_histograms(struct markdown_writer *writer, const struct shown_table *shown)
{
	struct row row;
	size_t i;

	for (i = 0; i < shown->table->nr_rows; i++) {
		const struct histogram *histogram;

		if (!shown_table_read(shown, i, &row))
			continue;
		begin_part(writer, PART_WORDS);
		shown_write_caption(shown, &row, write_caption_text, writer->out);
		histogram = shown_histogram(shown, &row);
		if (!histogram)
			continue;
		begin_part(writer, PART_CODE);
		shown_write_histogram(histogram, INDENT, writer->out);
	}
}

static void write_table(struct markdown_writer *writer, const struct table *table)
{
	struct shown_table shown;
	FILE *out = writer->out;
	struct row row;
	size_t i;

	shown_table_init(&shown, table, MEDIA_MARKDOWN, false, false);
	if (shown_has_histograms(&shown)) {
		write_histograms(writer, &shown);
		return;
	}
	begin_part(writer, PART_TABLE);
	(void)putc('|', out);
	for (i = 0; i < shown.nr; i++) {
		(void)putc(' ', out);
		write_heading(&shown.columns[i], out);
		(void)fputs(" |", out);
	}
	(void)fputs("\n|", out);
	for (i = 0; i < shown.nr; i++)
		(void)fputs(shown.columns[i].is_number ? "---:|" : "---|", out);
	(void)putc('\n', out);
	for (i = 0; i < table->nr_rows && !ferror(out); i++)
		if (shown_table_read(&shown, i, &row))
			write_row(&shown, &row, out);
}

/* --- other blocks ----------------------------------------------------------------------------- */

static void write_line(struct markdown_writer *writer, const struct block *block)
{
	static const struct {
		enum part part;
		const char *start;
	} styles[] = {
		[LINE_PLAIN] = {PART_WORDS, ""},   [LINE_HEADING] = {PART_HEADING, "### "},
		[LINE_BULLET] = {PART_LIST, "* "}, [LINE_CODE] = {PART_CODE, INDENT},
		[LINE_ROOMY] = {PART_WORDS, ""},
	};
	char buffer[NAME_BYTES];
	size_t i;

	if (!block->nr_spans) {
		writer->wants_space = true;
		return;
	}
	begin_part(writer, styles[block->style].part);
	(void)fputs(styles[block->style].start, writer->out);
	for (i = 0; i < block->nr_spans; i++) {
		const struct span *span = &block->spans[i];

		if (block->style == LINE_CODE && span->is_name)
			(void)fputs(clean_name(span->text, buffer), writer->out);
		else if (block->style == LINE_CODE)
			shown_write_words(writer->out, span->text, false);
		else if (span->is_name)
			write_name(writer->out, span->text, false);
		else
			write_words(writer->out, span->text, !i);
	}
	(void)putc('\n', writer->out);
}

static void write_notes(struct markdown_writer *writer, const struct block *block)
{
	size_t i;

	for (i = 0; i < block->nr_spans; i++) {
		begin_part(writer, PART_LIST);
		(void)fputs("* ", writer->out);
		write_words(writer->out, block->spans[i].text, true);
		(void)putc('\n', writer->out);
	}
}

static void write_figure(struct markdown_writer *writer, const struct block *block)
{
	const struct row row = {.kind = ROW_PLAIN, .cells = {block->cell}};
	const struct table table = figure_table(block);
	struct shown_table shown;

	shown_table_init(&shown, &table, MEDIA_MARKDOWN, false, false);
	if (!shown.nr)
		return;
	begin_part(writer, PART_LIST);
	(void)fputs("* ", writer->out);
	write_heading(&shown.columns[0], writer->out);
	(void)putc(' ', writer->out);
	write_cell(&shown.columns[0], &row, writer->out);
	(void)putc('\n', writer->out);
}

void sheet_write_markdown(const struct sheet *sheet, FILE *out)
{
	struct markdown_writer writer = {.out = out};
	size_t i;

	for (i = 0; i < sheet->nr; i++) {
		const struct block *block = &sheet->blocks[i];

		if (!(block->media & MEDIA_MARKDOWN))
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
			write_table(&writer, &block->table);
			break;
		}
	}
}
