/* Reads UTF-8 one character at a time, as the Unicode standard's table 3-7 defines it. */
#include "format/text/columns.h"

#include <inttypes.h>

#include "base/array.h"

struct lead {
	unsigned char first, last;		 /* the first byte */
	unsigned char second_first, second_last; /* the second one */
	unsigned char bytes;
};

static const struct lead leads[] = {
	{0xc2, 0xc2, 0xa0, 0xbf, 2}, /* 80 to 9f, left out here, are control characters */
	{0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t columns_character(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t i, k;

	if (at[0] < 0x80)
		return at[0] >= ' ' && at[0] != 0x7f;
	for (i = 0; i < ARRAY_SIZE(leads); i++)
		if (at[0] >= leads[i].first && at[0] <= leads[i].last)
			break;
	if (i == ARRAY_SIZE(leads) || at[1] < leads[i].second_first || at[1] > leads[i].second_last)
		return 0;
	for (k = 2; k < leads[i].bytes; k++)
		if ((at[k] & 0xc0) != 0x80)
			return 0;
	return leads[i].bytes;
}

static const char *next_character(const char *text)
{
	size_t bytes = columns_character(text);

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
		size_t bytes = columns_character(text);

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
