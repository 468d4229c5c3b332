/*
 * RFC 8259, section 7. Characters past ASCII are written as they are, but for those that a terminal must
 * not be sent: as escapes they are harmless, and nothing is lost.
 */
#include "format/text/json.h"

#include <inttypes.h>

#include "base/text.h"

/* All that are escaped have numbers of 16 bits; U+FFFD stands for a byte that is no UTF-8. */
static size_t write_escaped(FILE *out, const char *text)
{
	uint32_t code;
	size_t bytes = text_utf8(text, &code);

	if (bytes && (code == '"' || code == '\\'))
		(void)fprintf(out, "\\%c", (int)code);
	else
		(void)fprintf(out, "\\u%04" PRIx32, bytes ? code : 0xfffd);
	return bytes ? bytes : 1;
}

void json_write_string(FILE *out, const char *text)
{
	if (!text) {
		(void)fputs("null", out);
		return;
	}
	(void)putc('"', out);
	while (*text) {
		size_t bytes = text_character(text);

		if (!bytes || *text == '"' || *text == '\\') {
			text += write_escaped(out, text);
		} else {
			(void)fwrite(text, 1, bytes, out);
			text += bytes;
		}
	}
	(void)putc('"', out);
}
