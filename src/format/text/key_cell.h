/*
 * What rows are told apart by, each a cell: a text, or a number as text. What could not be read has
 * none.
 */
#ifndef STOOK_FORMAT_TEXT_KEY_CELL_H
#define STOOK_FORMAT_TEXT_KEY_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct key_cell {
	char *text; /* NULL: it could not be read */
	bool is_number;
};

/* Of two rows, cell by cell: numbers by value, what is unreadable in front. Below 0, 0 or above. */
int key_cells_compare(const struct key_cell *a, const struct key_cell *b, size_t nr);

void key_cell_write_json(const struct key_cell *cell, FILE *out);
void key_cell_write_csv(const struct key_cell *cell, FILE *out);

/* For a table: "[unreadable]" if need be. */
const char *key_cell_text(const struct key_cell *cell);

/* In as many columns, or more. */
void key_cell_write_padded(const char *text, size_t columns, bool to_the_right, FILE *out);

/* A heading: plain words in capitals, as bcc's tables have them; expressions as they are. */
#define KEY_HEADING_BYTES 64
void key_heading(const char *key, char text[KEY_HEADING_BYTES]);

#endif
