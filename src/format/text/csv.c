/*
 * Spreadsheets run a text that begins like a formula, quoted or not, and a name may do that on purpose.
 * The apostrophe is how people enter such a text by hand; what comes from others is not shown in it.
 */
#include "format/text/csv.h"

#include <string.h>

#include "base/text.h"

void csv_write_string(FILE *out, const char *text)
{
	(void)putc('"', out);
	/* Tab and CR would begin one, too, and become `?`. */
	if (text && *text && strchr("=+-@", *text))
		(void)putc('\'', out);
	while (text && *text) {
		size_t bytes = text_character(text);

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
