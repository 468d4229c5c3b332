/* See json.h; RFC 8259, section 7. Characters past ASCII are written as they are. */
#include "format/text/json.h"

#include "format/text/columns.h"

static void write_escaped(FILE *out, unsigned char c)
{
	if (c == '"' || c == '\\')
		(void)fprintf(out, "\\%c", c);
	else if (c < 0x80)
		(void)fprintf(out, "\\u%04x", c);
	else
		(void)fputs("\\ufffd", out);
}

void json_write_string(FILE *out, const char *text)
{
	if (!text) {
		(void)fputs("null", out);
		return;
	}
	(void)putc('"', out);
	while (*text) {
		size_t bytes = columns_character(text);

		if (!bytes || *text == '"' || *text == '\\') {
			write_escaped(out, (unsigned char)*text);
			bytes = 1;
		} else {
			(void)fwrite(text, 1, bytes, out);
		}
		text += bytes;
	}
	(void)putc('"', out);
}
