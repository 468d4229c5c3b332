/*
 * Numbers are read backwards, because anything may stand before them. A word's frames are made when a
 * stack first has it: most words are one kind of frame only.
 */
#include "format/folded/folded_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "format/text/clean_string.h"

/* --- numbers ---------------------------------------------------------------------------------- */

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

static bool value_of(const struct digits *digits, struct value_scale scale, uint64_t *ret)
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

bool folded_take_number(const char *text, size_t *nr, struct value_scale scale, uint64_t *ret,
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

	if (nr > VALUE_MAX_DECIMALS)
		nr = VALUE_MAX_DECIMALS;
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
	    !value_of(&digits, value_scale(0), &number))
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

#define UNKNOWN_NAME  "[unknown]" /* what stands where there is no name */
#define RUN_TIME_NAME "[JIT]"

/* --- words ------------------------------------------------------------------------------------ */

static const struct {
	const char *text;
	enum folded_mark mark;
} marks[] = {
	{"_[k]", FOLDED_KERNEL},
	{"_[i]", FOLDED_INLINED},
	{"_[j]", FOLDED_RUN_TIME},
};

static const struct {
	const char *text;
	enum folded_mark mark;
} whole_words[] = {
	{"[Missed User Stack]", FOLDED_MISSED_USER},
	{"[Missed Kernel Stack]", FOLDED_MISSED_KERNEL},
	{"-", FOLDED_DELIMITER},
	{"--", FOLDED_WAKER},
};

/* The bytes of the name before the mark. */
static size_t name_bytes(const char *text, size_t nr, enum folded_mark *ret)
{
	size_t i;

	*ret = FOLDED_PLAIN;
	for (i = 0; i < ARRAY_SIZE(marks); i++)
		if (nr > strlen(marks[i].text) && text_ends_with(text, nr, marks[i].text)) {
			*ret = marks[i].mark;
			return nr - strlen(marks[i].text);
		}
	for (i = 0; i < ARRAY_SIZE(whole_words); i++)
		if (nr == strlen(whole_words[i].text) && !memcmp(text, whole_words[i].text, nr))
			*ret = whole_words[i].mark;
	return nr;
}

static int64_t add_name(struct folded_words *words, const char *text, size_t nr)
{
	if (nr == strlen(UNKNOWN_NAME) && !memcmp(text, UNKNOWN_NAME, nr))
		return 0;
	return clean_string_add(words->profile, text, nr);
}

static int set_word(struct folded_words *words, size_t number, const char *text, size_t nr)
{
	struct folded_word word = {
		.nr_text = (uint32_t)nr,
		.frames = {FOLDED_NONE, FOLDED_NONE, FOLDED_NONE},
		.comm = FOLDED_NONE,
	};
	int64_t name = add_name(words, text, name_bytes(text, nr, &word.mark));

	if (name < 0)
		return (int)name;
	word.name = (uint32_t)name;
	words->words[number] = word;
	return 0;
}

int64_t folded_words_add(struct folded_words *words, const char *text, size_t nr)
{
	uint32_t nr_known = strings_nr(words->texts);
	int64_t number = -ENOMEM;

	/* Room first: a text without its word would be found later. */
	if (array_reserve(&words->words, &words->cap_words, (size_t)nr_known + 1,
			  sizeof(*words->words)) == 0)
		number = strings_add_bytes(words->texts, text, nr);
	if (number == nr_known && set_word(words, (size_t)number, text, nr) < 0)
		return -ENOMEM;
	return number;
}

/* --- what words stand for --------------------------------------------------------------------- */

/* The module of a word's frame, and its kind. */
static int64_t module_of(struct folded_words *words, enum folded_mark mark, enum frame_kind *ret)
{
	struct module module = {.kind = MODULE_RUN_TIME};
	int64_t number;

	*ret = mark == FOLDED_KERNEL ? FRAME_KERNEL : FRAME_USER;
	if (mark != FOLDED_RUN_TIME)
		return mark == FOLDED_KERNEL ? MODULE_NR_KERNEL : MODULE_NR_UNKNOWN;
	if (words->run_time_module != FOLDED_NONE)
		return words->run_time_module;
	number = profile_add_string(words->profile, RUN_TIME_NAME);
	if (number < 0)
		return number;
	module.name = (uint32_t)number;
	number = profile_add_module(words->profile, &module);
	if (number >= 0)
		words->run_time_module = (uint32_t)number;
	return number;
}

/* The string of a word's name; a mark that does not fit the kind is part of it. */
static int64_t name_as(struct folded_words *words, uint32_t number, enum folded_mark kind)
{
	const struct folded_word *word = folded_word(words, number);

	if (word->mark == kind || word->mark == FOLDED_PLAIN)
		return word->name;
	return add_name(words, folded_word_text(words, number), word->nr_text);
}

int64_t folded_words_frame(struct folded_words *words, uint32_t number, enum folded_mark kind)
{
	uint32_t known = folded_word(words, number)->frames[kind];
	struct code_line line = {0};
	enum frame_kind frame_kind;
	int64_t name, result;

	if (known != FOLDED_NONE)
		return known;
	name = name_as(words, number, kind);
	if (name < 0)
		return name;
	line.function = (uint32_t)name;
	result = module_of(words, kind, &frame_kind);
	if (result >= 0)
		result = profile_add_named_frame(words->profile, frame_kind, (uint32_t)result,
						 &line, name != 0);
	if (result >= 0)
		words->words[number].frames[kind] = (uint32_t)result;
	return result;
}

int64_t folded_words_comm(struct folded_words *words, uint32_t number)
{
	int64_t result = folded_word(words, number)->comm;

	if (result != FOLDED_NONE)
		return result;
	result = clean_string_add(words->profile, folded_word_text(words, number),
				  folded_word(words, number)->nr_text);
	if (result >= 0)
		words->words[number].comm = (uint32_t)result;
	return result;
}

int64_t folded_words_inlined(struct folded_words *words, const uint32_t *chain, size_t nr,
			     enum folded_mark kind)
{
	cleanup_free struct code_line *lines = calloc(nr, sizeof(*lines));
	enum frame_kind frame_kind;
	int64_t result;
	size_t i;

	if (!lines)
		return -ENOMEM;
	for (i = 1; i < nr; i++)
		lines[nr - 1 - i].function = folded_word(words, chain[i])->name;
	result = name_as(words, chain[0], kind);
	if (result < 0)
		return result;
	lines[nr - 1].function = (uint32_t)result;
	result = module_of(words, kind, &frame_kind);
	if (result < 0)
		return result;
	return profile_add_named_frame(words->profile, frame_kind, (uint32_t)result, lines, nr);
}

/* --- the whole -------------------------------------------------------------------------------- */

int folded_words_init(struct folded_words *words, struct profile *profile)
{
	*words = (struct folded_words){.profile = profile, .run_time_module = FOLDED_NONE};
	words->texts = strings_new();
	if (!words->texts ||
	    array_reserve(&words->words, &words->cap_words, 1, sizeof(*words->words)) < 0)
		return -ENOMEM;
	return set_word(words, FOLDED_EMPTY_WORD, "", 0); /* a text that is there from the start */
}

void folded_words_clear(struct folded_words *words)
{
	strings_free(words->texts);
	free(words->words);
}
