/*
 * UTF-8 is decoded as the Unicode standard's table 3-7 defines it. Numbers are parsed by hand,
 * because strtoull() alone accepts signs and blanks and does not fail on overflow.
 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

char *text_printf(const char *format, ...)
{
	char *text;
	va_list args;
	int nr;

	va_start(args, format);
	nr = vasprintf(&text, format, args);
	va_end(args);
	return nr < 0 ? NULL : text;
}

struct lead {
	unsigned char first, last;		 /* range of the first byte */
	unsigned char second_first, second_last; /* range of the second byte */
	unsigned char bytes;
};

static const struct lead leads[] = {
	{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Ranges of non-ASCII characters that control a terminal or change the direction of its text. */
static const struct {
	uint32_t first, last;
} controls[] = {
	{0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

size_t text_utf8(const char *text, uint32_t *ret_code)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t code;
	size_t i, k;

	if (at[0] < 0x80) {
		*ret_code = at[0];
		return at[0] != 0;
	}
	for (i = 0; i < ARRAY_SIZE(leads); i++)
		if (at[0] >= leads[i].first && at[0] <= leads[i].last)
			break;
	if (i == ARRAY_SIZE(leads) || at[1] < leads[i].second_first || at[1] > leads[i].second_last)
		return 0;
	code = at[0] & (0xffu >> (leads[i].bytes + 1));
	for (k = 1; k < leads[i].bytes; k++) {
		if ((at[k] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[k] & 0x3f);
	}
	*ret_code = code;
	return leads[i].bytes;
}

size_t text_character(const char *text)
{
	unsigned char first = (unsigned char)*text;
	uint32_t code;
	size_t bytes, i;

	if (first < 0x80)
		return first >= ' ' && first != 0x7f;
	bytes = text_utf8(text, &code);
	for (i = 0; bytes && i < ARRAY_SIZE(controls); i++)
		if (code >= controls[i].first && code <= controls[i].last)
			return 0;
	return bytes;
}

/*
 * Non-zero, with the top bit of some byte set, if a byte of the word is not printable ASCII; else
 * 0.
 */
static uint64_t odd_bytes(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101, tops = ones << 7;
	uint64_t no_delete = word ^ ones * 0x7f;

	return (word | (word - ones * ' ') | (no_delete - ones)) & tops;
}

/* True if all bytes are printable ASCII, as those of most names are. */
static bool is_plain(const char *text, size_t nr)
{
	uint64_t odd = 0, word;
	size_t i;

	for (i = 0; i + sizeof(word) <= nr; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		odd |= odd_bytes(word);
	}
	for (; i < nr; i++)
		odd |= text[i] < ' ' || text[i] >= 0x7f;
	return !odd;
}

void text_make_safe(char *to, const char *text, size_t nr)
{
	size_t i = 0;

	if (is_plain(text, nr)) {
		memmove(to, text, nr);
		return;
	}
	while (i < nr) {
		size_t bytes = text_character(text + i);

		if (bytes)
			memmove(to + i, text + i, bytes);
		else
			to[i] = '?';
		i += bytes ? bytes : 1;
	}
}

/* Printable ASCII is handled first: most names consist of nothing else. */
void text_write(FILE *out, const char *text)
{
	while (*text) {
		size_t bytes;

		if (*text >= ' ' && *text < 0x7f) {
			(void)putc_unlocked(*text++, out);
			continue;
		}
		bytes = text_character(text);
		if (bytes)
			(void)fwrite_unlocked(text, 1, bytes, out);
		else
			(void)putc_unlocked('?', out);
		text += bytes ? bytes : 1;
	}
}

/* --- text in columns of a terminal -------------------------------------------------------------- */

static const char *next_character(const char *text)
{
	size_t bytes = text_character(text);

	return text + (bytes ? bytes : 1);
}

size_t text_columns(const char *text)
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

/* A text that is too wide: the parts kept on both sides of the ellipsis. */
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

size_t text_write_columns(FILE *out, const char *text, size_t columns, const char *ellipsis)
{
	size_t all = text_columns(text), needed = text_columns(ellipsis);
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

void text_cut(const char *text, size_t columns, const char *ellipsis, char *buffer)
{
	size_t all = text_columns(text), needed = text_columns(ellipsis);
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

void text_pad(FILE *out, size_t columns)
{
	while (columns--)
		(void)putc_unlocked(' ', out);
}

/* --- numbers ---------------------------------------------------------------------------------- */

const char *number_commas(char buffer[NUMBER_COMMAS_BYTES], uint64_t number)
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

/* Parses digits at *text and moves *text past them. */
static int parse_digits(const char **text, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *at = *text;
	uint64_t value = 0;

	for (;; at++) {
		const int found = text_hex_digit(*at);
		const unsigned digit = (unsigned)found;

		if (found < 0 || digit >= base)
			break;
		if (value > (max - digit) / base || digit > max)
			return -ERANGE;
		value = value * base + digit;
	}
	if (at == *text)
		return -EINVAL;
	*text = at;
	*ret = value;
	return 0;
}

int number_parse(const char *text, uint64_t max, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t value;
	int err;

	if (hex)
		text += 2;
	err = parse_digits(&text, hex ? 16 : 10, max, &value);
	if (err < 0)
		return err;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

/*
 * Parses digits with an optional fraction, of which nine digits count; moves *text past them. 0 or
 * -errno.
 */
static int parse_decimal(const char **text, uint64_t *ret_billionths)
{
	uint64_t whole = 0, fraction = 0, unit = NS_PER_SEC;
	int err = 0;

	if (**text != '.')
		err = parse_digits(text, 10, UINT64_MAX / NS_PER_SEC / 2, &whole);
	if (err < 0)
		return err;
	if (**text == '.') {
		if (!isdigit((unsigned char)*++*text))
			return -EINVAL;
		for (; isdigit((unsigned char)**text); ++*text) {
			unit /= 10;
			fraction += (uint64_t)(**text - '0') * unit;
		}
	}
	*ret_billionths = whole * NS_PER_SEC + fraction;
	return 0;
}

int number_parse_seconds(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t times, parts; /* factor, and divisor of a second */
	} units[] = {
		{"", 1, 1},   {"s", 1, 1},    {"ms", 1, 1000},
		{"m", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
	};
	uint64_t billionths;
	size_t i = 0;
	int err = parse_decimal(&text, &billionths);

	if (err < 0)
		return err;
	while (i < ARRAY_SIZE(units) && strcmp(text, units[i].name) != 0)
		i++;
	if (i == ARRAY_SIZE(units))
		return -EINVAL;
	if (billionths > UINT64_MAX / 2 / units[i].times)
		return -ERANGE;
	*ret_ns = billionths * units[i].times / units[i].parts;
	return 0;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return COMPARE(x, y);
}

static size_t sort_unique(uint32_t *numbers, size_t nr)
{
	size_t kept = 0, i;

	qsort(numbers, nr, sizeof(*numbers), compare_u32);
	for (i = 0; i < nr; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

int number_parse_list(const char *text, bool ranges, uint32_t max, size_t max_nr, uint32_t **ret,
		      size_t *ret_nr)
{
	cleanup_free uint32_t *numbers = NULL;
	size_t nr = 0, capacity = 0;
	int err;

	for (;;) {
		uint64_t first, last, number;

		err = parse_digits(&text, 10, max, &first);
		last = first;
		if (!err && ranges && *text == '-') {
			text++;
			err = parse_digits(&text, 10, max, &last);
		}
		if (err < 0)
			return err;
		if (last < first || last - first >= max_nr || nr + (last - first) >= max_nr)
			return -ERANGE;
		if (ARRAY_RESERVE(numbers, capacity, nr + (last - first) + 1) < 0)
			return -ENOMEM;
		for (number = first; number <= last; number++)
			numbers[nr++] = (uint32_t)number;
		if (*text != ',')
			break;
		text++;
	}
	if (*text)
		return -EINVAL;
	*ret_nr = sort_unique(numbers, nr);
	*ret = take_pointer(&numbers);
	return 0;
}
