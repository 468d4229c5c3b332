/*
 * See markdown_text.h.
 *
 * A code span ends at as many backticks as it began with, so it begins with more than are in it; in
 * a table a `|` ends the cell even there, unless it is escaped.
 */
#include "format/text/markdown_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "format/text/columns.h"

#define NAME_COLUMNS 100 /* longer names lose their middle */

char *markdown_clean_name(const char *name)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	(void)columns_write(out, name, NAME_COLUMNS, "…");
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static size_t longest_backticks(const char *text)
{
	size_t longest = 0, nr;

	for (; *text; text += nr + (text[nr] != '\0')) {
		nr = strspn(text, "`");
		if (nr > longest)
			longest = nr;
	}
	return longest;
}

static void write_fence(FILE *out, size_t nr)
{
	for (; nr; nr--)
		(void)putc('`', out);
}

int markdown_write_code(FILE *out, const char *name)
{
	cleanup_free char *text = markdown_clean_name(name);
	size_t fence = 1;
	const char *pad, *at;

	if (!text)
		return -ENOMEM;
	fence += longest_backticks(text);
	pad = fence > 1 || !*text ? " " : "";
	write_fence(out, fence);
	(void)fputs(pad, out);
	for (at = text; *at; at++) {
		if (*at == '|')
			(void)putc('\\', out);
		(void)putc(*at, out);
	}
	(void)fputs(pad, out);
	write_fence(out, fence);
	return 0;
}

/* Punctuation is never markup behind a backslash. Some of it is at the beginning only. */
void markdown_write_words(FILE *out, const char *text)
{
	if (*text && strchr("+-#=", *text))
		(void)putc('\\', out);
	while (*text) {
		size_t bytes = text_character(text);

		if (bytes == 1 && strchr("\\`*_{}[]<>|~$@&", *text))
			(void)putc('\\', out);
		if (bytes)
			(void)fwrite(text, 1, bytes, out);
		else
			(void)putc('?', out);
		text += bytes ? bytes : 1;
	}
}
