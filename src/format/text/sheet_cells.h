/*
 * The parts that renderers of sheets (sheet_write.h) share: the columns of a table that a medium shows, its
 * rows one after the other, and a cell as people read it.
 */
#ifndef STOOK_FORMAT_TEXT_SHEET_CELLS_H
#define STOOK_FORMAT_TEXT_SHEET_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "format/text/sheet_write.h"
#include "view/table.h"

struct time_unit;

/* A column that the medium shows. */
struct shown_column {
	const struct column *is;
	size_t number; /* of the cell in a row */
	bool is_number;
	const struct time_unit *unit; /* of UNIT_NANOSECONDS */
};

struct shown_table {
	const struct table *table;
	enum media medium;
	bool ascii;
	struct shown_column columns[TABLE_COLUMNS_MAX];
	size_t nr;
};

/* Reads all rows once if people are to see them. is_narrow: without COLUMN_ROOMY. */
void shown_table_init(struct shown_table *shown, const struct table *table, enum media medium,
		      bool ascii, bool is_narrow);

/* False: the medium passes over the row. */
bool shown_table_read(const struct shown_table *shown, size_t number, struct row *row);

/* A figure as a table of one row and one column. */
struct table figure_table(const struct block *figure);

/* A heading for people, in the buffer or the column's. */
#define CELL_BYTES 64
const char *shown_heading(const struct shown_column *column, char buffer[CELL_BYTES]);

/*
 * A cell as people read it, without its error; paths and histograms are "". In the buffer, or the
 * cell's own text, which is anybody's: to be made safe.
 */
const char *shown_text(const struct shown_column *column, const struct cell *cell,
		       char buffer[CELL_BYTES]);

/* "0.24" of a cell that has COLUMN_ERROR, in so many columns at least. */
#define ERROR_COLUMNS 7
bool shown_error(const struct shown_column *column, const struct cell *cell, int columns,
		 char buffer[CELL_BYTES]);

bool shown_has_histograms(const struct shown_table *shown);
/* NULL: the row has none. */
const struct histogram *shown_histogram(const struct shown_table *shown, const struct row *row);

/* The line above a row's histogram: "func malloc: count 5". The callback writes its texts. */
void shown_write_caption(const struct shown_table *shown, const struct row *row,
			 void (*write_text)(FILE *out, const char *text, bool is_name, bool ascii),
			 FILE *out);

/* Bars as bcc draws them, each line behind the indent. */
void shown_write_histogram(const struct histogram *histogram, const char *indent, FILE *out);

/* "..", "+-" or ">" for a character of our words that needs UTF-8; NULL for all others. */
const char *ascii_of(const char *text);

/* Words of ours, made safe. */
void shown_write_words(FILE *out, const char *text, bool ascii);

/* --- the renderers ---------------------------------------------------------------------------- */

/* 0 or -ENOMEM; errors of the stream are left in it. */
int sheet_write_text(const struct sheet *sheet, const struct sheet_style *style, FILE *out);
void sheet_write_markdown(const struct sheet *sheet, FILE *out);
void sheet_write_csv(const struct sheet *sheet, bool with_headings, FILE *out);
void sheet_write_json(const struct sheet *sheet, FILE *out);

/* A text that is a number as JSON spells them. */
bool is_plain_number(const char *text);

#endif
