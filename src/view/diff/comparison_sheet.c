/*
 * The sheet of a comparison, in text:
 *
 *	before  old.pb.gz  10,012 samples  20.0 s
 *	after   new.pb.gz  9,988 samples  20.0 s
 *
 *	  BEFORE    AFTER          CHANGE  SIGMA     REL  FUNCTION, SELF  MODULE
 *	  12.34%   15.01%  +2.67 ±   0.48   5.55    +22%  crc64           redis-server
 *	   1.02%    0.00%  -1.02 ±   0.10  10.14    GONE  sdsfree         redis-server
 *	  86.64%   84.99%  -1.65 ±   0.48             -2%  … 1,204 others, within noise:
 *	   3.01%    3.45%  +0.44 ±   0.25   1.75    +15%  memcpy          libc.so.6
 *
 *	  BEFORE    AFTER          CHANGE  SIGMA     REL  CALL PATH
 *	  80.10%   84.02%  +3.92 ±   0.55   7.13     +5%  … › processCommand › call
 *	  10.02%   13.97%  +3.95 ±   0.45   8.78    +39%  ├ setCommand › crc64
 *	   0.00%    1.02%  +1.02 ±   0.10  10.20     NEW  └ freeObject
 *
 * Shares are in percent, changes in percentage points; rates are counts per second. Rows within
 * noise are below a line with their sum. SIGMA decides if a row changed: it is the significance,
 * assuming no change; the error after `±` is the uncertainty of the difference. With few samples,
 * SIGMA is not simply change / error.
 *
 * A line of the tree is a path down through callers without a change of their own; its numbers are
 * its last function's. People see the rows that changed, programs all rows.
 */
#include "view/diff/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/amount.h"
#include "view/table.h"

#define DOUBTFUL_ROWS 5	    /* rows shown of the ones within noise */
#define PATH_FRAMES   6	    /* the last frames of a path, in Markdown */
#define MAX_SIGMA     1000  /* larger ones are printed with an exponent */
#define MAX_PERCENT   10000 /* larger relative changes are printed as a factor */
#define SUM_BYTES     64
#define SIGMA_BYTES   16

/* Rows of the text that are sums of others. */
#define SUM_OF_CHANGED	UINT32_MAX
#define SUM_OF_DOUBTFUL (UINT32_MAX - 1)

struct sum {
	struct difference is;
	char text[SUM_BYTES];
};

/* The comparison and the data of rows; owned by the sheet. */
struct shown {
	struct comparison comparison;
	uint32_t *rows; /* rows of the text: numbers, or SUM_… */
	size_t nr_rows, nr_changed;
	struct sum changed, doubtful;
	const char **names; /* buffer for the names of a path, root first */
	struct column row_columns[8], path_columns[8];
};

static void shown_free(void *context)
{
	struct shown *shown = context;

	comparison_clear(&shown->comparison);
	free(shown->rows);
	free(shown->names);
	free(shown);
}

/* --- for people: numbers ---------------------------------------------------------------------- */

enum people_column { BEFORE, AFTER, CHANGE, SIGMA, RELATIVE, NR_NUMBERS };

static const struct column number_columns[NR_NUMBERS] = {
	[BEFORE] = {.heading = "BEFORE", .decimals = 2, .least_width = 8},
	[AFTER] = {.heading = "AFTER", .decimals = 2, .least_width = 8, .gap = 1},
	[CHANGE] = {.heading = "CHANGE", .flags = COLUMN_SIGNED | COLUMN_ERROR, .decimals = 2},
	[SIGMA] = {.heading = "SIGMA",
		   .flags = COLUMN_NUMBER,
		   .decimals = 2,
		   .least_width = 6,
		   .gap = 1},
	[RELATIVE] = {.heading = "REL",
		      .flags = COLUMN_NUMBER | COLUMN_ROOMY,
		      .least_width = 7,
		      .gap = 1},
};

static void copy_numbers(const struct difference_scale *scale, struct column *ret)
{
	size_t i;

	memcpy(ret, number_columns, sizeof(number_columns));
	for (i = BEFORE; i <= CHANGE; i++)
		ret[i].unit = scale->by_time ? UNIT_NONE : UNIT_PERCENT;
}

/* A share in percent, or a rate. */
static double shown_number(const struct difference_scale *scale, double number)
{
	return scale->by_time ? number : 100 * number;
}

static struct cell number_cell(const struct difference_scale *scale, double number, double error)
{
	struct cell cell = cell_real(shown_number(scale, number));

	cell.error = shown_number(scale, error);
	return cell;
}

static const char *relative(const struct difference *is, char *buffer, size_t bytes)
{
	double percent;

	if (is->before <= 0)
		return is->after > 0 ? "NEW" : "";
	if (is->after <= 0)
		return "GONE";
	percent = 100 * is->change / is->before;
	if (percent < MAX_PERCENT)
		(void)snprintf(buffer, bytes, "%+.0f%%", percent);
	else
		(void)snprintf(buffer, bytes, "x%.0f", is->after / is->before);
	return buffer;
}

static void read_numbers(const struct difference_scale *scale, const struct difference *is,
			 struct row *row)
{
	static const enum tone tones[] = {
		[CHANGE_NONE] = TONE_DOUBTFUL, [CHANGE_MORE] = TONE_MORE, [CHANGE_LESS] = TONE_LESS,
		[CHANGE_NEW] = TONE_NEW,       [CHANGE_GONE] = TONE_GONE,
	};
	char *rest = row->scratch + SIGMA_BYTES;

	row->tone = tones[is->kind];
	row->cells[BEFORE] = number_cell(scale, is->before, is->error);
	row->cells[AFTER] = number_cell(scale, is->after, is->error);
	row->cells[CHANGE] = number_cell(scale, is->change, is->error);
	row->cells[SIGMA] = cell_real(is->sigma);
	if (is->sigma >= MAX_SIGMA) {
		(void)snprintf(row->scratch, SIGMA_BYTES, "%.0e", is->sigma);
		row->cells[SIGMA] = cell_text(row->scratch);
	}
	row->cells[RELATIVE] = cell_text(relative(is, rest, sizeof(row->scratch) - SIGMA_BYTES));
}

/* --- for people: rows ------------------------------------------------------------------------- */

/* Returns the module of a row of functions; NULL for other rows, or if not known. */
static const char *module_of(const struct comparison *comparison, const struct difference_row *row)
{
	if (comparison->style.group != DIFFERENCE_BY_FUNCTION || row->module == MODULE_NR_UNKNOWN)
		return NULL;
	return profile_module_name(comparison->profile, row->module);
}

static const struct difference *difference_at(const struct shown *shown, size_t row)
{
	const struct difference_rows *rows = &shown->comparison.rows;

	return &difference_rows_pair(rows, &rows->rows[row])->is;
}

static void read_shown_row(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;
	const struct difference_rows *rows = &shown->comparison.rows;
	uint32_t at = shown->rows[number];
	const struct sum *sum = at == SUM_OF_CHANGED	? &shown->changed
				: at == SUM_OF_DOUBTFUL ? &shown->doubtful
							: NULL;

	read_numbers(&rows->scale, sum ? &sum->is : difference_at(shown, at), row);
	if (sum) { /* no sigma: a sum is not tested */
		row->kind = ROW_REST;
		row->cells[SIGMA] = (struct cell){0};
		row->cells[NR_NUMBERS] = cell_text(sum->text);
		return;
	}
	row->cells[NR_NUMBERS] = cell_text(difference_rows_name(rows, &rows->rows[at]));
	row->cells[NR_NUMBERS + 1] = cell_text(module_of(&shown->comparison, &rows->rows[at]));
}

/* Adds a row with the sum of rows, by self: totals overlap, so their sum has no meaning. */
static void add_sum(struct shown *shown, uint32_t number, struct sum *sum, size_t first, size_t end,
		    const char *what)
{
	const struct difference_rows *rows = &shown->comparison.rows;
	char buffer[NUMBER_COMMAS_BYTES];
	uint64_t before = 0, after = 0;
	size_t i, nr = 0;

	for (i = first; i < end; i++) {
		const struct difference_pair *pair = difference_rows_pair(rows, &rows->rows[i]);

		before += rows->rows[i].self.before;
		after += rows->rows[i].self.after;
		nr += pair->before || pair->after;
	}
	if (!nr)
		return;
	sum->is = difference_of(&rows->scale, before, after);
	sum->is.kind = CHANGE_NONE;
	(void)snprintf(sum->text, sizeof(sum->text), "… %s %s", number_commas(buffer, nr), what);
	shown->rows[shown->nr_rows++] = number;
}

/* Rows that changed, then a few of the others. */
static int choose_rows(struct shown *shown)
{
	const struct difference_rows *rows = &shown->comparison.rows;
	size_t most = shown->comparison.style.max_rows, nr_changed = 0, i;

	while (nr_changed < rows->nr && difference_at(shown, nr_changed)->kind != CHANGE_NONE)
		nr_changed++;
	shown->nr_changed = nr_changed < most ? nr_changed : most;
	shown->rows = calloc(shown->nr_changed + 2 + DOUBTFUL_ROWS, sizeof(*shown->rows));
	if (!shown->rows)
		return -ENOMEM;
	for (i = 0; i < shown->nr_changed; i++)
		shown->rows[shown->nr_rows++] = (uint32_t)i;
	add_sum(shown, SUM_OF_CHANGED, &shown->changed, shown->nr_changed, nr_changed,
		"more changed");
	add_sum(shown, SUM_OF_DOUBTFUL, &shown->doubtful, nr_changed, rows->nr,
		"others, within noise:");
	for (i = nr_changed; i < rows->nr && i < nr_changed + DOUBTFUL_ROWS; i++)
		if (difference_at(shown, i)->change != 0)
			shown->rows[shown->nr_rows++] = (uint32_t)i;
	return 0;
}

static const char *heading_of(const struct comparison_style *style)
{
	bool is_total = style->order == DIFFERENCE_TOTAL;

	switch (style->group) {
	case DIFFERENCE_BY_MODULE:
		return is_total ? "MODULE, TOTAL" : "MODULE, SELF";
	case DIFFERENCE_BY_COMM:
		return "THREADS";
	case DIFFERENCE_BY_FUNCTION:
		break;
	}
	return is_total ? "FUNCTION, TOTAL" : "FUNCTION, SELF";
}

static int add_rows(struct sheet *sheet, struct shown *shown)
{
	struct column *columns = shown->row_columns;
	struct table table = {
		.columns = columns,
		.nr_columns = NR_NUMBERS + 2,
		.read_row = read_shown_row,
		.context = shown,
	};

	if (choose_rows(shown) < 0)
		return -ENOMEM;
	copy_numbers(&shown->comparison.rows.scale, columns);
	columns[NR_NUMBERS] = (struct column){.heading = heading_of(&shown->comparison.style),
					      .flags = COLUMN_NAME | COLUMN_MAIN};
	columns[NR_NUMBERS + 1] = (struct column){
		.heading = "MODULE", .flags = COLUMN_NAME | COLUMN_OPTIONAL, .media = MEDIA_TEXT};
	table.nr_rows = shown->nr_rows;
	sheet_add_table(sheet, MEDIA_TEXT, &table);
	table.nr_rows = shown->nr_changed;
	if (table.nr_rows) {
		sheet_add_table(sheet, MEDIA_MARKDOWN, &table);
	} else {
		sheet_add_line(sheet, MEDIA_MARKDOWN, LINE_PLAIN);
		sheet_add_words(sheet, "No significant change: all are within noise.");
	}
	return 0;
}

/* --- for people: call paths ------------------------------------------------------------------- */

/* Writes the names from the root down to a node to shown->names. Returns how many. */
static size_t name_path(const struct shown *shown, uint32_t node)
{
	const struct difference_paths *paths = &shown->comparison.paths;
	size_t nr = paths->nodes.nodes[node].depth, i;

	for (i = nr; i--; node = paths->parents[node])
		shown->names[i] =
			named_stacks_word(&shown->comparison.stacks, paths->nodes.nodes[node].word);
	return nr;
}

/* Makes a cell of the last `most` of nr names. */
static struct cell path_cell(const struct shown *shown, size_t nr, size_t most)
{
	size_t first = nr > most ? nr - most : 0;

	return (struct cell){
		.kind = CELL_PATH,
		.path = {.texts = shown->names + first, .nr = nr - first, .is_cut = first > 0},
	};
}

/* In text, a line continues the path of the line above it; Markdown has no levels. */
static void read_shown_path(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;
	const struct difference_paths *paths = &shown->comparison.paths;
	const struct difference_line *line = &paths->lines[number];
	size_t nr = name_path(shown, line->last);
	struct cell *cells = &row->cells[NR_NUMBERS];

	read_numbers(&paths->scale, &line->pair.is, row);
	row->level = line->level;
	row->is_fork = line->level > 0;
	row->has_more = line->has_more;
	cells[0] = path_cell(shown, nr, nr + 1 - paths->nodes.nodes[line->first].depth);
	cells[0].path.is_cut = false;
	cells[1] = path_cell(shown, nr, PATH_FRAMES);
	if (line->is_rest) {
		cells[0] = cell_text("(the rest)");
		cells[2] = cell_text("without the paths below it");
	}
}

static void add_paths(struct sheet *sheet, struct shown *shown)
{
	const struct difference_paths *paths = &shown->comparison.paths;
	struct column *columns = shown->path_columns;
	const struct table table = {
		.columns = columns,
		.nr_columns = NR_NUMBERS + 3,
		.nr_rows = paths->nr,
		.read_row = read_shown_path,
		.context = shown,
	};

	copy_numbers(&paths->scale, columns);
	columns[NR_NUMBERS] = (struct column){.heading = "CALL PATH",
					      .flags = COLUMN_NAME | COLUMN_MAIN | COLUMN_TREE,
					      .media = MEDIA_TEXT};
	columns[NR_NUMBERS + 1] = (struct column){
		.heading = "CALL PATH", .flags = COLUMN_NAME, .media = MEDIA_MARKDOWN};
	columns[NR_NUMBERS + 2] =
		(struct column){.heading = "", .flags = COLUMN_OPTIONAL, .media = MEDIA_MARKDOWN};
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	if (paths->nr) {
		sheet_add_table(sheet, MEDIA_PEOPLE, &table);
	} else {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet,
				"No significant change of a call path: all are within noise.");
	}
	if (paths->least_change > 0) {
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "Changes below %.2g%s are left out.",
				shown_number(&paths->scale, paths->least_change),
				paths->scale.by_time ? " per second" : "%");
	}
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

/* --- for people: head and foot ---------------------------------------------------------------- */

static void add_side(struct sheet *sheet, const struct profile *profile, const char *side,
		     const char *name, double all, double seconds)
{
	char total[AMOUNT_BYTES], buffer[AMOUNT_COUNTED_BYTES];
	const char *counted = amount_counted(profile, (uint64_t)all, buffer);

	(void)amount_total(profile, (uint64_t)all, total);
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_words(sheet, "%-6s  ", side);
	if (name) {
		sheet_add_name(sheet, name);
		sheet_add_words(sheet, "  ");
	}
	sheet_add_words(sheet, "%s%s", total, counted);
	if (seconds > 0)
		sheet_add_words(sheet, "  %.1f s", seconds);
	sheet_add_line(sheet, MEDIA_MARKDOWN, LINE_BULLET);
	sheet_add_words(sheet, "%s: ", side);
	if (name) {
		sheet_add_name(sheet, name);
		sheet_add_words(sheet, ", ");
	}
	sheet_add_words(sheet, "%s%s", total, counted);
}

static void add_head(struct sheet *sheet, const struct comparison *comparison)
{
	const struct comparison_style *style = &comparison->style;

	add_side(sheet, comparison->profile, "before", style->before_name,
		 comparison->scale.before_all, style->before_seconds);
	add_side(sheet, comparison->profile, "after", style->after_name,
		 comparison->scale.after_all, style->after_seconds);
	if (comparison->scale.by_time) {
		sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
		sheet_add_words(sheet, "Compared by time: numbers are per second.");
	}
	if (style->note) {
		sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
		sheet_add_words(sheet, "%s", style->note);
	}
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
}

/* Explains errors, sigma, and the threshold for changes. */
static void add_foot(struct sheet *sheet, const struct comparison *comparison)
{
	const struct difference_spread *spread = &comparison->spread;
	const struct difference_rows *rows = &comparison->rows;
	double least = rows->scale.least_sigma;

	sheet_add_line(sheet, MEDIA_TEXT, LINE_ROOMY);
	sheet_add_words(sheet, "±: uncertainty of the change, one standard deviation.");
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_words(sheet, "SIGMA: significance of the change, in standard deviations,");
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	if (spread->freedom > 0)
		sheet_add_words(sheet, "with the variance measured over %zu and %zu %s.",
				spread->nr_before, spread->nr_after,
				spread->parts_are_slices ? "time slices" : "files");
	else
		sheet_add_words(sheet, "for sampling noise only: runs vary more than that.");
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	sheet_add_words(sheet, "Listed as changed if SIGMA >= %.2f", least);
	if (comparison->style.sigma > 0) {
		sheet_add_words(sheet, ":");
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "about %.2g false positives among %.0f comparisons.",
				rows->nr_tests * difference_chance_of_sigma(least), rows->nr_tests);
	} else {
		sheet_add_words(sheet, " (call paths: %.2f):", comparison->paths.scale.least_sigma);
		sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
		sheet_add_words(sheet, "%g%% confidence that none of them is noise (family-wise).",
				comparison->style.confidence);
	}
}

/* --- for programs ----------------------------------------------------------------------------- */

#define PAIR_COLUMNS(of, number)                                                               \
	{of "before"}, {of "after"}, {of "before_" number, .precise = 9, .significant = true}, \
		{of "after_" number, .precise = 9, .significant = true},                       \
		{of "change", .precise = 9, .significant = true},                              \
		{of "error", .precise = 6, .significant = true},                               \
		{of "sigma", .precise = 4, .significant = true},                               \
	{                                                                                      \
		of "kind"                                                                      \
	}
#define NR_PAIR_COLUMNS 8
#define ROW_COLUMNS(number)                                               \
	{"name", .flags = COLUMN_NAME}, {"module", .flags = COLUMN_NAME}, \
		PAIR_COLUMNS("self.", number), PAIR_COLUMNS("total.", number)
#define PATH_COLUMNS(number) {"path", .flags = COLUMN_NAME}, {"besides"}, PAIR_COLUMNS("", number)

/* By shares, and by time. */
static const struct column row_columns[2][2 + 2 * NR_PAIR_COLUMNS] = {{ROW_COLUMNS("share")},
								      {ROW_COLUMNS("rate")}};
static const struct column path_columns[2][2 + NR_PAIR_COLUMNS] = {{PATH_COLUMNS("share")},
								   {PATH_COLUMNS("rate")}};

static void read_pair(const struct difference_pair *pair, struct cell cells[NR_PAIR_COLUMNS])
{
	static const char *const kinds[] = {
		[CHANGE_NONE] = NULL, [CHANGE_MORE] = "more", [CHANGE_LESS] = "less",
		[CHANGE_NEW] = "new", [CHANGE_GONE] = "gone",
	};

	cells[0] = cell_count(pair->before);
	cells[1] = cell_count(pair->after);
	cells[2] = cell_real(pair->is.before);
	cells[3] = cell_real(pair->is.after);
	cells[4] = cell_real(pair->is.change);
	cells[5] = cell_real(pair->is.error);
	cells[6] = cell_real(pair->is.sigma);
	cells[7] = cell_text(kinds[pair->is.kind]);
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct comparison *comparison = &((const struct shown *)context)->comparison;
	const struct difference_row *from = &comparison->rows.rows[number];

	row->cells[0] = cell_text(difference_rows_name(&comparison->rows, from));
	row->cells[1] = cell_text(module_of(comparison, from));
	read_pair(&from->self, &row->cells[2]);
	read_pair(&from->total, &row->cells[2 + NR_PAIR_COLUMNS]);
}

static void read_path(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;
	const struct difference_line *line = &shown->comparison.paths.lines[number];

	row->cells[0] = path_cell(shown, name_path(shown, line->last), SIZE_MAX);
	row->cells[1] = cell_bool(line->is_rest);
	read_pair(&line->pair, &row->cells[2]);
}

static void add_figure(struct sheet *sheet, const char *name, unsigned precise, struct cell cell)
{
	const struct column column = {name, .precise = precise, .significant = precise > 0};

	sheet_add_figure(sheet, MEDIA_JSON, &column, cell);
}

static void add_for_programs(struct sheet *sheet, const struct shown *shown)
{
	const struct comparison *comparison = &shown->comparison;
	const struct comparison_style *style = &comparison->style;
	const struct difference_scale *scale = &comparison->scale;
	const struct cell unknown = {0};
	const struct table rows = {
		.name = "rows",
		.columns = row_columns[scale->by_time],
		.nr_columns = ARRAY_SIZE(row_columns[0]),
		.nr_rows = comparison->rows.nr,
		.read_row = read_row,
		.context = shown,
	};
	const struct table paths = {
		.name = "paths",
		.columns = path_columns[scale->by_time],
		.nr_columns = ARRAY_SIZE(path_columns[0]),
		.nr_rows = comparison->paths.nr,
		.read_row = read_path,
		.context = shown,
	};

	add_figure(sheet, "before.name", 0, cell_text(style->before_name));
	add_figure(sheet, "before.count", 0, cell_count((uint64_t)scale->before_all));
	add_figure(sheet, "before.seconds", 9,
		   style->before_seconds > 0 ? cell_real(style->before_seconds) : unknown);
	add_figure(sheet, "after.name", 0, cell_text(style->after_name));
	add_figure(sheet, "after.count", 0, cell_count((uint64_t)scale->after_all));
	add_figure(sheet, "after.seconds", 9,
		   style->after_seconds > 0 ? cell_real(style->after_seconds) : unknown);
	add_figure(sheet, "by_time", 0, cell_bool(scale->by_time));
	add_figure(sheet, "least_sigma", 4, cell_real(comparison->rows.scale.least_sigma));
	add_figure(sheet, "paths_least_sigma", 4, cell_real(comparison->paths.scale.least_sigma));
	add_figure(sheet, "comparisons", 0, cell_real(comparison->rows.nr_tests));
	add_figure(sheet, "dispersion", 4, cell_real(comparison->spread.all.self));
	add_figure(sheet, "note", 0, cell_text(style->note));
	sheet_add_table(sheet, MEDIA_PROGRAMS, &rows);
	sheet_add_table(sheet, MEDIA_JSON, &paths);
}

/* --- all of it -------------------------------------------------------------------------------- */

int comparison_sheet_fill(struct sheet *sheet, const struct profile *profile,
			  const struct comparison_style *style)
{
	struct shown *shown = calloc(1, sizeof(*shown));
	int err;

	if (!shown || sheet_keep(sheet, shown, shown_free) < 0)
		return -ENOMEM;
	err = comparison_init(&shown->comparison, profile, style);
	if (err)
		return err;
	shown->names =
		calloc((size_t)shown->comparison.paths.nodes.nr_depths + 1, sizeof(*shown->names));
	if (!shown->names)
		return -ENOMEM;
	add_head(sheet, &shown->comparison);
	if (add_rows(sheet, shown) < 0)
		return -ENOMEM;
	add_paths(sheet, shown);
	add_foot(sheet, &shown->comparison);
	add_for_programs(sheet, shown);
	return sheet_status(sheet);
}
