/*
 * A function is a name in a module, as view/function_totals has it; one without a name is the
 * module.
 */
#include "format/page/html_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "view/categories.h"

#define REST_TEXT "(left out)"

/* --- functions ------------------------------------------------------------------------------- */

static uint64_t function_hash(const struct html_function *function)
{
	return hash_u64((uint64_t)function->name << 32 | function->module);
}

static int64_t add_function(struct html_words *words, const struct html_function *function)
{
	uint64_t hash = function_hash(function);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&words->function_index, hash, &probe, &number))
		if (words->functions[number].name == function->name &&
		    words->functions[number].module == function->module)
			return number;
	if (number_index_reserve(&words->function_index) < 0 ||
	    array_reserve(&words->functions, &words->cap_functions, words->nr_functions + 1,
			  sizeof(*words->functions)) < 0)
		return -ENOMEM;
	number_index_add(&words->function_index, hash, (uint32_t)words->nr_functions);
	words->functions[words->nr_functions] = *function;
	return (int64_t)words->nr_functions++;
}

/* What a function that has no name is called: as named stacks with show_modules call it. */
static int64_t no_name(struct html_words *words, uint32_t module, enum frame_kind kind)
{
	const char *text = named_stacks_no_name(words->profile, module);
	cleanup_free char *full = NULL;

	if (kind == FRAME_KERNEL || profile_module(words->profile, module)->kind == MODULE_UNKNOWN)
		return strings_add(words->texts, text);
	if (asprintf(&full, "%s (%s)", text, profile_module_name(words->profile, module)) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	return strings_add(words->texts, full);
}

/* name: the profile's string; 0: none. The function's number, or -ENOMEM. */
static int64_t function_of(struct html_words *words, uint32_t name, uint32_t module,
			   enum frame_kind kind)
{
	struct html_function function = {.module = module};
	const char *text = profile_string(words->profile, name);
	int64_t number = name ? strings_add(words->texts, text) : no_name(words, module, kind);

	if (number < 0)
		return number;
	function.name = (uint32_t)number;
	if (words->categories && name)
		function.category = (uint8_t)categories_of_function(
			words->categories, text, profile_module_name(words->profile, module), kind);
	return add_function(words, &function);
}

/* --- words ----------------------------------------------------------------------------------- */

static bool same_word(const struct html_word *a, const struct html_word *b)
{
	return a->text == b->text && a->function == b->function && a->kind == b->kind;
}

static int64_t add_word(struct html_words *words, const struct html_word *word)
{
	uint64_t hash = hash_add((uint64_t)word->text << 32 | word->function, word->kind);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&words->word_index, hash, &probe, &number))
		if (same_word(&words->words[number], word))
			return number;
	if (number_index_reserve(&words->word_index) < 0 ||
	    array_reserve(&words->words, &words->cap_words, words->nr_words + 1,
			  sizeof(*words->words)) < 0)
		return -ENOMEM;
	number_index_add(&words->word_index, hash, (uint32_t)words->nr_words);
	words->words[words->nr_words] = *word;
	return (int64_t)words->nr_words++;
}

int64_t html_words_add(struct html_words *words, const struct named_stacks *stacks, uint32_t number)
{
	const struct word_info *info = named_stacks_info(stacks, number);
	int64_t text = strings_add(words->texts, named_stacks_word(stacks, number));
	struct html_word word = {.kind = (uint8_t)info->kind};
	int64_t function;

	if (text < 0)
		return text;
	word.text = (uint32_t)text;
	if (info->kind != WORD_LABEL && info->kind != WORD_MISSED) {
		function = function_of(words, info->function, info->module,
				       info->kind == WORD_KERNEL ? FRAME_KERNEL : FRAME_USER);
		if (function < 0)
			return function;
		word.function = (uint32_t)function + 1;
	}
	return add_word(words, &word);
}

/* --- all of it ------------------------------------------------------------------------------- */

int html_words_init(struct html_words *words, const struct profile *profile,
		    const struct categories *categories)
{
	struct html_word rest = {.kind = NR_WORD_KINDS};
	int64_t text;

	*words = (struct html_words){.profile = profile, .categories = categories};
	words->texts = strings_new();
	text = words->texts ? strings_add(words->texts, REST_TEXT) : -ENOMEM;
	rest.text = (uint32_t)text;
	if (text < 0 || add_word(words, &(struct html_word){.kind = WORD_LABEL}) < 0 ||
	    add_word(words, &rest) < 0) {
		html_words_clear(words);
		return -ENOMEM;
	}
	return 0;
}

void html_words_clear(struct html_words *words)
{
	strings_free(words->texts);
	free(words->functions);
	number_index_clear(&words->function_index);
	free(words->words);
	number_index_clear(&words->word_index);
	*words = (struct html_words){0};
}

int html_words_add_totals(struct html_words *words)
{
	cleanup(function_totals_clear) struct function_totals totals = {0};
	size_t i;

	if (function_totals_init(&totals, words->profile) < 0)
		return -ENOMEM;
	words->has_totals = true;
	for (i = 0; i < totals.nr; i++) {
		const struct function_total *total = &totals.functions[i];
		int64_t function = function_of(words, total->name, total->module, total->kind);

		if (function < 0)
			return (int)function;
		words->functions[function].self += total->self;
		words->functions[function].total += total->total;
	}
	return 0;
}

/* --- columns --------------------------------------------------------------------------------- */

static void put_texts(const struct html_words *words, struct html_columns *columns)
{
	size_t column = html_columns_add(columns, "texts");
	uint32_t i;

	for (i = 0; i < strings_nr(words->texts); i++) {
		const char *text = strings_get(words->texts, i);

		/* With a NUL between two of them. */
		html_columns_put_bytes(columns, column, "", i > 0);
		html_columns_put_bytes(columns, column, text, strlen(text));
	}
}

static void put_modules(const struct html_words *words, struct html_columns *columns)
{
	size_t column = html_columns_add(columns, "modules");
	uint32_t i;

	for (i = 0; i < profile_nr_modules(words->profile); i++) {
		int64_t text = 0;

		if (profile_module(words->profile, i)->kind != MODULE_UNKNOWN)
			text = strings_add(words->texts, profile_module_name(words->profile, i));
		if (text < 0)
			columns->failed = true;
		html_columns_put(columns, column, text < 0 ? 0 : (uint64_t)text);
	}
}

static void put_functions(const struct html_words *words, struct html_columns *columns)
{
	size_t name = html_columns_add(columns, "function.name");
	size_t module = html_columns_add(columns, "function.module");
	size_t category = html_columns_add(columns, "function.category");
	size_t self = 0, total = 0, i;

	if (words->has_totals) {
		self = html_columns_add(columns, "function.self");
		total = html_columns_add(columns, "function.total");
	}
	for (i = 0; i < words->nr_functions; i++) {
		const struct html_function *function = &words->functions[i];

		html_columns_put(columns, name, function->name);
		html_columns_put(columns, module, function->module);
		html_columns_put(columns, category, function->category);
		if (!words->has_totals)
			continue;
		html_columns_put(columns, self, function->self);
		html_columns_put(columns, total, function->total);
	}
}

void html_words_put(const struct html_words *words, struct html_columns *columns)
{
	size_t text, kind, function, i;

	put_modules(words, columns); /* which have texts, too */
	put_texts(words, columns);
	put_functions(words, columns);
	text = html_columns_add(columns, "word.text");
	kind = html_columns_add(columns, "word.kind");
	function = html_columns_add(columns, "word.function");
	for (i = 0; i < words->nr_words; i++) {
		html_columns_put(columns, text, words->words[i].text);
		html_columns_put(columns, kind, words->words[i].kind);
		html_columns_put(columns, function, words->words[i].function);
	}
}
