/*
 * Reads folded stacks. Speed is the point: files have hundreds of megabytes, and a few thousand
 * different words. A word is looked for first where the line before had one, since neighbours mostly
 * share their first half; else its text is hashed once and its number, and so its frame, is known.
 * Nothing is allocated for a line, and marks are looked at only in lines that have some.
 */
#include "format/folded/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd_io.h"
#include "format/folded/folded_words.h"
#include "format/text/columns.h"
#include "profile/profile.h"
#include "view/diff/difference.h"

#define SEPARATOR ';'

struct reader {
	const struct format_read_options *options;
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct line_reader lines;
	struct folded_words words;
	struct value_scale scale;
	size_t before;	     /* the value's number; 0: this is no difference */
	uint64_t nr_good;    /* lines */
	uint64_t nr_lossy;   /* numbers that were rounded */
	uint64_t bare_count; /* of lines that are one word, if that is a thread */

	uint32_t *line; /* numbers of words; behind nr_line still those of the line before */
	size_t nr_line, nr_before, cap_line;
	bool has_marks;	   /* words that are not just names */
	bool is_annotated; /* some of them as --annotate marks names */

	uint32_t *frames; /* of the line's stack, leaf first */
	size_t nr_frames, nr_kernel, cap_frames;
	bool is_delimited; /* a word of the line was no frame, but between user and kernel */
};

/* --- words of a line -------------------------------------------------------------------------- */

static bool is_word(const struct reader *reader, uint32_t number, const char *at, size_t nr_left)
{
	size_t nr = folded_word(&reader->words, number)->nr_text;

	return nr <= nr_left && (nr == nr_left || at[nr] == SEPARATOR) &&
	       !memcmp(at, folded_word_text(&reader->words, number), nr);
}

/* The number of the word that begins here, or -ENOMEM. */
static int64_t next_word(struct reader *reader, const char *at, size_t nr_left)
{
	const char *end;

	if (reader->nr_line < reader->nr_before &&
	    is_word(reader, reader->line[reader->nr_line], at, nr_left))
		return reader->line[reader->nr_line];
	end = memchr(at, SEPARATOR, nr_left);
	return folded_words_add(&reader->words, at, end ? (size_t)(end - at) : nr_left);
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
 * The words of a line. The first one is the thread: the empty word if lines have none. There is always
 * one word more: an empty text is one empty word.
 */
static int read_words(struct reader *reader, const char *text, size_t nr)
{
	const char *at = text, *end = text + nr;

	reader->nr_before = reader->nr_line;
	reader->nr_line = 0;
	reader->has_marks = reader->is_annotated = false;
	if (reader->options->no_comm && push_word(reader, FOLDED_EMPTY_WORD) < 0)
		return -ENOMEM;
	for (;;) {
		int64_t number = next_word(reader, at, (size_t)(end - at));
		const struct folded_word *word;

		if (push_word(reader, number) < 0)
			return -ENOMEM;
		word = folded_word(&reader->words, (uint32_t)number);
		if (reader->nr_line > 1 && word->mark != FOLDED_PLAIN) {
			reader->has_marks = true;
			reader->is_annotated |= word->mark <= FOLDED_INLINED;
		}
		at += word->nr_text;
		if (at == end)
			return 0;
		at++;
	}
}

/* --- stacks ----------------------------------------------------------------------------------- */

static enum folded_mark mark_of(const struct reader *reader, size_t i)
{
	return folded_word(&reader->words, reader->line[i])->mark;
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
		int64_t frame = folded_word(&reader->words, number)->frames[FOLDED_PLAIN];

		if (frame == FOLDED_NONE)
			frame = folded_words_frame(&reader->words, number, FOLDED_PLAIN);
		result = push_frame(reader, frame);
	}
	return result;
}

/* A frame is the words from `first` up to `end`: itself, and what was inlined into it. */
static int push_marked_frame(struct reader *reader, size_t first, size_t end, bool in_kernel)
{
	enum folded_mark kind =
		mark_of(reader, first) == FOLDED_RUN_TIME ? FOLDED_RUN_TIME : FOLDED_PLAIN;

	if (in_kernel)
		kind = FOLDED_KERNEL;
	reader->nr_kernel += in_kernel;
	if (end - first > 1)
		return push_frame(reader, folded_words_inlined(&reader->words, reader->line + first,
							       end - first, kind));
	return push_frame(reader, folded_words_frame(&reader->words, reader->line[first], kind));
}

/* Where the frame begins that the word before `end` belongs to. */
static size_t frame_start(const struct reader *reader, size_t begin, size_t end)
{
	size_t first = end - 1;

	while (first > begin && mark_of(reader, first) == FOLDED_INLINED)
		first--;
	return first;
}

/* The kernel's frames are at the leaf, in a row. */
static int push_marked_frames(struct reader *reader, size_t begin, size_t end)
{
	bool in_kernel = true;
	int result = 0;

	while (end > begin && !result) {
		size_t first = frame_start(reader, begin, end);

		in_kernel = in_kernel && mark_of(reader, first) == FOLDED_KERNEL;
		result = push_marked_frame(reader, first, end, in_kernel);
		end = first;
	}
	return result;
}

/* True if all words from `begin` on are the kernel's. */
static bool is_kernel_only(const struct reader *reader, size_t begin, size_t end)
{
	while (end > begin) {
		end = frame_start(reader, begin, end);
		if (mark_of(reader, end) != FOLDED_KERNEL)
			return false;
	}
	return true;
}

/*
 * The word for a missed stack is no frame: it stands where that stack would be, and there are no
 * frames of that stack.
 */
static int push_frames(struct reader *reader, struct sample_labels *labels)
{
	size_t begin = 1, end = reader->nr_line;

	if (end > 1 && mark_of(reader, end - 1) == FOLDED_MISSED_KERNEL &&
	    (end == 2 || mark_of(reader, frame_start(reader, 1, end - 1)) != FOLDED_KERNEL)) {
		labels->kernel_end = WALK_MISSED;
		end--;
	}
	if (end > 1 && mark_of(reader, 1) == FOLDED_MISSED_USER && is_kernel_only(reader, 2, end)) {
		labels->user_end = WALK_MISSED;
		begin++;
	}
	return push_marked_frames(reader, begin, end);
}

/*
 * The place of the one delimiter, or 0. It stands between frames: next to a stack that was missed
 * nobody writes it.
 */
static size_t find_delimiter(const struct reader *reader)
{
	size_t at = 0, last = reader->nr_line - 1, i;

	for (i = 1; i <= last; i++) {
		enum folded_mark mark = mark_of(reader, i);

		if (mark == FOLDED_WAKER || (mark == FOLDED_DELIMITER && at))
			return 0;
		if (mark == FOLDED_DELIMITER)
			at = i;
	}
	if (at < 2 || at == last || (at == 2 && mark_of(reader, 1) == FOLDED_MISSED_USER) ||
	    (at + 1 == last && mark_of(reader, last) == FOLDED_MISSED_KERNEL))
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

/* The frames of the line, and how user and kernel stack ended. 0 or -ENOMEM. */
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
	int64_t number = folded_words_comm(&reader->words, reader->line[0]);
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

/* The numbers of a line, and in *nr the bytes of its stack. */
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
	/* Totals have to be numbers, too. */
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

/* The first lines decide for all: if this is a difference, and how many decimals counts have. */
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
	char number[COLUMNS_NUMBER_BYTES], text[96];
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
				 "its stacks have more than %s frames, the most that one may have",
				 columns_number(number, FORMAT_MAX_FRAMES));
	if (!reader->nr_good && reader->notes->bad_lines)
		return error_set(reader->error, -EBADMSG,
				 "no line of it is folded stacks: `THREAD;FUNCTION;FUNCTION COUNT` "
				 "is expected");
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
	folded_words_clear(&reader->words);
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
	int result = folded_words_init(&reader.words, profile);

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
	if (!last && !shape.nr_good) /* one line that is longer than this */
		return memchr(head, SEPARATOR, nr) != NULL;
	return shape.nr_good > shape.nr_lines / 2;
}
