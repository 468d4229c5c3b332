/* A character that a terminal is not sent takes a column for each of its bytes. */
#include "format/text/columns.h"

#include <string.h>

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

static const char *skip_characters(const char *text, size_t nr)
{
	for (; nr; nr--)
		text = next_character(text);
	return text;
}

static void write_characters(FILE *out, const char *text, size_t nr)
{
	for (; nr; nr--) {
		size_t bytes = text_character(text);

		if (bytes)
			(void)fwrite(text, 1, bytes, out);
		else
			(void)putc('?', out);
		text += bytes ? bytes : 1;
	}
}

static char *copy_characters(char *to, const char *text, size_t nr)
{
	for (; nr; nr--) {
		size_t bytes = text_character(text);

		if (bytes)
			to = mempcpy(to, text, bytes);
		else
			*to++ = '?';
		text += bytes ? bytes : 1;
	}
	return to;
}

/* A text of more columns than there are: what is left of it on both sides of the ellipsis. */
struct cut {
	const char *tail;
	size_t nr_head, nr_tail;
};

static struct cut cut_text(const char *text, size_t all, size_t columns, size_t ellipsis)
{
	struct cut cut = {.nr_head = (columns - ellipsis + 1) / 2};

	cut.nr_tail = columns - ellipsis - cut.nr_head;
	cut.tail = skip_characters(text, all - cut.nr_tail);
	return cut;
}

size_t columns_write(FILE *out, const char *text, size_t columns, const char *ellipsis)
{
	size_t all = columns_of(text), needed = columns_of(ellipsis);
	struct cut cut;

	if (all <= columns) {
		write_characters(out, text, all);
		return all;
	}
	if (columns < needed)
		return 0;
	cut = cut_text(text, all, columns, needed);
	write_characters(out, text, cut.nr_head);
	(void)fputs(ellipsis, out);
	write_characters(out, cut.tail, cut.nr_tail);
	return columns;
}

void columns_cut(const char *text, size_t columns, const char *ellipsis, char *buffer)
{
	size_t all = columns_of(text), needed = columns_of(ellipsis);
	struct cut cut;

	if (all <= columns) {
		buffer = copy_characters(buffer, text, all);
	} else if (columns >= needed) {
		cut = cut_text(text, all, columns, needed);
		buffer = copy_characters(buffer, text, cut.nr_head);
		buffer = stpcpy(buffer, ellipsis);
		buffer = copy_characters(buffer, cut.tail, cut.nr_tail);
	}
	*buffer = '\0';
}

void columns_pad(FILE *out, size_t columns)
{
	(void)fprintf(out, "%*s", (int)columns, "");
}
