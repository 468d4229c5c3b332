/*
 * XML cannot represent most control characters, not even escaped, so they are replaced; likewise
 * invalid UTF-8, since a single such byte would make browsers reject the picture. Numbers are
 * formatted by our own code, since a picture has hundreds of thousands of them and printf() is
 * slow.
 */
#include "format/flame/svg_text.h"

#include <string.h>

#include "base/text.h"

#define NO_CHARACTER "\xef\xbf\xbd" /* U+FFFD */

static const char *entity(char byte)
{
	switch (byte) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* U+FFFE and U+FFFF are valid in UTF-8, but not in XML. */
static int is_no_xml(const char *text, size_t bytes)
{
	return bytes == 3 && text[0] == '\xef' && text[1] == '\xbf' && (text[2] & 0xfe) == 0xbe;
}

/* Writes a character; returns what follows it. */
static const char *write_character(FILE *out, const char *text)
{
	size_t bytes = text_character(text);
	const char *escaped = bytes == 1 ? entity(*text) : NULL;

	if (escaped)
		(void)fputs_unlocked(escaped, out);
	else if (bytes == 1)
		(void)putc_unlocked(*text, out);
	else if (!bytes || is_no_xml(text, bytes))
		(void)fputs_unlocked(NO_CHARACTER, out);
	else
		(void)fwrite_unlocked(text, 1, bytes, out);
	return text + (bytes ? bytes : 1);
}

void svg_text(FILE *out, const char *text)
{
	while (*text)
		text = write_character(out, text);
}

void svg_text_cut(FILE *out, const char *text, size_t characters)
{
	size_t nr = text_columns(text);

	if (nr <= characters) {
		svg_text(out, text);
		return;
	}
	for (; characters > 2; characters--)
		text = write_character(out, text);
	(void)fputs_unlocked("..", out);
}

static void write_digits(FILE *out, uint64_t number, unsigned least)
{
	char digits[24];
	unsigned nr = 0;

	do {
		digits[nr++] = (char)('0' + number % 10);
		number /= 10;
	} while (number || nr < least);
	while (nr)
		(void)putc_unlocked(digits[--nr], out);
}

static void write_scaled(FILE *out, uint64_t scaled, uint64_t unit, unsigned decimals)
{
	write_digits(out, scaled / unit, 1);
	if (decimals) {
		(void)putc_unlocked('.', out);
		write_digits(out, scaled % unit, decimals);
	}
}

/* Returns number in units of its last decimal, and the number of such units in 1. */
static uint64_t scaled_up(double number, unsigned decimals, uint64_t *ret_unit)
{
	uint64_t unit = 1;

	while (decimals--)
		unit *= 10;
	*ret_unit = unit;
	return number > 0 ? (uint64_t)(number * (double)unit + 0.5) : 0;
}

void svg_number(FILE *out, double number, unsigned decimals)
{
	uint64_t unit, scaled = scaled_up(number, decimals, &unit);

	while (decimals && scaled % 10 == 0) {
		scaled /= 10;
		unit /= 10;
		decimals--;
	}
	write_scaled(out, scaled, unit, decimals);
}

void svg_percent(FILE *out, double share, unsigned decimals)
{
	uint64_t unit, scaled = scaled_up(100 * share, decimals, &unit);

	write_scaled(out, scaled, unit, decimals);
	(void)putc_unlocked('%', out);
}

void svg_color(FILE *out, struct color color)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t parts[] = {color.red, color.green, color.blue};
	size_t i;

	(void)putc_unlocked('#', out);
	for (i = 0; i < 3; i++) {
		(void)putc_unlocked(digits[parts[i] >> 4], out);
		(void)putc_unlocked(digits[parts[i] & 15], out);
	}
}

/* --- names of compared files ----------------------------------------------------------------- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool compared_names_known(const struct comparison_style *style)
{
	return style && style->before_name && style->after_name;
}

/* Directories are omitted if the files' own names differ. */
void compared_names_write(const struct comparison_style *style, FILE *out)
{
	const char *before = file_name(style->before_name), *after = file_name(style->after_name);
	bool are_alike = !strcmp(before, after);

	svg_text(out, are_alike ? style->before_name : before);
	(void)fputs(" \xe2\x86\x92 ", out);
	svg_text(out, are_alike ? style->after_name : after);
}
