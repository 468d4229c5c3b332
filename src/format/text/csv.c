/* See csv.h. */
#include "format/text/csv.h"

#include "format/text/columns.h"

void csv_write_string(FILE *out, const char *text)
{
	(void)putc('"', out);
	while (text && *text) {
		size_t bytes = columns_character(text);

		if (!bytes)
			(void)putc('?', out);
		else if (*text == '"')
			(void)fputs("\"\"", out);
		else
			(void)fwrite(text, 1, bytes, out);
		text += bytes ? bytes : 1;
	}
	(void)putc('"', out);
}

void csv_end_row(FILE *out)
{
	(void)fputs("\r\n", out);
}
