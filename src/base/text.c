/* Numbers are parsed by hand: strtoull() alone accepts signs, blanks and overflow. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* Digits from *text on; moves *text behind them. */
static int parse_digits(const char **text, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *at = *text;
	uint64_t value = 0;

	for (; isxdigit((unsigned char)*at); at++) {
		unsigned digit = isdigit((unsigned char)*at)
					 ? (unsigned)(*at - '0')
					 : (unsigned)(tolower((unsigned char)*at) - 'a') + 10;

		if (digit >= base)
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

int number_parse_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t seconds = 0, fraction = 0, unit = NS_PER_SEC;
	int err = 0;

	if (*text != '.')
		err = parse_digits(&text, 10, UINT64_MAX / NS_PER_SEC / 2, &seconds);
	if (err < 0)
		return err;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return -EINVAL;
		for (; isdigit((unsigned char)*text); text++) {
			unit /= 10;
			fraction += (uint64_t)(*text - '0') * unit;
		}
	}
	if (*text)
		return -EINVAL;
	*ret_ns = seconds * NS_PER_SEC + fraction;
	return 0;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
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
		if (array_reserve(&numbers, &capacity, nr + (last - first) + 1, sizeof(*numbers)) <
		    0)
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
