/*
 * Sheets as JSON (RFC 8259): one object, whose members are in the order of the blocks. A name with
 * a dot is a member of a nested object: "key.comm" is {"key": {"comm": …}}. Each row is a line, so
 * that line-based tools can compare two files.
 *
 * Non-ASCII characters are written unchanged, except those that are unsafe for terminals: these are
 * escaped, which is harmless and loses nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "format/text/json.h"
#include "format/text/sheet_cells.h"

/* All escaped characters have 16-bit codes; invalid bytes become U+FFFD. */
static size_t write_escaped(FILE *out, const char *text)
{
	uint32_t code;
	size_t bytes = text_utf8(text, &code);

	if (bytes && (code == '"' || code == '\\'))
		(void)fprintf(out, "\\%c", (int)code);
	else
		(void)fprintf(out, "\\u%04" PRIx32, bytes ? code : 0xfffd);
	return bytes ? bytes : 1;
}

static void write_inside(FILE *out, const char *text)
{
	while (*text) {
		size_t plain = text_plain(text, '"', '\\'), bytes;

		(void)fwrite_unlocked(text, 1, plain, out);
		text += plain;
		bytes = text_character(text);
		if (*text && (!bytes || *text == '"' || *text == '\\')) {
			text += write_escaped(out, text);
		} else {
			(void)fwrite_unlocked(text, 1, bytes, out);
			text += bytes;
		}
	}
}

void json_write_string(FILE *out, const char *text)
{
	if (!text) {
		(void)fputs("null", out);
		return;
	}
	(void)putc('"', out);
	write_inside(out, text);
	(void)putc('"', out);
}

/* --- members ---------------------------------------------------------------------------------- */

/* The members of an object while they are written. */
struct members {
	FILE *out;
	const char *between;
	const char *nest; /* the open nested object: a name with this prefix; NULL: none */
	size_t nr_nest;
	bool has_any;
};

static void end_nest(struct members *members)
{
	if (members->nest)
		(void)putc('}', members->out);
	members->nest = NULL;
}

/* Writes everything before the member's value. */
static void begin_member(struct members *members, const char *name)
{
	const char *dot = strchr(name, '.');
	size_t nr = dot ? (size_t)(dot - name) : 0;
	bool goes_on =
		dot && members->nest && members->nr_nest == nr && !memcmp(members->nest, name, nr);

	if (goes_on) {
		(void)fputs(", ", members->out);
	} else {
		end_nest(members);
		(void)fputs(members->has_any ? members->between : "", members->out);
		if (dot)
			(void)fprintf(members->out, "\"%.*s\": {", (int)nr, name);
	}
	members->nest = dot ? name : NULL;
	members->nr_nest = nr;
	members->has_any = true;
	json_write_string(members->out, dot ? dot + 1 : name);
	(void)fputs(": ", members->out);
}

/* --- cells ------------------------------------------------------------------------------------ */

static void write_histogram(const struct histogram *histogram, FILE *out)
{
	bool is_first = true;
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < histogram->nr; i++) {
		if (!histogram->counts[i])
			continue;
		(void)fprintf(out,
			      "%s{\"from\": %" PRId64 ", \"to\": %" PRId64 ", \"count\": %" PRIu64
			      "}",
			      is_first ? "" : ", ", histogram->ranges[i].from,
			      histogram->ranges[i].to, histogram->counts[i]);
		is_first = false;
	}
	(void)putc(']', out);
}

static void write_path(const struct cell *cell, FILE *out)
{
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < cell->path.nr; i++) {
		(void)fputs(i ? ", " : "", out);
		json_write_string(out, cell->path.texts[i]);
	}
	(void)putc(']', out);
}

static void write_real(const struct column *column, double real, FILE *out)
{
	if (isfinite(real))
		(void)fprintf(out, column->significant ? "%.*g" : "%.*f", (int)column->precise,
			      real);
	else
		(void)fputs("null", out);
}

static void write_cell(const struct column *column, const struct cell *cell, FILE *out)
{
	switch (cell->kind) {
	case CELL_NONE:
		(void)fputs("null", out);
		break;
	case CELL_TEXT:
		if (column->flags & COLUMN_NUMBER && is_plain_number(cell->text))
			(void)fputs(cell->text, out);
		else
			json_write_string(out, cell->text);
		break;
	case CELL_COUNT:
		(void)fprintf(out, "%" PRIu64, cell->count);
		break;
	case CELL_INTEGER:
		(void)fprintf(out, "%" PRId64, cell->integer);
		break;
	case CELL_REAL:
		write_real(column, cell->real, out);
		break;
	case CELL_BOOL:
		(void)fputs(cell->truth ? "true" : "false", out);
		break;
	case CELL_PATH:
		write_path(cell, out);
		break;
	case CELL_HISTOGRAM:
		write_histogram(cell->histogram, out);
		break;
	}
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void write_rows(const struct table *table, bool is_line, FILE *out)
{
	const char *between = "";
	struct shown_table shown;
	struct row row;
	size_t i, k;

	shown_table_init(&shown, table, MEDIA_JSON, false, false);
	(void)putc('[', out);
	for (i = 0; i < table->nr_rows && !ferror(out); i++) {
		struct members members = {.out = out, .between = ", "};

		if (!shown_table_read(&shown, i, &row))
			continue;
		(void)fputs(is_line ? between : (*between ? ",\n" : "\n"), out);
		between = ", ";
		(void)putc('{', out);
		for (k = 0; k < shown.nr; k++) {
			begin_member(&members, shown.columns[k].is->name);
			write_cell(shown.columns[k].is, &row.cells[shown.columns[k].number], out);
		}
		end_nest(&members);
		(void)putc('}', out);
	}
	(void)putc(']', out);
}

static void write_notes(const struct block *block, bool is_line, FILE *out)
{
	size_t i;

	(void)putc('[', out);
	for (i = 0; i < block->nr_spans; i++) {
		(void)fputs(is_line ? (i ? ", " : "") : (i ? ",\n" : "\n"), out);
		json_write_string(out, block->spans[i].text);
	}
	(void)putc(']', out);
}

static void write_block(struct members *members, const struct block *block, bool is_line)
{
	const struct column *column = &block->column;

	switch (block->kind) {
	case BLOCK_FIGURE:
		if (!column->name || (column->media && !(column->media & MEDIA_JSON)))
			break;
		begin_member(members, column->name);
		write_cell(column, &block->cell, members->out);
		break;
	case BLOCK_NOTES:
		begin_member(members, block->name);
		write_notes(block, is_line, members->out);
		break;
	case BLOCK_TABLE:
		if (!block->table.name)
			break;
		begin_member(members, block->table.name);
		write_rows(&block->table, is_line, members->out);
		break;
	case BLOCK_LINE:
		break;
	}
}

void sheet_write_json(const struct sheet *sheet, FILE *out)
{
	struct members members = {.out = out, .between = sheet->is_line ? ", " : ",\n"};
	size_t i;

	(void)fputs(sheet->is_line ? "{" : "{\n", out);
	for (i = 0; i < sheet->nr; i++)
		if (sheet->blocks[i].media & MEDIA_JSON)
			write_block(&members, &sheet->blocks[i], sheet->is_line);
	end_nest(&members);
	(void)fputs(sheet->is_line ? "}\n" : "\n}\n", out);
}
