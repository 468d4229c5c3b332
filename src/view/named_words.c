/* A frame's words are made when the first sample needs them, and then found by the frame's number. */
#include "view/named_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define UNKNOWN_NAME "[unknown]"

/* --- words ------------------------------------------------------------------------------------ */

static char clean_byte(char separator, char byte)
{
	if (separator && byte == separator)
		return ':';
	return (unsigned char)byte < ' ' || byte == 0x7f ? '?' : byte;
}

static void write_text(struct named_words *named, const char *text)
{
	size_t nr = strlen(text);
	size_t i;

	if (named->error ||
	    array_reserve(&named->text, &named->cap_text, named->nr_text + nr, 1) < 0) {
		named->error = -ENOMEM;
		return;
	}
	for (i = 0; i < nr; i++)
		named->text[named->nr_text++] = clean_byte(named->style->separator, text[i]);
}

static void write_name(struct named_words *named, const char *name)
{
	write_text(named, *name ? name : UNKNOWN_NAME);
}

static void write_number(struct named_words *named, int32_t number)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%d", (int)number);
	write_text(named, digits);
}

/* A thread and a function of the same name are never one: a stack says which by its place. */
static bool same_word(const struct named_words *named, const struct word_info *a,
		      const struct word_info *b)
{
	if (a->text != b->text || (a->kind == WORD_LABEL) != (b->kind == WORD_LABEL))
		return false;
	return !named->style->tell_apart || (a->kind == b->kind && a->module == b->module);
}

static int64_t intern_word(struct named_words *named, const struct word_info *info)
{
	struct named_stacks *stacks = named->stacks;
	uint64_t hash = hash_u64(info->text);
	size_t probe = 0;
	uint32_t number;

	if (named->style->tell_apart)
		hash = hash_add(hash, (uint64_t)info->kind << 32 | info->module);
	else
		hash = hash_add(hash, info->kind == WORD_LABEL);
	while (number_index_next(&stacks->word_index, hash, &probe, &number))
		if (same_word(named, &stacks->words[number], info))
			return number;
	if (array_reserve(&stacks->words, &stacks->cap_words, stacks->nr_words + 1,
			  sizeof(*stacks->words)) < 0 ||
	    number_index_reserve(&stacks->word_index) < 0)
		return -ENOMEM;
	number_index_add(&stacks->word_index, hash, (uint32_t)stacks->nr_words);
	stacks->words[stacks->nr_words] = *info;
	return (int64_t)stacks->nr_words++;
}

/* Ends the word that was written; 0 after a failure. */
static uint32_t finish_word(struct named_words *named, struct word_info info)
{
	int64_t number = named->error;

	if (!number && strings_bytes(named->stacks->texts) > NAMED_STACKS_MAX_BYTES)
		number = -ENOMEM;
	if (!number)
		number = strings_add_bytes(named->stacks->texts, named->text, named->nr_text);
	named->nr_text = 0;
	if (number >= 0) {
		info.text = (uint32_t)number;
		number = intern_word(named, &info);
	}
	if (number < 0) {
		named->error = (int)number;
		return 0;
	}
	return (uint32_t)number;
}

/* --- labels ----------------------------------------------------------------------------------- */

static uint32_t finish_label(struct named_words *named)
{
	return finish_word(named, (struct word_info){.kind = WORD_LABEL});
}

/* A pid that was not asked for is 0, which is the idle thread's too; "?" as perf's scripts have it.
 */
static void write_pid(struct named_words *named, const struct sample_labels *labels)
{
	if (labels->pid || named->style->labels & LABEL_PID)
		write_number(named, labels->pid);
	else
		write_text(named, "?");
}

uint32_t named_words_thread(struct named_words *named, const struct sample_labels *labels)
{
	write_name(named, profile_string(named->profile, labels->comm));
	if (named->style->labels & (LABEL_PID | LABEL_TID)) {
		write_text(named, "-");
		write_pid(named, labels);
	}
	if (named->style->labels & LABEL_TID) {
		write_text(named, "/");
		write_number(named, labels->tid);
	}
	return finish_label(named);
}

uint32_t named_words_number(struct named_words *named, const char *what, int32_t number)
{
	write_text(named, what);
	write_number(named, number);
	return finish_label(named);
}

uint32_t named_words_text(struct named_words *named, const char *what, const char *text)
{
	write_text(named, what);
	write_name(named, text);
	return finish_label(named);
}

uint32_t named_words_missed(struct named_words *named, const char *text)
{
	write_text(named, text);
	return finish_word(named, (struct word_info){.kind = WORD_MISSED});
}

/* --- frames ----------------------------------------------------------------------------------- */

const char *named_stacks_no_name(const struct profile *profile, uint32_t module)
{
	const struct module_code *code = profile_code(profile, module);

	return code && code->is_gone ? "[deleted]" : UNKNOWN_NAME;
}

static void write_function(struct named_words *named, const struct frame *frame, uint32_t function)
{
	const struct module *module = profile_module(named->profile, frame->module);

	write_text(named, function ? profile_string(named->profile, function)
				   : named_stacks_no_name(named->profile, frame->module));
	if (!function && named->style->show_modules && frame->kind == FRAME_USER &&
	    module->kind != MODULE_UNKNOWN) {
		write_text(named, " (");
		write_text(named, profile_module_name(named->profile, frame->module));
		write_text(named, ")");
	}
}

static void write_place(struct named_words *named, const struct code_line *line)
{
	const char *path = profile_string(named->profile, line->file);
	const char *slash = strrchr(path, '/');
	char number[16];

	if (!line->file || !line->line || !named->style->lines)
		return;
	(void)snprintf(number, sizeof(number), ":%u", line->line);
	write_text(named, " ");
	write_text(named, slash ? slash + 1 : path);
	write_text(named, number);
}

static enum word_kind kind_of(const struct named_words *named, const struct frame *frame,
			      bool is_inlined)
{
	if (is_inlined)
		return WORD_INLINED;
	if (frame->kind == FRAME_KERNEL)
		return WORD_KERNEL;
	return profile_module(named->profile, frame->module)->kind == MODULE_RUN_TIME
		       ? WORD_RUN_TIME
		       : WORD_USER;
}

static void write_suffix(struct named_words *named, enum word_kind kind)
{
	const struct named_stacks_suffixes *suffixes = &named->style->suffixes;
	const char *suffix = NULL;

	if (kind == WORD_INLINED)
		suffix = suffixes->inlined;
	else if (kind == WORD_KERNEL)
		suffix = suffixes->kernel;
	else if (kind == WORD_RUN_TIME)
		suffix = suffixes->run_time;
	if (suffix)
		write_text(named, suffix);
}

/* Ends the word of a function in this frame. */
static void add_word(struct named_words *named, const struct frame *frame, uint32_t function,
		     bool is_inlined, struct frame_words *words)
{
	struct word_info info = {
		.function = function,
		.module = frame->module,
		.kind = kind_of(named, frame, is_inlined),
	};
	uint32_t word;

	write_suffix(named, info.kind);
	word = finish_word(named, info);
	if (named->error || array_reserve(&named->words, &named->cap_words, named->nr_words + 1,
					  sizeof(word)) < 0) {
		named->error = -ENOMEM;
		return;
	}
	named->words[named->nr_words++] = word;
	words->nr++;
}

static void make_words(struct named_words *named, const struct frame *frame,
		       struct frame_words *words)
{
	const struct code_line *lines = NULL;
	size_t i;

	if (frame->nr_lines)
		lines = profile_lines(named->profile, frame);
	words->first = (uint32_t)named->nr_words;
	for (i = frame->nr_lines; i; i--) {
		write_function(named, frame, lines[i - 1].function);
		write_place(named, &lines[i - 1]);
		add_word(named, frame, lines[i - 1].function, i < frame->nr_lines, words);
	}
	if (frame->nr_lines)
		return;
	write_function(named, frame, frame->function);
	add_word(named, frame, frame->function, false, words);
}

const uint32_t *named_words_of_frame(struct named_words *named, uint32_t number, size_t *ret_nr)
{
	struct frame_words *words = &named->words_of_frame[number];

	if (!words->nr)
		make_words(named, profile_frame(named->profile, number), words);
	*ret_nr = named->error ? 0 : words->nr;
	return named->words + words->first;
}

/* --- the whole -------------------------------------------------------------------------------- */

int named_words_init(struct named_words *named, const struct profile *profile,
		     const struct named_stacks_style *style, struct named_stacks *stacks)
{
	*named = (struct named_words){.profile = profile, .style = style, .stacks = stacks};
	named->words_of_frame =
		calloc(profile_nr_frames(profile) + 1, sizeof(*named->words_of_frame));
	return named->words_of_frame ? 0 : -ENOMEM;
}

void named_words_clear(struct named_words *named)
{
	free(named->words_of_frame);
	free(named->words);
	free(named->text);
}
