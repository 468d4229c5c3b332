/* The scanner of expressions. Texts need not end with a zero: nothing is read at nr or behind. */
#include "probe/expression/expression_token.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"

static const struct unit {
	const char *name;
	uint64_t times;
} units[] = {
	{"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30},      {"T", 1ULL << 40},
	{"ns", 1},	   {"us", 1000},      {"ms", 1000ULL * 1000}, {"s", 1000ULL * 1000 * 1000},
};

static const char *const signs[] = {
	"||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "|", "&", "^", "<",
	">",  "+",  "-",  "*",	"/",  "%",  "!",  "~",	"(", ")", ".", ",",
};

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

static unsigned digit_of(char byte)
{
	if (isdigit((unsigned char)byte))
		return (unsigned)(byte - '0');
	return isxdigit((unsigned char)byte) ? (unsigned)(tolower((unsigned char)byte) - 'a') + 10
					     : 16;
}

static bool take_unit(const char *text, size_t nr, uint64_t *ret_times)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) != nr || memcmp(units[i].name, text, nr) != 0)
			continue;
		*ret_times = units[i].times;
		return true;
	}
	*ret_times = 1;
	return nr == 0;
}

static const char *take_number(const char *text, size_t nr, struct token *token)
{
	bool is_hex = nr > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
		      digit_of(text[2]) < 16;
	uint64_t base = is_hex ? 16 : 10, number = 0, times;
	size_t at = is_hex ? 2 : 0, end;

	for (; at < nr && digit_of(text[at]) < base; at++)
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit_of(text[at]), &number))
			return "a number of more than 64 bits";
	for (end = at; end < nr && is_name_byte(text[end]); end++)
		;
	if (!take_unit(text + at, end - at, &times))
		return "a number with an unknown unit (K M G T ns us ms s)";
	if (__builtin_mul_overflow(number, times, &token->number))
		return "a number of more than 64 bits";
	token->kind = TOKEN_NUMBER;
	token->nr = end;
	return NULL;
}

/* One character of a text in quotes; how many bytes of the text it took, 0: none that is known. */
static size_t take_character(const char *text, size_t nr, char *ret)
{
	static const char names[] = "ntr0\\\"'", meant[] = "\n\t\r\0\\\"'";
	const char *name;

	if (!nr)
		return 0;
	if (text[0] != '\\') {
		*ret = text[0];
		return 1;
	}
	if (nr >= 4 && text[1] == 'x' && digit_of(text[2]) < 16 && digit_of(text[3]) < 16) {
		*ret = (char)(digit_of(text[2]) * 16 + digit_of(text[3]));
		return 4;
	}
	name = nr >= 2 ? memchr(names, text[1], sizeof(names) - 1) : NULL;
	if (!name)
		return 0;
	*ret = meant[name - names];
	return 2;
}

static const char *take_quoted(const char *text, size_t nr, struct token *token)
{
	size_t at = 1, nr_characters = 0;
	char character = 0;

	while (at < nr && text[at] != text[0]) {
		size_t bytes = take_character(text + at, nr - at, &character);

		if (!bytes)
			return "an unknown character behind '\\' in the quotes";
		at += bytes;
		nr_characters++;
	}
	if (at >= nr)
		return "quotes without an end";
	token->nr = at + 1;
	token->kind = text[0] == '"' ? TOKEN_TEXT : TOKEN_NUMBER;
	token->number = (uint64_t)(int64_t)(signed char)character;
	if (text[0] == '\'' && nr_characters != 1)
		return "not one character in single quotes (a text has double ones)";
	return NULL;
}

static const char *take_sign(const char *text, size_t nr, struct token *token)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signs); i++) {
		size_t bytes = strlen(signs[i]);

		if (bytes > nr || memcmp(signs[i], text, bytes) != 0)
			continue;
		token->kind = TOKEN_SIGN;
		token->nr = bytes;
		return NULL;
	}
	return "an unknown sign";
}

const char *token_next(const char *text, size_t nr, struct token *token)
{
	size_t at = token->at + token->nr;

	while (at < nr && isspace((unsigned char)text[at]))
		at++;
	*token = (struct token){.kind = TOKEN_END, .at = at, .text = text + at};
	if (at == nr)
		return NULL;
	if (isdigit((unsigned char)text[at]))
		return take_number(text + at, nr - at, token);
	if (text[at] == '"' || text[at] == '\'')
		return take_quoted(text + at, nr - at, token);
	if (!is_name_byte(text[at]))
		return take_sign(text + at, nr - at, token);
	token->kind = TOKEN_NAME;
	while (at + token->nr < nr && is_name_byte(text[at + token->nr]))
		token->nr++;
	return NULL;
}

bool token_is(const struct token *token, const char *word)
{
	return token->nr == strlen(word) && !memcmp(token->text, word, token->nr);
}

bool token_text(const struct token *token, char *ret, size_t max, size_t *ret_nr)
{
	size_t at = 1, nr = 0;

	while (at < token->nr - 1) {
		if (nr == max)
			return false;
		at += take_character(token->text + at, token->nr - 1 - at, &ret[nr++]);
	}
	*ret_nr = nr;
	return true;
}
