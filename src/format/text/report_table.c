/*
 * The table of functions, or of what else rows are:
 *
 *	 SELF  SAMPLES  TOTAL  FUNCTION             MODULE
 *	23.4%    2,889  45.1%  dictFind             redis-server
 *	11.0%    1,358  11.2%  copy_user_generic    [kernel]
 *	 9.3%    1,148         … 204 more
 *
 * and that of categories:
 *
 *	 SELF  SAMPLES  CATEGORY
 *	47.6%    5,876  network
 *
 * What stackcount counts are HITS; sums of a value, as its --weight makes them, are a SUM, of times
 * in a unit that the heading says.
 */
#include "format/text/report_table.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "view/amount.h"
#include "format/text/columns.h"
#include "format/text/report_percent.h"

#define HEADING_BYTES 16
#define GAP	      2 /* columns between two columns of the table */
#define LEAST_COLUMNS 8 /* for the text of each key, on average */

struct layout {
	const struct report_rows *rows;
	const struct report_options *options;
	FILE *out;
	size_t nr_rows;
	size_t count_columns;
	size_t columns[ARRAY_SIZE(((struct report_rows *)NULL)->keys)]; /* by number of the key */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static const char *capitals(const char *word, char buffer[HEADING_BYTES])
{
	size_t i;

	for (i = 0; word[i] && i < HEADING_BYTES - 1; i++)
		buffer[i] = (char)toupper((unsigned char)word[i]);
	buffer[i] = '\0';
	return buffer;
}

/* Of the column of counts. */
static const char *heading(const struct profile *profile, char buffer[HEADING_BYTES])
{
	return capitals(amount_heading(profile), buffer);
}

static const char *ellipsis(const struct layout *table)
{
	return table->options->ascii ? ".." : "…";
}

/* --- the widths of columns ------------------------------------------------------------------- */

static size_t wanted_columns(const struct layout *table, size_t key)
{
	size_t columns = strlen(report_rows_key_name(table->rows->keys[key]));
	char buffer[REPORT_CELL_BYTES];
	size_t i;

	for (i = 0; i < table->nr_rows; i++)
		columns = larger(columns, columns_of(report_rows_text(
						  table->rows, &table->rows->totals.groups[i],
						  table->rows->keys[key], buffer)));
	return columns;
}

/* The column that gets what others leave: functions, or else the first one. */
static size_t main_key(const struct report_rows *rows)
{
	size_t i;

	for (i = 0; i < rows->nr_keys; i++)
		if (rows->keys[i] == GROUP_FUNCTION)
			return i;
	return 0;
}

static size_t fixed_columns(const struct layout *table)
{
	size_t fixed = REPORT_PERCENT_COLUMNS + GAP + table->count_columns + GAP;

	if (table->rows->has_totals)
		fixed += REPORT_PERCENT_COLUMNS + GAP;
	return fixed + (table->rows->nr_keys - 1) * GAP;
}

/* What is no name: cutting it would tell nothing. */
static bool is_short(enum group_key key)
{
	return report_rows_key_is_number(key) || key == GROUP_KIND || key == GROUP_CATEGORY;
}

/* Gives columns of one kind what they want, but each no more than `share` of the room. */
static void give(struct layout *table, const size_t *wanted, bool shorts, size_t main, size_t share,
		 size_t *room)
{
	size_t i;

	for (i = 0; i < table->rows->nr_keys; i++) {
		if (i == main || is_short(table->rows->keys[i]) != shorts)
			continue;
		table->columns[i] = smaller(wanted[i], smaller(share, *room));
		*room -= table->columns[i];
	}
}

/*
 * The main column gets what names of others, a third or a half, leave; and what it leaves they get.
 * Of so many keys that nothing could be read in the width, lines are longer.
 */
static void lay_out(struct layout *table)
{
	const struct report_rows *rows = table->rows;
	size_t wanted[ARRAY_SIZE(table->columns)] = {0};
	size_t main = main_key(rows), nr_names = 0, fixed, least, room, i;
	char buffer[COLUMNS_NUMBER_BYTES], head[HEADING_BYTES];

	table->count_columns = larger(columns_of(amount_number(rows->profile, rows->total, buffer)),
				      columns_of(heading(rows->profile, head)));
	fixed = fixed_columns(table);
	least = rows->nr_keys * LEAST_COLUMNS;
	room = table->options->width > fixed + least ? table->options->width - fixed : least;
	for (i = 0; i < rows->nr_keys; i++) {
		wanted[i] = wanted_columns(table, i);
		nr_names += i != main && !is_short(rows->keys[i]);
	}
	give(table, wanted, true, main, room / 3, &room);
	give(table, wanted, false, main, nr_names > 1 ? room / 2 / nr_names : room / 3, &room);
	table->columns[main] = smaller(wanted[main], room);
	room -= table->columns[main];
	for (i = 0; i < rows->nr_keys; i++) {
		size_t more = smaller(wanted[i] - table->columns[i], room);

		table->columns[i] += more;
		room -= more;
	}
}

/* --- lines ----------------------------------------------------------------------------------- */

static void write_numbers(const struct layout *table, uint64_t self, bool color)
{
	char buffer[COLUMNS_NUMBER_BYTES];

	report_percent_write(table->out, report_rows_percent(table->rows, self), color);
	(void)fprintf(table->out, "  %*s  ", (int)table->count_columns,
		      amount_number(table->rows->profile, self, buffer));
}

/* Numbers stand to the right; behind the last column there is nothing. */
static void write_cell(const struct layout *table, size_t key, const char *text)
{
	size_t columns = table->columns[key];
	bool is_number = report_rows_key_is_number(table->rows->keys[key]);
	size_t needed = smaller(columns_of(text), columns);

	if (is_number)
		columns_pad(table->out, columns - needed);
	(void)columns_write(table->out, text, columns, ellipsis(table));
	if (key + 1 < table->rows->nr_keys)
		columns_pad(table->out, GAP + (is_number ? 0 : columns - needed));
}

static void write_headings(const struct layout *table)
{
	char head[HEADING_BYTES];
	size_t i;

	(void)fprintf(table->out, "%*s  %*s  ", REPORT_PERCENT_COLUMNS, "SELF",
		      (int)table->count_columns, heading(table->rows->profile, head));
	if (table->rows->has_totals)
		(void)fprintf(table->out, "%*s  ", REPORT_PERCENT_COLUMNS, "TOTAL");
	for (i = 0; i < table->rows->nr_keys; i++)
		write_cell(table, i, capitals(report_rows_key_name(table->rows->keys[i]), head));
	(void)putc('\n', table->out);
}

static void write_row(const struct layout *table, const struct group_total *group)
{
	char buffer[REPORT_CELL_BYTES];
	size_t i;

	write_numbers(table, group->self, table->options->color);
	if (table->rows->has_totals) {
		report_percent_write(table->out, report_rows_percent(table->rows, group->total),
				     table->options->color);
		columns_pad(table->out, GAP);
	}
	for (i = 0; i < table->rows->nr_keys; i++)
		write_cell(table, i,
			   report_rows_text(table->rows, group, table->rows->keys[i], buffer));
	(void)putc('\n', table->out);
}

/* A line about what is in no row. */
static void begin_rest(const struct layout *table, uint64_t count)
{
	write_numbers(table, count, false);
	if (table->rows->has_totals)
		columns_pad(table->out, REPORT_PERCENT_COLUMNS + GAP);
}

/* What the rows leave of 100 %. */
static void write_rest(const struct layout *table)
{
	const struct group_totals *totals = &table->rows->totals;
	uint64_t rest = 0;
	size_t nr = 0;
	size_t i;

	for (i = table->nr_rows; i < totals->nr; i++) {
		rest += totals->groups[i].self;
		nr += totals->groups[i].self != 0;
	}
	if (nr) {
		begin_rest(table, rest);
		(void)fprintf(table->out, "%s %zu more\n", ellipsis(table), nr);
	}
	if (totals->no_frames_count) {
		begin_rest(table, totals->no_frames_count);
		(void)fputs("(no stack)\n", table->out);
	}
}

void report_table_write(const struct report_rows *rows, const struct report_options *options,
			FILE *out)
{
	struct layout table = {.rows = rows, .options = options, .out = out};
	size_t i;

	while (table.nr_rows < rows->nr &&
	       (options->style.sort_by_total || rows->totals.groups[table.nr_rows].self))
		table.nr_rows++;
	lay_out(&table);
	write_headings(&table);
	for (i = 0; i < table.nr_rows; i++)
		write_row(&table, &rows->totals.groups[i]);
	write_rest(&table);
}

void report_table_write_categories(const struct report_rows *rows,
				   const struct report_options *options, FILE *out)
{
	struct layout table = {.rows = rows, .options = options, .out = out};
	char buffer[COLUMNS_NUMBER_BYTES], capital_letters[HEADING_BYTES];
	const char *head = heading(rows->profile, capital_letters);
	size_t i, room;

	table.count_columns = larger(columns_of(amount_number(rows->profile, rows->total, buffer)),
				     columns_of(head));
	room = options->width - (REPORT_PERCENT_COLUMNS + GAP + table.count_columns + GAP);
	(void)fprintf(out, "%*s  %*s  CATEGORY\n", REPORT_PERCENT_COLUMNS, "SELF",
		      (int)table.count_columns, head);
	for (i = 0; i < rows->nr_heavy_categories; i++) {
		uint32_t category = rows->heavy_categories[i];

		write_numbers(&table, rows->category_counts[category], options->color);
		(void)columns_write(out, categories_name(rows->categories, category), room,
				    ellipsis(&table));
		(void)putc('\n', out);
	}
}
