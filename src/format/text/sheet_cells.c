/*
 * Chooses the columns to show, and formats numbers for people: with commas, as a percentage, in a
 * unit of time that fits its column, with as many digits as its error justifies.
 */
#include "format/text/sheet_cells.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Units of time with the upper limit of the values shown in them. */
struct time_unit {
	double below, ns;
	const char *name;
};

static const struct time_unit time_units[] = {
	{1e5, 1, "ns"},
	{1e8, 1e3, "us"},
	{1e11, 1e6, "ms"},
	{HUGE_VAL, 1e9, "s"},
};

/* --- columns ---------------------------------------------------------------------------------- */

static bool is_shown(const struct column *column, enum media medium, bool is_narrow)
{
	if (column->media && !(column->media & medium))
		return false;
	if (medium & MEDIA_PROGRAMS)
		return column->name != NULL;
	return column->heading && !(is_narrow && column->flags & COLUMN_ROOMY);
}

static bool is_numeric(enum cell_kind kind)
{
	return kind == CELL_COUNT || kind == CELL_INTEGER || kind == CELL_REAL;
}

static double number_of(const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_COUNT:
		return (double)cell->count;
	case CELL_INTEGER:
		return (double)cell->integer;
	case CELL_REAL:
		return cell->real;
	default:
		return 0;
	}
}

static bool is_empty(const struct cell *cell)
{
	return cell->kind == CELL_NONE || (cell->kind == CELL_TEXT && !*cell->text);
}

static const struct time_unit *unit_for(double most)
{
	const struct time_unit *unit = time_units;

	while (most >= unit->below)
		unit++;
	return unit;
}

static void choose_units(struct shown_table *shown, const double *most)
{
	const struct time_unit *all = NULL;
	size_t i;

	for (i = 0; i < shown->nr; i++)
		if (shown->columns[i].is->flags & COLUMN_SETS_UNIT)
			all = unit_for(most[i]);
	for (i = 0; i < shown->nr; i++)
		if (shown->columns[i].is->unit == UNIT_NANOSECONDS)
			shown->columns[i].unit = all ? all : unit_for(most[i]);
}

/* Determines units, columns of numbers and empty columns, which depend on the rows. */
static void look_at_rows(struct shown_table *shown)
{
	double most[TABLE_COLUMNS_MAX] = {0};
	bool has_any[TABLE_COLUMNS_MAX] = {0};
	size_t nr = 0, i, k;
	struct row row;

	for (i = 0; i < shown->table->nr_rows; i++) {
		if (!shown_table_read(shown, i, &row) || row.kind == ROW_BLANK)
			continue;
		for (k = 0; k < shown->nr; k++) {
			struct shown_column *column = &shown->columns[k];
			const struct cell *cell = &row.cells[column->number];

			has_any[k] |= !is_empty(cell);
			column->is_number |= is_numeric(cell->kind);
			most[k] = fmax(most[k], fabs(number_of(cell)));
		}
	}
	choose_units(shown, most);
	for (k = 0; k < shown->nr; k++)
		if (has_any[k] || !(shown->columns[k].is->flags & COLUMN_OPTIONAL))
			shown->columns[nr++] = shown->columns[k];
	shown->nr = nr;
}

void shown_table_init(struct shown_table *shown, const struct table *table, enum media medium,
		      bool ascii, bool is_narrow)
{
	size_t i;

	*shown = (struct shown_table){.table = table, .medium = medium, .ascii = ascii};
	for (i = 0; i < table->nr_columns && i < TABLE_COLUMNS_MAX; i++) {
		const struct column *column = &table->columns[i];

		if (is_shown(column, medium, is_narrow))
			shown->columns[shown->nr++] = (struct shown_column){
				.is = column,
				.number = i,
				.is_number =
					column->unit != UNIT_NONE || column->flags & COLUMN_NUMBER,
			};
	}
	if (medium & MEDIA_PEOPLE)
		look_at_rows(shown);
}

bool shown_table_read(const struct shown_table *shown, size_t number, struct row *row)
{
	const struct table *table = shown->table;
	size_t i;

	for (i = 0; i < table->nr_columns && i < TABLE_COLUMNS_MAX; i++)
		row->cells[i] = (struct cell){.kind = CELL_NONE};
	row->kind = ROW_PLAIN;
	row->tone = TONE_NONE;
	row->level = 0;
	row->is_fork = row->has_more = false;
	table->read_row(table->context, number, row);
	switch (row->kind) {
	case ROW_PLAIN:
		return true;
	case ROW_REST:
		return shown->medium & MEDIA_PEOPLE;
	case ROW_BLANK:
		return shown->medium == MEDIA_TEXT;
	case ROW_HIDDEN:
		return shown->medium & MEDIA_PROGRAMS;
	}
	return false;
}

static void read_figure(const void *context, size_t number, struct row *row)
{
	const struct block *figure = context;

	row->cells[0] = figure->cell;
}

struct table figure_table(const struct block *figure)
{
	return (struct table){
		.columns = &figure->column,
		.nr_columns = 1,
		.nr_rows = 1,
		.read_row = read_figure,
		.context = figure,
	};
}

const char *shown_heading(const struct shown_column *column, char buffer[CELL_BYTES])
{
	if (!column->unit)
		return column->is->heading;
	(void)snprintf(buffer, CELL_BYTES, "%s(%s)", column->is->heading, column->unit->name);
	return buffer;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Returns the number of decimals that are meaningful for this error and fit into seven columns. */
static int digits_of(const struct column *column, double size, double error)
{
	int digits = (int)column->decimals;

	if (!(column->flags & COLUMN_ERROR) && error <= 0)
		return digits;
	if (size >= 1000)
		return size < 10000 ? 1 : 0;
	if (error >= 0.01 || error <= 0 || size >= 100)
		return digits;
	return error >= 0.001 || size >= 10 ? digits + 1 : digits + 2;
}

static void real_text(const struct column *column, double real, double error, char *buffer)
{
	bool has_sign = column->flags & COLUMN_SIGNED;
	bool has_error = column->flags & COLUMN_ERROR || error > 0;
	const char *percent = column->unit == UNIT_PERCENT && !has_sign ? "%" : "";
	int digits = digits_of(column, fabs(real), error);

	if (fabs(real) >= (has_error ? 1e6 : 1e15))
		(void)snprintf(buffer, CELL_BYTES, has_sign ? "%+.1e%s" : "%.1e%s", real, percent);
	else
		(void)snprintf(buffer, CELL_BYTES, has_sign ? "%+.*f%s" : "%.*f%s", digits, real,
			       percent);
}

static void count_text(const struct column *column, uint64_t count, char *buffer)
{
	if (column->unit == UNIT_COUNT)
		(void)number_commas(buffer, count);
	else
		(void)snprintf(buffer, CELL_BYTES, "%" PRIu64, count);
}

static void integer_text(const struct column *column, int64_t integer, char *buffer)
{
	uint64_t size = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;

	if (integer < 0)
		*buffer++ = '-';
	else if (column->flags & COLUMN_SIGNED)
		*buffer++ = '+';
	if (column->unit == UNIT_COUNT)
		(void)number_commas(buffer, size);
	else
		(void)snprintf(buffer, CELL_BYTES - 1, "%" PRIu64, size);
}

const char *shown_text(const struct shown_column *column, const struct cell *cell,
		       char buffer[CELL_BYTES])
{
	*buffer = '\0';
	if (column->unit && is_numeric(cell->kind)) {
		(void)snprintf(buffer, CELL_BYTES, column->unit->ns > 1 ? "%.3f" : "%.0f",
			       number_of(cell) / column->unit->ns);
		return buffer;
	}
	switch (cell->kind) {
	case CELL_TEXT:
		return cell->text;
	case CELL_COUNT:
		count_text(column->is, cell->count, buffer);
		break;
	case CELL_INTEGER:
		integer_text(column->is, cell->integer, buffer);
		break;
	case CELL_REAL:
		real_text(column->is, cell->real, cell->error, buffer);
		break;
	case CELL_BOOL:
		return cell->truth ? "yes" : "no";
	case CELL_NONE:
	case CELL_PATH:
	case CELL_HISTOGRAM:
		break;
	}
	return buffer;
}

bool shown_error(const struct shown_column *column, const struct cell *cell, int columns,
		 char buffer[CELL_BYTES])
{
	double error = cell->error;

	if (!(column->is->flags & COLUMN_ERROR) || cell->kind != CELL_REAL)
		return false;
	if (error < 1e6)
		(void)snprintf(buffer, CELL_BYTES, "%*.*f", columns,
			       digits_of(column->is, error, error), error);
	else
		(void)snprintf(buffer, CELL_BYTES, "%*.1e", columns, error);
	return true;
}

bool is_plain_number(const char *text)
{
	size_t nr;

	text += *text == '-';
	nr = strspn(text, "0123456789");
	if (!nr || (nr > 1 && *text == '0'))
		return false;
	if (text[nr] != '.')
		return !text[nr];
	text += nr + 1;
	nr = strspn(text, "0123456789");
	return nr && !text[nr];
}

/* --- words ------------------------------------------------------------------------------------ */

const char *ascii_of(const char *text)
{
	static const struct {
		const char *character, *ascii;
	} table[] = {{"…", ".."}, {"±", "+-"}, {"›", ">"}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (text_starts_with(text, table[i].character))
			return table[i].ascii;
	return NULL;
}

void shown_write_words(FILE *out, const char *text, bool ascii)
{
	while (*text) {
		const char *other = ascii ? ascii_of(text) : NULL;
		size_t bytes = text_character(text);

		if (other)
			(void)fputs(other, out);
		else if (bytes)
			(void)fwrite(text, 1, bytes, out);
		else
			(void)putc('?', out);
		text += bytes ? bytes : 1;
	}
}

/* --- histograms ------------------------------------------------------------------------------- */

#define BAR_COLUMNS   40
#define TITLE_COLUMNS 19

/* Returns the part of a column's name after the dot, which identifies it in a caption. */
static const char *label_of(const struct column *column)
{
	const char *dot = column->name ? strchr(column->name, '.') : NULL;

	if (dot)
		return dot + 1;
	return column->name ? column->name : column->heading;
}

bool shown_has_histograms(const struct shown_table *shown)
{
	size_t i;

	for (i = 0; i < shown->nr; i++)
		if (shown->columns[i].is->flags & COLUMN_HISTOGRAM)
			return true;
	return false;
}

const struct histogram *shown_histogram(const struct shown_table *shown, const struct row *row)
{
	size_t i;

	for (i = 0; i < shown->nr; i++)
		if (row->cells[shown->columns[i].number].kind == CELL_HISTOGRAM)
			return row->cells[shown->columns[i].number].histogram;
	return NULL;
}

void shown_write_caption(const struct shown_table *shown, const struct row *row,
			 void (*write_text)(FILE *out, const char *text, bool is_name, bool ascii),
			 FILE *out)
{
	bool is_first = true, in_keys = true;
	char buffer[CELL_BYTES];
	size_t i;

	for (i = 0; i < shown->nr; i++) {
		const struct shown_column *column = &shown->columns[i];
		const struct cell *cell = &row->cells[column->number];
		bool is_key = column->is->flags & (COLUMN_NAME | COLUMN_VERBATIM);
		bool is_name = cell->kind == CELL_TEXT && column->is->flags & COLUMN_NAME;

		if (column->is->flags & COLUMN_HISTOGRAM)
			continue;
		(void)fputs(is_first ? "" : (in_keys && !is_key ? ": " : ", "), out);
		write_text(out, label_of(column->is), false, shown->ascii);
		(void)putc(' ', out);
		write_text(out, shown_text(column, cell, buffer), is_name, shown->ascii);
		if (column->unit)
			(void)fprintf(out, " %s", column->unit->name);
		is_first = false;
		in_keys = in_keys && is_key;
	}
	(void)putc('\n', out);
}

/* A non-zero count gets at least one star. */
static size_t stars(uint64_t count, uint64_t most)
{
	size_t nr = (size_t)((double)count / (double)most * BAR_COLUMNS);

	return count && !nr ? 1 : nr;
}

static const char *end_text(int64_t end, int64_t none, const char *beyond, char buffer[CELL_BYTES])
{
	if (end == none)
		return beyond;
	(void)snprintf(buffer, CELL_BYTES, "%" PRId64, end);
	return buffer;
}

static void write_bar(const struct histogram *histogram, size_t i, uint64_t most, FILE *out)
{
	static const char bar[] = "****************************************";
	const struct histogram_range *range = &histogram->ranges[i];
	char from[CELL_BYTES], to[CELL_BYTES];

	(void)fprintf(out, "%10s -> %-10s : %-8" PRIu64 " |%-*.*s|\n",
		      end_text(range->from, INT64_MIN, "less", from),
		      end_text(range->to, INT64_MAX, "more", to), histogram->counts[i], BAR_COLUMNS,
		      (int)stars(histogram->counts[i], most), bar);
}

/* Empty buckets at both ends are omitted. */
void shown_write_histogram(const struct histogram *histogram, const char *indent, FILE *out)
{
	size_t first = 0, last = 0, columns, i;
	uint64_t most = 0;

	for (i = 0; i < histogram->nr; i++) {
		if (!histogram->counts[i])
			continue;
		first = most ? first : i;
		last = i;
		most = histogram->counts[i] > most ? histogram->counts[i] : most;
	}
	(void)fprintf(out, "%s     ", indent);
	columns = text_write_columns(out, histogram->title ? histogram->title : "", TITLE_COLUMNS,
				     "~");
	text_pad(out, TITLE_COLUMNS - columns);
	(void)fputs(" : count     distribution\n", out);
	for (i = first; i <= last && most; i++) {
		(void)fputs(indent, out);
		write_bar(histogram, i, most, out);
	}
}
