/*
 * Rows of hits: sorting, selection and columns. A key has a column for people, which says why a
 * value is missing, and one or two for programs, which have null instead.
 */
#include "view/hits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"

/* --- keys ------------------------------------------------------------------------------------ */

#define UNREADABLE "[unreadable]"
#define NO_KEY	   "-"

/* Plain words in capitals, as in bcc's tables; expressions unchanged. */
static void make_heading(char *heading)
{
	size_t i;

	for (i = 0; heading[i]; i++)
		if (!isalnum((unsigned char)heading[i]))
			return;
	for (i = 0; heading[i]; i++)
		heading[i] = (char)toupper((unsigned char)heading[i]);
}

void row_keys_add(struct row_keys *keys, const char *name, bool is_number)
{
	struct row_key *key = &keys->keys[keys->nr];

	if (keys->nr == ROW_KEYS_MAX)
		return;
	(void)snprintf(key->name, sizeof(key->name), "%s", name);
	(void)snprintf(key->nested, sizeof(key->nested), "key.%s", name);
	(void)snprintf(key->heading, sizeof(key->heading), "%s", name);
	make_heading(key->heading);
	key->is_number = is_number;
	keys->nr++;
}

#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_cells(const struct cell *a, const struct cell *b)
{
	if (a->kind == CELL_NONE || b->kind == CELL_NONE)
		return (a->kind != CELL_NONE) - (b->kind != CELL_NONE);
	switch (a->kind) {
	case CELL_INTEGER:
		return THREE_WAY(a->integer, b->integer);
	case CELL_COUNT:
		return THREE_WAY(a->count, b->count);
	default:
		return strcmp(a->text, b->text);
	}
}

/* Compares the key cells of two rows: numbers by value, unreadable values first. */
static int compare_keys(const struct cell *a, const struct cell *b, size_t nr)
{
	int difference = 0;
	size_t i;

	for (i = 0; i < nr && !difference; i++)
		difference = compare_cells(&a[i], &b[i]);
	return difference;
}

/*
 * Makes the columns of the keys, which point into *keys; returns how many. is_nested: JSON has the
 * keys in an object "key".
 */
static size_t make_key_columns(const struct row_keys *keys, bool is_nested, struct column *ret)
{
	size_t nr = 0, i;

	for (i = 0; i < keys->nr; i++) {
		const struct row_key *key = &keys->keys[i];
		bool is_word = strcmp(key->name, key->heading) != 0;

		ret[nr++] = (struct column){
			.name = key->name,
			.heading = key->heading,
			.flags = COLUMN_NAME | (key->is_number ? COLUMN_NUMBER : 0) |
				 (is_word ? 0 : COLUMN_VERBATIM),
			.media = MEDIA_PEOPLE,
		};
		ret[nr++] = (struct column){
			.name = key->name,
			.flags = COLUMN_VERBATIM,
			.media = is_nested ? MEDIA_CSV : MEDIA_PROGRAMS,
		};
		if (is_nested)
			ret[nr++] = (struct column){.name = key->nested, .media = MEDIA_JSON};
	}
	return nr;
}

/*
 * Makes the cells for these columns. CELL_NONE in cells: unreadable; cells NULL: no value at all.
 */
static size_t make_key_cells(const struct row_keys *keys, bool is_nested, const struct cell *cells,
			     struct cell *ret)
{
	static const struct cell none;
	size_t nr = 0, i;

	for (i = 0; i < keys->nr; i++) {
		const struct cell *cell = cells ? &cells[i] : &none;

		ret[nr++] =
			cell->kind != CELL_NONE ? *cell : cell_text(cells ? UNREADABLE : NO_KEY);
		ret[nr++] = *cell;
		if (is_nested)
			ret[nr++] = *cell;
	}
	return nr;
}

/* --- calls ----------------------------------------------------------------------------------- */

static const char *const state_names[] = {
	[CALL_COUNTED] = "counted",
	[CALL_WAITING] = "waiting",
	[CALL_CUT] = "cut",
	[CALL_REFUSED] = "refused",
};

static int by_name(const void *a, const void *b)
{
	const struct call_row *left = a, *right = b;

	int difference = strcmp(left->label, right->label);

	if (difference || left->nr_keys != right->nr_keys)
		return difference ? difference : (left->nr_keys ? 1 : -1);
	return compare_keys(left->keys, right->keys, left->nr_keys);
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

void call_interval_choose(struct call_interval *interval, enum call_order order, size_t top)
{
	struct call_row *rows = interval->rows;
	size_t nr = 0, i;

	for (i = 0; i < interval->nr; i++)
		if (is_worth_showing(&rows[i]))
			rows[nr++] = rows[i];
	qsort(rows, nr, sizeof(*rows), order == CALL_BY_RATE ? by_rate : by_count);
	if (top && nr > top) {
		memmove(rows, rows + nr - top, top * sizeof(*rows));
		nr = top;
	}
	if (order == CALL_BY_NAME)
		qsort(rows, nr, sizeof(*rows), by_name);
	interval->nr = nr;
}

/* In the order of read_call(). */
static const struct column call_columns[] = {
	{NULL, "FUNC", .flags = COLUMN_NAME | COLUMN_OVERFLOWS, .least_width = 36},
	{"name"},
	{"detail"},
	{"return"},
	{"kind"},
	{"file"},
	{"count", "COUNT", .flags = COLUMN_NUMBER | COLUMN_OVERFLOWS, .least_width = 8, .gap = 1},
	{"per_second", "PER SECOND", .flags = COLUMN_NUMBER | COLUMN_OVERFLOWS, .decimals = 1,
	 .precise = 1, .least_width = 12, .gap = 1},
	{"state"},
	{"cut_per_second", .precise = 1},
	{"why"},
	{NULL, "NOTE", .flags = COLUMN_OPTIONAL},
};

#define PER_SECOND 7 /* index of the column that people see only with --rate */

static void read_call(const void *context, size_t number, struct row *row)
{
	const struct call_interval *interval = context;
	const struct call_row *call = &interval->rows[number];
	bool is_cut = call->state == CALL_CUT;
	const struct cell cells[] = {
		cell_text(call->label),
		cell_text(call->name),
		cell_text(call->detail),
		cell_bool(call->is_return),
		cell_text(call->kind),
		cell_text(call->file),
		cell_count(call->count),
		cell_real(call->per_second),
		cell_text(state_names[call->state]),
		is_cut ? cell_real(call->cut_per_second) : cell_text(NULL),
		cell_text(call->why),
		{.kind = is_cut ? CELL_TEXT : CELL_NONE, .text = row->scratch},
	};
	size_t nr_keys = 0;

	_Static_assert(ARRAY_SIZE(cells) == ARRAY_SIZE(call_columns), "a cell for each column");
	if (interval->keys)
		nr_keys = make_key_cells(interval->keys, false, call->keys, row->cells);
	memcpy(row->cells + nr_keys, cells, sizeof(cells));
	if (is_cut)
		(void)snprintf(row->scratch, sizeof(row->scratch), "detached at %.0f/s",
			       call->cut_per_second);
	else if (!call->count)
		row->kind = ROW_HIDDEN; /* refused: reported once, after the run */
}

void calls_sheet_fill(struct sheet *sheet, const struct call_interval *interval,
		      const struct call_style *style)
{
	static const struct column missed = {"missed"}, lost = {"lost"};
	struct table table = {
		.name = "functions",
		.nr_rows = interval->nr,
		.read_row = read_call,
		.context = interval,
		.never_cut = true,
	};
	struct column *columns = sheet_begin_interval(sheet, interval->time, interval->seconds,
						      MEDIA_PROGRAMS, style->timestamp);
	size_t nr_keys = 0;

	if (!columns)
		return;
	if (interval->keys)
		nr_keys = make_key_columns(interval->keys, false, columns);
	memcpy(columns + nr_keys, call_columns, sizeof(call_columns));
	if (!style->rate)
		columns[nr_keys + PER_SECOND].heading = NULL;
	table.columns = columns;
	table.nr_columns = nr_keys + ARRAY_SIZE(call_columns);
	sheet_add_figure(sheet, MEDIA_JSON, &missed,
			 interval->missed == UINT64_MAX ? cell_text(NULL)
							: cell_count(interval->missed));
	if (interval->keys)
		sheet_add_figure(sheet, MEDIA_JSON, &lost, cell_count(interval->lost));
	sheet_add_table(sheet, MEDIA_ALL, &table);
}

/* --- tallies --------------------------------------------------------------------------------- */

struct sorting {
	enum tally_order order;
	size_t nr_keys;
};

static double average(const struct tally_line *line)
{
	return line->count ? (double)line->sum / (double)line->count : 0;
}

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
		return THREE_WAY(average(a), average(b));
	case TALLY_BY_MAX:
		return THREE_WAY(a->most, b->most);
	case TALLY_BY_KEY:
		break;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct tally_line *left = a, *right = b;
	const struct sorting *sorting = context;
	int difference = compare_figures(left, right, sorting->order);

	return difference ? difference : compare_keys(left->keys, right->keys, sorting->nr_keys);
}

void tally_interval_choose(struct tally_interval *interval, enum tally_order order, size_t top)
{
	struct sorting sorting = {order == TALLY_BY_KEY ? TALLY_BY_COUNT : order,
				  interval->keys->nr};

	qsort_r(interval->lines, interval->nr_lines, sizeof(*interval->lines), compare_lines,
		&sorting);
	if (top && interval->nr_lines > top) {
		interval->lines += interval->nr_lines - top;
		interval->nr_lines = top;
	}
	sorting.order = order;
	if (order == TALLY_BY_KEY)
		qsort_r(interval->lines, interval->nr_lines, sizeof(*interval->lines),
			compare_lines, &sorting);
}

static void read_line(const void *context, size_t number, struct row *row)
{
	const struct tally_interval *interval = context;
	const struct tally_line *line = &interval->lines[number];
	struct cell *cell =
		row->cells + make_key_cells(interval->keys, true, line->keys, row->cells);

	*cell++ = cell_count(line->count);
	if (interval->value) {
		*cell++ = cell_integer(line->sum);
		*cell++ = cell_integer(line->least);
		*cell++ = cell_real(average(line));
		*cell++ = cell_integer(line->most);
		*cell++ = cell_real(average(line));
	}
	if (interval->has_histogram)
		*cell = (struct cell){.kind = CELL_HISTOGRAM, .histogram = &line->histogram};
}

/* The average comes before the maximum for people, after it for programs. */
static size_t make_tally_columns(const struct tally_interval *interval, struct column *columns)
{
	static const struct column values[] = {
		{"count", "COUNT"},
		{"sum", "SUM"},
		{"min", "MIN"},
		{"avg", "AVG", .media = MEDIA_PEOPLE, .decimals = 1},
		{"max", "MAX", .flags = COLUMN_SETS_UNIT},
		{"avg", .precise = 3},
	};
	size_t nr_values = interval->value ? ARRAY_SIZE(values) : 1;
	size_t nr = make_key_columns(interval->keys, true, columns), i;

	for (i = 0; i < nr_values; i++) {
		columns[nr] = values[i];
		columns[nr].flags |= COLUMN_NUMBER;
		columns[nr].unit = i && interval->is_time ? UNIT_NANOSECONDS : UNIT_NONE;
		columns[nr++].least_width = 8;
	}
	if (interval->has_histogram)
		columns[nr++] =
			(struct column){"histogram", "HISTOGRAM", .flags = COLUMN_HISTOGRAM};
	return nr;
}

void tally_sheet_fill(struct sheet *sheet, const struct tally_interval *interval, bool shows_time)
{
	static const struct column value = {"value"}, unit = {"unit"};
	struct table table = {
		.name = "rows",
		.nr_rows = interval->nr_lines,
		.read_row = read_line,
		.context = interval,
		.never_cut = true,
	};
	struct column *columns = sheet_begin_interval(sheet, interval->time, interval->seconds,
						      MEDIA_JSON, shows_time);
	size_t i;

	if (!columns)
		return;
	table.columns = columns;
	table.nr_columns = make_tally_columns(interval, columns);
	sheet_add_figure(sheet, MEDIA_JSON, &value, cell_text(interval->value));
	sheet_add_figure(sheet, MEDIA_JSON, &unit, cell_text(interval->unit));
	sheet_add_table(sheet, MEDIA_ALL, &table);
	for (i = 0; i < interval->nr_figures; i++) {
		const struct column figure = {interval->figure_names[i]};

		sheet_add_figure(sheet, MEDIA_JSON, &figure, cell_count(interval->figures[i]));
	}
}
