/*
 * Sheets: an array of blocks that own their texts. Layout and formatting are done by renderers.
 *
 * Running out of memory sets `failed`, so that code that fills a sheet needs one check at the end.
 */
#include "view/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"

struct kept {
	void *context;
	void (*clear)(void *context);
};

static void block_clear(struct block *block)
{
	size_t i;

	for (i = 0; i < block->nr_spans; i++)
		free(block->spans[i].text);
	free(block->spans);
	if (block->kind == BLOCK_FIGURE && block->cell.kind == CELL_TEXT)
		free((void *)block->cell.text);
}

void sheet_clear(struct sheet *sheet)
{
	size_t i;

	for (i = 0; i < sheet->nr; i++)
		block_clear(&sheet->blocks[i]);
	for (i = sheet->nr_kept; i--;)
		sheet->kept[i].clear(sheet->kept[i].context);
	free(sheet->blocks);
	free(sheet->kept);
	*sheet = (struct sheet){0};
}

int sheet_status(const struct sheet *sheet)
{
	return sheet->failed ? -ENOMEM : 0;
}

int sheet_keep(struct sheet *sheet, void *context, void (*clear)(void *context))
{
	if (array_reserve(&sheet->kept, &sheet->cap_kept, sheet->nr_kept + 1,
			  sizeof(*sheet->kept)) < 0) {
		sheet->failed = true;
		clear(context);
		return -ENOMEM;
	}
	sheet->kept[sheet->nr_kept++] = (struct kept){context, clear};
	return 0;
}

/* Appends a block; returns NULL when out of memory, now or earlier. */
static struct block *add_block(struct sheet *sheet, enum block_kind kind, unsigned media)
{
	if (sheet->failed ||
	    array_reserve(&sheet->blocks, &sheet->cap, sheet->nr + 1, sizeof(*sheet->blocks)) < 0) {
		sheet->failed = true;
		return NULL;
	}
	sheet->blocks[sheet->nr] = (struct block){.kind = kind, .media = media};
	return &sheet->blocks[sheet->nr++];
}

void sheet_add_figure(struct sheet *sheet, unsigned media, const struct column *column,
		      struct cell cell)
{
	struct block *block;

	if (cell.kind == CELL_TEXT) {
		cell.text = strdup(cell.text);
		if (!cell.text)
			sheet->failed = true;
	}
	block = add_block(sheet, BLOCK_FIGURE, media);
	if (block) {
		block->column = *column;
		block->cell = cell;
	} else if (cell.kind == CELL_TEXT) {
		free((void *)cell.text);
	}
}

void sheet_add_line(struct sheet *sheet, unsigned media, enum line_style style)
{
	struct block *block = add_block(sheet, BLOCK_LINE, media);

	if (block)
		block->style = style;
}

void sheet_add_notes(struct sheet *sheet, unsigned media, const char *name)
{
	struct block *block = add_block(sheet, BLOCK_NOTES, media);

	if (block)
		block->name = name;
}

/* Takes ownership of the text; NULL: out of memory. */
static void add_span(struct sheet *sheet, char *text, bool is_name)
{
	struct block *block = sheet->failed ? NULL : &sheet->blocks[sheet->nr - 1];

	if (!block || !text ||
	    array_reserve(&block->spans, &block->cap_spans, block->nr_spans + 1,
			  sizeof(*block->spans)) < 0) {
		sheet->failed = true;
		free(text);
		return;
	}
	block->spans[block->nr_spans++] = (struct span){text, is_name};
}

void sheet_add_words(struct sheet *sheet, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	add_span(sheet, text, false);
}

void sheet_add_name(struct sheet *sheet, const char *name)
{
	add_span(sheet, strdup(name), true);
}

void sheet_add_note(struct sheet *sheet, const char *text)
{
	add_span(sheet, strdup(text), false);
}

void sheet_add_table(struct sheet *sheet, unsigned media, const struct table *table)
{
	struct block *block = add_block(sheet, BLOCK_TABLE, media);

	if (block)
		block->table = *table;
}

struct column *sheet_begin_interval(struct sheet *sheet, double time, double seconds,
				    unsigned seconds_media, bool shows_time)
{
	static const struct column time_column = {"time", .precise = 3};
	static const struct column seconds_column = {"seconds", .precise = 3};
	struct column *columns = calloc(TABLE_COLUMNS_MAX, sizeof(*columns));
	time_t whole = (time_t)time;
	char text[16] = "";
	struct tm local;

	sheet->failed |= !columns || sheet_keep(sheet, columns, free) < 0;
	sheet->is_line = true;
	sheet_add_line(sheet, MEDIA_TEXT, LINE_PLAIN);
	if (shows_time && localtime_r(&whole, &local)) {
		(void)strftime(text, sizeof(text), "%H:%M:%S", &local);
		sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
		sheet_add_words(sheet, "%s", text);
	}
	sheet_add_figure(sheet, MEDIA_PROGRAMS, &time_column, cell_real(time));
	sheet_add_figure(sheet, seconds_media, &seconds_column, cell_real(seconds));
	return sheet->failed ? NULL : columns;
}
