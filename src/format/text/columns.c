/* A character that a terminal is not sent takes a column for each of its bytes. */
#include "format/text/columns.h"

#include <inttypes.h>

#include "base/text.h"

static const char *next_character(const char *text)
{
	size_t bytes = text_character(text);

	return text + (bytes ? bytes : 1);
}

size_t columns_of(const char *text)
{
	size_t columns;

	for (columns = 0; *text; columns++)
		text = next_character(text);
	return columns;
}

static const char *write_characters(FILE *out, const char *text, size_t nr)
{
	for (; nr; nr--) {
		size_t bytes = text_character(text);

		if (bytes)
			(void)fwrite(text, 1, bytes, out);
		else
			(void)putc('?', out);
		text = next_character(text);
	}
	return text;
}

size_t columns_write(FILE *out, const char *text, size_t columns, const char *ellipsis)
{
	size_t all = columns_of(text);
	size_t cut = columns_of(ellipsis);
	size_t head, tail;

	if (all <= columns) {
		(void)write_characters(out, text, all);
		return all;
	}
	if (columns < cut)
		return 0;
	head = (columns - cut + 1) / 2;
	tail = columns - cut - head;
	text = write_characters(out, text, head);
	for (all -= head; all > tail; all--)
		text = next_character(text);
	(void)fputs(ellipsis, out);
	(void)write_characters(out, text, tail);
	return columns;
}

void columns_pad(FILE *out, size_t columns)
{
	(void)fprintf(out, "%*s", (int)columns, "");
}

const char *columns_number(char *buffer, uint64_t number)
{
	char digits[24];
	size_t nr = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *to = buffer;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (i && (nr - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buffer;
}
