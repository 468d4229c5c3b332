/* See key_cell.h. */
#include "format/text/key_cell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/text/columns.h"
#include "format/text/csv.h"
#include "format/text/json.h"

#define UNREADABLE "[unreadable]"

static int compare_cells(const struct key_cell *a, const struct key_cell *b)
{
	if (!a->text || !b->text)
		return (a->text != NULL) - (b->text != NULL);
	if (a->is_number && b->is_number) {
		long long x = strtoll(a->text, NULL, 0), y = strtoll(b->text, NULL, 0);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return strcmp(a->text, b->text);
}

int key_cells_compare(const struct key_cell *a, const struct key_cell *b, size_t nr)
{
	int difference = 0;
	size_t i;

	for (i = 0; i < nr && !difference; i++)
		difference = compare_cells(&a[i], &b[i]);
	return difference;
}

void key_cell_write_json(const struct key_cell *cell, FILE *out)
{
	if (cell->text && cell->is_number)
		(void)fputs(cell->text, out);
	else
		json_write_string(out, cell->text);
}

void key_cell_write_csv(const struct key_cell *cell, FILE *out)
{
	if (cell->text && cell->is_number)
		(void)fputs(cell->text, out);
	else if (cell->text)
		csv_write_string(out, cell->text);
}

const char *key_cell_text(const struct key_cell *cell)
{
	return cell->text ? cell->text : UNREADABLE;
}

void key_heading(const char *key, char text[KEY_HEADING_BYTES])
{
	size_t i;

	(void)snprintf(text, KEY_HEADING_BYTES, "%s", key);
	for (i = 0; text[i]; i++)
		if (!isalnum((unsigned char)text[i]))
			return;
	for (i = 0; text[i]; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
}

void key_cell_write_padded(const char *text, size_t columns, bool to_the_right, FILE *out)
{
	size_t own = columns_of(text);
	size_t pad = columns > own ? columns - own : 0;

	if (to_the_right)
		columns_pad(out, pad);
	(void)columns_write(out, text, own, "");
	if (!to_the_right)
		columns_pad(out, pad);
}
