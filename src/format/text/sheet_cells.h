/*
 * Shared parts of the renderers of sheets (sheet_write.h): the columns of a table that a medium
 * shows, its rows, and cells as text for people.
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
	size_t number; /* index of the cell in a row */
	bool is_number;
	const struct time_unit *unit; /* for UNIT_NANOSECONDS */
};

struct shown_table {
	const struct table *table;
	enum media medium;
	bool ascii;
	struct shown_column columns[TABLE_COLUMNS_MAX];
	size_t nr;
};

/* Media for people need one pass over all rows. is_narrow: without COLUMN_ROOMY. */
void shown_table_init(struct shown_table *shown, const struct table *table, enum media medium,
		      bool ascii, bool is_narrow);

/* Returns false if the medium skips the row. */
bool shown_table_read(const struct shown_table *shown, size_t number, struct row *row);

/* Returns a figure as a table with one row and one column. */
struct table figure_table(const struct block *figure);

/* Returns a heading for people, in the buffer or the column's own. */
#define CELL_BYTES 64
const char *shown_heading(const struct shown_column *column, char buffer[CELL_BYTES]);

/*
 * Returns a cell as text for people, without its error; "" for paths and histograms. The result is
 * in the buffer, or is the cell's own text, which is untrusted: the caller must make it safe.
 */
const char *shown_text(const struct shown_column *column, const struct cell *cell,
		       char buffer[CELL_BYTES]);

/*
 * Formats the error of a cell with COLUMN_ERROR, "0.24", in at least this many columns; else false.
 */
#define ERROR_COLUMNS 7
bool shown_error(const struct shown_column *column, const struct cell *cell, int columns,
		 char buffer[CELL_BYTES]);

bool shown_has_histograms(const struct shown_table *shown);
/* Returns NULL if the row has none. */
const struct histogram *shown_histogram(const struct shown_table *shown, const struct row *row);

/*
 * Writes the line above a row's histogram, "func malloc: count 5". The callback writes its texts.
 */
void shown_write_caption(const struct shown_table *shown, const struct row *row,
			 void (*write_text)(FILE *out, const char *text, bool is_name, bool ascii),
			 FILE *out);

/* Draws bars like bcc; each line begins with the indent. */
void shown_write_histogram(const struct histogram *histogram, const char *indent, FILE *out);

/* Returns "..", "+-" or ">" for a UTF-8 character of our own texts; NULL for all others. */
const char *ascii_of(const char *text);

/* Writes our own text, made safe. */
void shown_write_words(FILE *out, const char *text, bool ascii);

/* --- the renderers ---------------------------------------------------------------------------- */

/* Returns 0 or -ENOMEM; stream errors are left in the stream. */
int sheet_write_text(const struct sheet *sheet, const struct sheet_style *style, FILE *out);
void sheet_write_markdown(const struct sheet *sheet, FILE *out);
void sheet_write_csv(const struct sheet *sheet, bool with_headings, FILE *out);
void sheet_write_json(const struct sheet *sheet, FILE *out);

/* True for a text that is a number in JSON's syntax. */
bool is_plain_number(const char *text);

#endif
