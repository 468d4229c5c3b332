/*
 * Writes sheets (view/table.h) as text, Markdown, CSV or JSON.
 *
 * Text is UTF-8 for a terminal unless style.ascii; no line is wider than style.width unless its
 * table allows it. Markdown has tables as supported by most issue trackers, with names in code
 * spans. CSV is RFC 4180 with CRLF, one table per sheet. JSON is one object; for a sheet with
 * is_line it is a single line.
 *
 * Names of functions cannot do harm: no format lets a name control a terminal, end a table cell or
 * begin a spreadsheet formula.
 */
#ifndef STOOK_FORMAT_TEXT_SHEET_WRITE_H
#define STOOK_FORMAT_TEXT_SHEET_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "view/table.h"

struct sheet_style {
	unsigned width; /* columns of the terminal; 0: 80 */
	bool ascii, color;
	bool is_first; /* nothing written before: CSV needs headings, Markdown no empty line */
};

/*
 * medium: MEDIA_TEXT, _MARKDOWN, _CSV or _JSON. Flushes. Returns 0, -ENOMEM, or the stream's errno.
 */
int sheet_write(const struct sheet *sheet, enum media medium, const struct sheet_style *style,
		FILE *out);

#endif
