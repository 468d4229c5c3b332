/* See perf_script_words.h. What stands before a number is in no other word. */
#include "format/perf/perf_script_words.h"

#include <stdbool.h>

#define BEFORE_NUMBER '~'

static char word_byte(char byte)
{
	bool is_other = (unsigned char)byte <= ' ' || byte == 0x7f || byte == BEFORE_NUMBER;

	return is_other ? '_' : byte;
}

static bool same_word(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (word_byte(*a) != word_byte(*b))
			return false;
	return *a == *b;
}

static const char *count_text(const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	uint32_t event = origin->counted.type ? origin->counted.type : origin->event;

	return event ? profile_string(profile, event) : "samples";
}

static unsigned char number_of(const struct perf_words *words, const char *text)
{
	unsigned char nr_before = 0;
	size_t i;

	for (i = 0; i < words->nr; i++)
		nr_before += same_word(words->texts[i], text);
	return nr_before ? nr_before + 1 : 0;
}

void perf_words_init(struct perf_words *words, const struct profile *profile)
{
	size_t nr = profile_nr_values(profile);

	words->nr = 0;
	for (; words->nr < nr; words->nr++) {
		struct value_type type = profile_value_type(profile, words->nr);
		const char *text =
			words->nr ? profile_string(profile, type.type) : count_text(profile);

		words->numbers[words->nr] = number_of(words, text);
		words->texts[words->nr] = text;
	}
}

void perf_words_put_text(const char *text, FILE *out)
{
	for (; *text; text++)
		(void)putc_unlocked(word_byte(*text), out);
}

void perf_words_put(const struct perf_words *words, size_t value, FILE *out)
{
	perf_words_put_text(words->texts[value], out);
	if (words->numbers[value])
		(void)fprintf(out, "%c%u", BEFORE_NUMBER, words->numbers[value]);
}
