/* Numbers at the end of lines; read backwards, because all else may stand before them. */
#include "format/folded/folded_line.h"

#include <string.h>

/* Numbers are at most what pprof files can hold. */
#define MAX_NUMBER ((uint64_t)INT64_MAX)

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A number's text. */
struct digits {
	const char *whole, *fraction;
	size_t nr_whole, nr_fraction; /* zeros at the fraction's end are not counted */
};

/* The digits that a text ends in, if a stack can be before them: nothing, or more than a blank. */
static bool find_digits(const char *text, size_t nr, struct digits *ret)
{
	size_t start = nr, dot;

	while (start && is_digit(text[start - 1]))
		start--;
	if (start && text[start - 1] == '.')
		for (dot = --start; start && is_digit(text[start - 1]);)
			start--;
	else
		dot = nr;
	if (start == dot || !start || !is_blank(text[start - 1]))
		return false;
	*ret = (struct digits){text + start, text + dot, dot - start, nr - dot};
	if (ret->nr_fraction) { /* the dot */
		ret->fraction++;
		ret->nr_fraction--;
	}
	while (ret->nr_fraction && ret->fraction[ret->nr_fraction - 1] == '0')
		ret->nr_fraction--;
	return true;
}

static bool add_digit(uint64_t *number, unsigned digit)
{
	if (*number > (MAX_NUMBER - digit) / 10)
		return false;
	*number = *number * 10 + digit;
	return true;
}

static bool value_of(const struct digits *digits, struct folded_scale scale, uint64_t *ret)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; i < digits->nr_whole; i++)
		if (!add_digit(&number, (unsigned)(digits->whole[i] - '0')))
			return false;
	for (i = 0; i < scale.decimals; i++)
		if (!add_digit(&number,
			       i < digits->nr_fraction ? (unsigned)(digits->fraction[i] - '0') : 0))
			return false;
	if (digits->nr_fraction > scale.decimals && digits->fraction[scale.decimals] >= '5')
		number++;
	*ret = number;
	return number <= MAX_NUMBER;
}

bool folded_take_number(const char *text, size_t *nr, struct folded_scale scale, uint64_t *ret,
			bool *ret_lossy)
{
	struct digits digits;

	if (!find_digits(text, *nr, &digits) || !value_of(&digits, scale, ret))
		return false;
	if (digits.nr_fraction > scale.decimals)
		*ret_lossy = true;
	*nr = (size_t)(digits.whole - text) - 1;
	return true;
}

static void note_decimals(unsigned *most, const struct digits *digits)
{
	size_t nr = digits->nr_fraction;

	if (nr > FOLDED_MAX_DECIMALS)
		nr = FOLDED_MAX_DECIMALS;
	if (nr > *most)
		*most = (unsigned)nr;
}

static void note_line(struct folded_shape *shape, const char *text, size_t nr)
{
	struct digits digits;
	uint64_t number;

	if (nr && text[nr - 1] == '\r')
		nr--;
	if (!nr)
		return;
	shape->nr_lines++;
	if (!find_digits(text, nr, &digits))
		return;
	shape->nr_good++;
	note_decimals(&shape->decimals, &digits);
	if (!find_digits(text, (size_t)(digits.whole - text) - 1, &digits) ||
	    !value_of(&digits, folded_scale(0), &number))
		return;
	shape->nr_double++;
	note_decimals(&shape->decimals_before, &digits);
}

struct folded_shape folded_shape(const char *text, size_t nr)
{
	struct folded_shape shape = {0};
	const char *at = text, *end = text + nr;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (!line_end)
			line_end = end;
		note_line(&shape, at, (size_t)(line_end - at));
		at = line_end + 1;
	}
	return shape;
}
