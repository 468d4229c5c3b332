/*
 * Reads folded stacks. Optimised for speed: files have hundreds of megabytes, and a few thousand
 * different words. A word is first compared with the word at the same place in the previous line,
 * since neighbouring lines mostly share their first half. Otherwise its text is hashed once to find
 * its number and frame. The frames of a word are made on first use: most words are used as one kind
 * of frame only. There are no allocations per line, and marks are handled only in lines that have
 * them.
 *
 * Numbers are parsed from the end of the line, because the text before them is arbitrary.
 */
#include "format/folded/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/strings.h"
#include "base/text.h"
#include "format/folded/folded_test.h"
#include "profile/profile.h"
#include "view/diff/difference.h"

#define SEPARATOR ';'

/* --- numbers ---------------------------------------------------------------------------------- */

/* Limit of numbers: that of pprof files. */
#define MAX_NUMBER ((uint64_t)INT64_MAX)

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The text of a number. */
struct digits {
	const char *whole, *fraction;
	size_t nr_whole, nr_fraction; /* without trailing zeros of the fraction */
};

/* Finds the number at the end of a text, if it is preceded by a blank that can follow a stack. */
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
	if (ret->nr_fraction) { /* skip the dot */
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

/* --- words ------------------------------------------------------------------------------------ */

#define UNKNOWN_NAME  "[unknown]" /* written for frames without a name */
#define RUN_TIME_NAME "[JIT]"

/* The meaning of the mark after a name, or of the whole word. */
enum mark {
	MARK_PLAIN,
	MARK_KERNEL,
	MARK_RUN_TIME,
	NR_FRAME_MARKS, /* number of marks that are kinds of frames */
	MARK_INLINED = NR_FRAME_MARKS,
	MARK_MISSED_USER,
	MARK_MISSED_KERNEL,
	MARK_DELIMITER, /* `-` */
	MARK_WAKER,	/* `--` */
};

#define NONE	   UINT32_MAX
#define EMPTY_WORD 0 /* number of the empty word */

struct word {
	uint32_t nr_text;
	enum mark mark;
	uint32_t name; /* string in the profile, without the mark; 0: none */
	/* The word as a frame of each kind; NONE: not made yet. */
	uint32_t frames[NR_FRAME_MARKS];
	uint32_t comm; /* string in the profile, as a thread's name; NONE: not made yet */
};

struct words {
	struct profile *profile;
	struct strings *texts;
	struct word *words; /* indexed by the number of the text */
	size_t cap_words;
	uint32_t run_time_module; /* NONE: not made yet */
};

static const struct word *word_at(const struct words *words, uint32_t word)
{
	return &words->words[word];
}

static const char *word_text(const struct words *words, uint32_t word)
{
	return strings_get(words->texts, word);
}

static const struct {
	const char *text;
	enum mark mark;
} marks[] = {
	{"_[k]", MARK_KERNEL},
	{"_[i]", MARK_INLINED},
	{"_[j]", MARK_RUN_TIME},
};

static const struct {
	const char *text;
	enum mark mark;
} whole_words[] = {
	{"[Missed User Stack]", MARK_MISSED_USER},
	{"[Missed Kernel Stack]", MARK_MISSED_KERNEL},
	{"-", MARK_DELIMITER},
	{"--", MARK_WAKER},
};

/* Returns the length of the name without its mark. */
static size_t name_bytes(const char *text, size_t nr, enum mark *ret)
{
	size_t i;

	*ret = MARK_PLAIN;
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

static int64_t add_name(struct words *words, const char *text, size_t nr)
{
	if (nr == strlen(UNKNOWN_NAME) && !memcmp(text, UNKNOWN_NAME, nr))
		return 0;
	return profile_add_foreign_string(words->profile, text, nr);
}

static int set_word(struct words *words, size_t number, const char *text, size_t nr)
{
	struct word word = {
		.nr_text = (uint32_t)nr,
		.frames = {NONE, NONE, NONE},
		.comm = NONE,
	};
	int64_t name = add_name(words, text, name_bytes(text, nr, &word.mark));

	if (name < 0)
		return (int)name;
	word.name = (uint32_t)name;
	words->words[number] = word;
	return 0;
}

/* Returns the number of a text's word, or -ENOMEM. */
static int64_t words_add(struct words *words, const char *text, size_t nr)
{
	uint32_t nr_known = strings_nr(words->texts);
	int64_t number = -ENOMEM;

	/* Reserve first: otherwise, after an error, a text would exist without its word. */
	if (array_reserve(&words->words, &words->cap_words, (size_t)nr_known + 1,
			  sizeof(*words->words)) == 0)
		number = strings_add_bytes(words->texts, text, nr);
	if (number == nr_known && set_word(words, (size_t)number, text, nr) < 0)
		return -ENOMEM;
	return number;
}

/*
 * The following functions return a number in the profile, or -ENOMEM. Kinds of frames are below
 * NR_FRAME_MARKS; a mark of another kind is part of the name.
 */

/* Returns the module of a frame with this mark, and the frame's kind. */
static int64_t module_of(struct words *words, enum mark mark, enum frame_kind *ret)
{
	struct module module = {.kind = MODULE_RUN_TIME};
	int64_t number;

	*ret = mark == MARK_KERNEL ? FRAME_KERNEL : FRAME_USER;
	if (mark != MARK_RUN_TIME)
		return mark == MARK_KERNEL ? MODULE_NR_KERNEL : MODULE_NR_UNKNOWN;
	if (words->run_time_module != NONE)
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

/* Returns the string of a word's name; a mark that differs from the kind is part of the name. */
static int64_t name_as(struct words *words, uint32_t number, enum mark kind)
{
	const struct word *word = word_at(words, number);

	if (word->mark == kind || word->mark == MARK_PLAIN)
		return word->name;
	return add_name(words, word_text(words, number), word->nr_text);
}

static int64_t words_frame(struct words *words, uint32_t number, enum mark kind)
{
	uint32_t known = word_at(words, number)->frames[kind];
	struct code_line line = {0};
	enum frame_kind frame_kind;
	int64_t name, result;

	if (known != NONE)
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

static int64_t words_comm(struct words *words, uint32_t number)
{
	int64_t result = word_at(words, number)->comm;

	if (result != NONE)
		return result;
	result = profile_add_foreign_string(words->profile, word_text(words, number),
					    word_at(words, number)->nr_text);
	if (result >= 0)
		words->words[number].comm = (uint32_t)result;
	return result;
}

/* Returns the frame of the first word, into which the other words were inlined, callers first. */
static int64_t words_inlined(struct words *words, const uint32_t *chain, size_t nr, enum mark kind)
{
	cleanup_free struct code_line *lines = calloc(nr, sizeof(*lines));
	enum frame_kind frame_kind;
	int64_t result;
	size_t i;

	if (!lines)
		return -ENOMEM;
	for (i = 1; i < nr; i++)
		lines[nr - 1 - i].function = word_at(words, chain[i])->name;
	result = name_as(words, chain[0], kind);
	if (result < 0)
		return result;
	lines[nr - 1].function = (uint32_t)result;
	result = module_of(words, kind, &frame_kind);
	if (result < 0)
		return result;
	return profile_add_named_frame(words->profile, frame_kind, (uint32_t)result, lines, nr);
}

static int words_init(struct words *words, struct profile *profile)
{
	*words = (struct words){.profile = profile, .run_time_module = NONE};
	words->texts = strings_new();
	if (!words->texts ||
	    array_reserve(&words->words, &words->cap_words, 1, sizeof(*words->words)) < 0)
		return -ENOMEM;
	return set_word(words, EMPTY_WORD, "", 0); /* texts already contains the empty text */
}

static void words_clear(struct words *words)
{
	strings_free(words->texts);
	free(words->words);
}

/* --- the reader ------------------------------------------------------------------------------- */

struct reader {
	const struct format_read_options *options;
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct line_reader lines;
	struct words words;
	struct value_scale scale;
	size_t before;	     /* index of the value "before"; 0: not a difference */
	uint64_t nr_good;    /* lines read */
	uint64_t nr_lossy;   /* numbers that were rounded */
	uint64_t bare_count; /* sum of the lines that are a thread's name only */

	uint32_t *line; /* numbers of words; after nr_line those of the previous line */
	size_t nr_line, nr_before, cap_line;
	bool has_marks;	   /* the line has words other than plain names */
	bool is_annotated; /* some of them have marks of --annotate */

	uint32_t *frames; /* the line's stack, leaf first */
	size_t nr_frames, nr_kernel, cap_frames;
	bool is_delimited; /* the line has a delimiter between user and kernel stack */
};

/* --- words of a line -------------------------------------------------------------------------- */

static bool is_word(const struct reader *reader, uint32_t number, const char *at, size_t nr_left)
{
	size_t nr = word_at(&reader->words, number)->nr_text;

	return nr <= nr_left && (nr == nr_left || at[nr] == SEPARATOR) &&
	       !memcmp(at, word_text(&reader->words, number), nr);
}

/* Returns the number of the word that begins at `at`, or -ENOMEM. */
static int64_t next_word(struct reader *reader, const char *at, size_t nr_left)
{
	const char *end;

	if (reader->nr_line < reader->nr_before &&
	    is_word(reader, reader->line[reader->nr_line], at, nr_left))
		return reader->line[reader->nr_line];
	end = memchr(at, SEPARATOR, nr_left);
	return words_add(&reader->words, at, end ? (size_t)(end - at) : nr_left);
}

static int push_word(struct reader *reader, int64_t number)
{
	if (number < 0 || array_reserve(&reader->line, &reader->cap_line, reader->nr_line + 1,
					sizeof(*reader->line)) < 0)
		return -ENOMEM;
	reader->line[reader->nr_line++] = (uint32_t)number;
	return 0;
}

/*
 * Splits a line into words. The first word is the thread: the empty word if lines have no threads.
 * An empty text is one empty word.
 */
static int read_words(struct reader *reader, const char *text, size_t nr)
{
	const char *at = text, *end = text + nr;

	reader->nr_before = reader->nr_line;
	reader->nr_line = 0;
	reader->has_marks = reader->is_annotated = false;
	if (reader->options->no_comm && push_word(reader, EMPTY_WORD) < 0)
		return -ENOMEM;
	for (;;) {
		int64_t number = next_word(reader, at, (size_t)(end - at));
		const struct word *word;

		if (push_word(reader, number) < 0)
			return -ENOMEM;
		word = word_at(&reader->words, (uint32_t)number);
		if (reader->nr_line > 1 && word->mark != MARK_PLAIN) {
			reader->has_marks = true;
			reader->is_annotated |= word->mark <= MARK_INLINED;
		}
		at += word->nr_text;
		if (at == end)
			return 0;
		at++;
	}
}

/* --- stacks ----------------------------------------------------------------------------------- */

static enum mark mark_of(const struct reader *reader, size_t i)
{
	return word_at(&reader->words, reader->line[i])->mark;
}

static int push_frame(struct reader *reader, int64_t frame)
{
	if (frame < 0)
		return (int)frame;
	reader->frames[reader->nr_frames++] = (uint32_t)frame;
	return 0;
}

static int push_plain_frames(struct reader *reader)
{
	int result = 0;
	size_t i;

	for (i = reader->nr_line; i > 1 && !result; i--) {
		uint32_t number = reader->line[i - 1];
		int64_t frame = word_at(&reader->words, number)->frames[MARK_PLAIN];

		if (frame == NONE)
			frame = words_frame(&reader->words, number, MARK_PLAIN);
		result = push_frame(reader, frame);
	}
	return result;
}

/*
 * A frame consists of the words from `first` to before `end`: itself and the functions inlined into
 * it.
 */
static int push_marked_frame(struct reader *reader, size_t first, size_t end, bool in_kernel)
{
	enum mark kind = mark_of(reader, first) == MARK_RUN_TIME ? MARK_RUN_TIME : MARK_PLAIN;

	if (in_kernel)
		kind = MARK_KERNEL;
	reader->nr_kernel += in_kernel;
	if (end - first > 1)
		return push_frame(reader, words_inlined(&reader->words, reader->line + first,
							end - first, kind));
	return push_frame(reader, words_frame(&reader->words, reader->line[first], kind));
}

/* Returns the start of the frame that contains the word before `end`. */
static size_t frame_start(const struct reader *reader, size_t begin, size_t end)
{
	size_t first = end - 1;

	while (first > begin && mark_of(reader, first) == MARK_INLINED)
		first--;
	return first;
}

/* Kernel frames are consecutive, at the leaf. */
static int push_marked_frames(struct reader *reader, size_t begin, size_t end)
{
	bool in_kernel = true;
	int result = 0;

	while (end > begin && !result) {
		size_t first = frame_start(reader, begin, end);

		in_kernel = in_kernel && mark_of(reader, first) == MARK_KERNEL;
		result = push_marked_frame(reader, first, end, in_kernel);
		end = first;
	}
	return result;
}

/* True if all frames from `begin` to `end` are kernel frames. */
static bool is_kernel_only(const struct reader *reader, size_t begin, size_t end)
{
	while (end > begin) {
		end = frame_start(reader, begin, end);
		if (mark_of(reader, end) != MARK_KERNEL)
			return false;
	}
	return true;
}

/*
 * The word for a missed stack is not a frame. It is recognized only in the place of that stack, if
 * the line has no frames of that stack.
 */
static int push_frames(struct reader *reader, struct sample_labels *labels)
{
	size_t begin = 1, end = reader->nr_line;

	if (end > 1 && mark_of(reader, end - 1) == MARK_MISSED_KERNEL &&
	    (end == 2 || mark_of(reader, frame_start(reader, 1, end - 1)) != MARK_KERNEL)) {
		labels->kernel_end = WALK_MISSED;
		end--;
	}
	if (end > 1 && mark_of(reader, 1) == MARK_MISSED_USER && is_kernel_only(reader, 2, end)) {
		labels->user_end = WALK_MISSED;
		begin++;
	}
	return push_marked_frames(reader, begin, end);
}

/*
 * Returns the index of the only delimiter, or 0. A delimiter is between frames; writers do not put
 * one next to the word for a missed stack.
 */
static size_t find_delimiter(const struct reader *reader)
{
	size_t at = 0, last = reader->nr_line - 1, i;

	for (i = 1; i <= last; i++) {
		enum mark mark = mark_of(reader, i);

		if (mark == MARK_WAKER || (mark == MARK_DELIMITER && at))
			return 0;
		if (mark == MARK_DELIMITER)
			at = i;
	}
	if (at < 2 || at == last || (at == 2 && mark_of(reader, 1) == MARK_MISSED_USER) ||
	    (at + 1 == last && mark_of(reader, last) == MARK_MISSED_KERNEL))
		return 0;
	return at;
}

static int push_delimited_frames(struct reader *reader, size_t delimiter)
{
	size_t end = reader->nr_line, first;
	int result = 0;

	for (; end > delimiter + 1 && !result; end = first) {
		first = frame_start(reader, delimiter + 1, end);
		result = push_marked_frame(reader, first, end, true);
	}
	for (end = delimiter; end > 1 && !result; end = first) {
		first = frame_start(reader, 1, end);
		result = push_marked_frame(reader, first, end, false);
	}
	return result;
}

/* Makes the frames of the line, and how user and kernel stack ended. Returns 0 or -ENOMEM. */
static int read_stack(struct reader *reader, struct sample_labels *labels)
{
	size_t delimiter = reader->has_marks ? find_delimiter(reader) : 0;
	int result;

	reader->nr_frames = 0;
	reader->nr_kernel = 0;
	reader->is_delimited = delimiter != 0;
	if (array_reserve(&reader->frames, &reader->cap_frames, reader->nr_line,
			  sizeof(*reader->frames)) < 0)
		return -ENOMEM;
	if (!reader->has_marks)
		result = push_plain_frames(reader);
	else
		result = delimiter ? push_delimited_frames(reader, delimiter)
				   : push_frames(reader, labels);
	if (result < 0)
		return result;
	if (reader->nr_frames > reader->nr_kernel)
		labels->user_end = WALK_COMPLETE;
	if (reader->nr_kernel)
		labels->kernel_end = WALK_UNWOUND;
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(struct reader *reader, uint64_t before, uint64_t count)
{
	struct sample_labels labels = {.user_end = WALK_NONE, .kernel_end = WALK_NONE};
	int64_t number = words_comm(&reader->words, reader->line[0]);
	int result;

	if (number < 0)
		return (int)number;
	labels.comm = (uint32_t)number;
	if (reader->nr_line == 1)
		reader->bare_count += count;
	result = read_stack(reader, &labels);
	if (result < 0)
		return result;
	number = profile_add_sample(reader->profile, &labels, reader->frames, reader->nr_frames,
				    reader->nr_kernel, count);
	if (number >= 0 && reader->before)
		number = profile_add_value(reader->profile, (uint32_t)number, reader->before,
					   before);
	return number < 0 ? (int)number : 0;
}

/* Parses the numbers of a line; *nr becomes the length of its stack. */
static bool take_numbers(struct reader *reader, const struct line *line, size_t *nr,
			 uint64_t *ret_before, uint64_t *ret_count)
{
	bool is_lossy = false;

	*nr = line->nr;
	if (line->is_cut ||
	    !folded_take_number(line->text, nr, reader->scale, ret_count, &is_lossy))
		return false;
	if (reader->before &&
	    !folded_take_number(line->text, nr, reader->scale, ret_before, &is_lossy))
		return false;
	/* The totals must not overflow either. */
	if (!profile_value_has_room(reader->profile, 0, *ret_count) ||
	    (reader->before &&
	     !profile_value_has_room(reader->profile, reader->before, *ret_before)))
		return false;
	reader->nr_lossy += is_lossy;
	return true;
}

static int read_line(struct reader *reader, const struct line *line)
{
	uint64_t before = 0, count;
	size_t nr;
	int result;

	if (!line->nr)
		return 0;
	if (!take_numbers(reader, line, &nr, &before, &count)) {
		if (!reader->notes->bad_lines++)
			reader->notes->first_bad_line = reader->lines.number;
		return 0;
	}
	result = read_words(reader, line->text, nr);
	if (!result && reader->nr_line - 1 > FORMAT_MAX_FRAMES) {
		if (!reader->notes->deep_lines++)
			reader->notes->first_deep_line = reader->lines.number;
		return 0;
	}
	if (!result)
		result = add_sample(reader, before, count);
	reader->notes->annotated |= reader->is_annotated;
	reader->notes->delimited |= reader->is_delimited;
	reader->nr_good++;
	return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int set_weight(struct reader *reader, unsigned decimals)
{
	reader->scale = value_scale(decimals);
	return profile_set_scale(reader->profile, reader->scale);
}

static int set_before(struct reader *reader)
{
	struct value_type type;
	int number;

	if (profile_make_value_type(reader->profile, DIFFERENCE_BEFORE, "count", &type) < 0)
		return -ENOMEM;
	number = profile_add_value_type(reader->profile, &type);
	if (number > 0)
		reader->before = (size_t)number;
	return number < 0 ? number : 0;
}

/* Decides by the first lines if the file is a difference, and how many decimals counts have. */
static int look_ahead(struct reader *reader)
{
	struct folded_shape shape;
	struct line lines;
	unsigned decimals;
	int result = line_reader_peek(&reader->lines, &lines);

	if (result < 0)
		return result;
	shape = folded_shape(lines.text, lines.nr);
	decimals = shape.decimals;
	reader->scale = value_scale(0);
	if (shape.nr_lines && shape.nr_double == shape.nr_lines) {
		if (decimals < shape.decimals_before)
			decimals = shape.decimals_before;
		result = set_before(reader);
	}
	return result < 0 || !decimals ? result : set_weight(reader, decimals);
}

static int read_lines(struct reader *reader)
{
	char number[NUMBER_COMMAS_BYTES], text[96];
	struct line line;
	int result = look_ahead(reader);

	while (result >= 0) {
		result = line_reader_next(&reader->lines, &line);
		if (result <= 0)
			break;
		result = read_line(reader, &line);
	}
	if (result < 0)
		return result;
	if (!reader->nr_good && reader->notes->deep_lines)
		return error_set(reader->error, -EBADMSG,
				 "its stacks have more than %s frames, the limit of a stack",
				 number_commas(number, FORMAT_MAX_FRAMES));
	if (!reader->nr_good && reader->notes->bad_lines)
		return error_set(
			reader->error, -EBADMSG,
			"it has no line of folded stacks: expected `THREAD;FUNCTION;FUNCTION "
			"COUNT`");
	reader->notes->may_lack_comms = reader->bare_count > profile_total(reader->profile) / 2;
	if (!reader->nr_lossy)
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " counts had a fraction and were rounded",
		       reader->nr_lossy);
	return profile_add_comment(reader->profile, text);
}

static void clear_reader(struct reader *reader)
{
	line_reader_clear(&reader->lines);
	words_clear(&reader->words);
	free(reader->line);
	free(reader->frames);
}

int folded_read(FILE *in, const struct format_read_options *options, struct profile *profile,
		struct format_notes *notes, struct error *error)
{
	cleanup(clear_reader) struct reader reader = {.options = options,
						      .profile = profile,
						      .notes = notes,
						      .error = error,
						      .lines = {.in = in}};
	int result = words_init(&reader.words, profile);

	*notes = (struct format_notes){.labels = options->no_comm ? 0 : LABEL_COMM};
	if (!result)
		result = read_lines(&reader);
	return result < 0 && result != -EBADMSG ? line_reader_explain(result, error) : result;
}

bool folded_is_it(const char *head, size_t nr)
{
	const char *last = memrchr(head, '\n', nr);
	struct folded_shape shape;

	if (memchr(head, '\0', nr))
		return false;
	shape = folded_shape(head, last ? (size_t)(last - head) : nr);
	if (!last && !shape.nr_good) /* head ends within the first line */
		return memchr(head, SEPARATOR, nr) != NULL;
	return shape.nr_good > shape.nr_lines / 2;
}
