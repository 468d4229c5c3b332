/*
 * Writes perf script text, and parses the comments at its top. Samples are in the order of the
 * profile, by first occurrence.
 *
 * The comments hold information that perf's text cannot represent, for people and our own reader;
 * other readers skip them. Without them, reading our text would give different numbers, since our
 * periods are sums over many samples.
 *
 *	# ========
 *	# stook: an entry is all samples of one stack and its labels, their sum is its period
 *	# stook: labels: comm pid tid
 *	# stook: began: 1763762400123456789 nanoseconds after 1970
 *	# stook: lasted: 12000304000 nanoseconds
 *	# stook: sampled: every 10000000 nanoseconds of cpu-clock
 *	# stook: periods of cpu-clock: count of samples
 *	# stook: for each sample: 10000000 nanoseconds of cpu
 *	# stook: periods of alloc_space: bytes of alloc_space
 *	# ========
 *
 * `periods of WORD: UNIT of TYPE` describes a value whose event is WORD; the first one is the
 * count. A value that is only the count times the event's period has no entries: instead of
 * `periods` its line gives the amount for each sample. `every N` is omitted if the period varied.
 * Unknown properties have no line. WORD and UNIT are single words, TYPE extends to the end of the
 * line. The text always has a tid; `labels` says if it is real.
 *
 * The Firefox profiler recognizes perf's text by the first line. An empty line follows the last
 * comment; otherwise speedscope would take the comments for the first entry.
 */
#include "format/perf/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "format/perf/perf_script_parts.h"
#include "profile/profile.h"

/* --- event names of values -------------------------------------------------------------------- */

/*
 * The values of a profile as events: a single, unique word each. The count is named after the event
 * that was sampled, whether it is a number of samples or a sum of periods; other values are named
 * after their type, with a number after a word that is taken: `cpu~2`.
 */
struct words {
	const char *texts[PROFILE_MAX_VALUES];	   /* by index of the value; owned by the profile */
	unsigned char numbers[PROFILE_MAX_VALUES]; /* 0: none */
	size_t nr;
};

/* Replaced in words, so that it only precedes numbers. */
#define BEFORE_NUMBER '~'

/* left: bytes left of the current character; 0 at the start of the text. */
static char word_byte(const char *at, size_t *left)
{
	if (!*left)
		*left = text_character(at);
	if (!*left)
		return '_';
	--*left;
	return *at == ' ' || *at == BEFORE_NUMBER ? '_' : *at;
}

static bool same_word(const char *a, const char *b)
{
	size_t left_a = 0, left_b = 0;

	for (; *a && *b; a++, b++)
		if (word_byte(a, &left_a) != word_byte(b, &left_b))
			return false;
	return *a == *b;
}

static void words_init(struct words *words, const struct profile *profile)
{
	uint32_t event = profile_origin(profile)->event;
	bool is_event = event && !profile_is_sum(profile) &&
			!strcmp(profile_value_name(profile, 0), "samples");
	size_t i, k;

	words->nr = profile_nr_values(profile);
	for (i = 0; i < words->nr; i++) {
		words->texts[i] = !i && is_event ? profile_string(profile, event)
						 : profile_value_name(profile, i);
		words->numbers[i] = 0;
		for (k = 0; k < i; k++)
			words->numbers[i] += same_word(words->texts[k], words->texts[i]);
		words->numbers[i] += words->numbers[i] > 0;
	}
}

/* Writes a text of several words as one word. */
static void put_word(const char *text, FILE *out)
{
	size_t left = 0;

	for (; *text; text++)
		(void)putc_unlocked(word_byte(text, &left), out);
}

static void put_value(const struct words *words, size_t value, FILE *out)
{
	put_word(words->texts[value], out);
	if (words->numbers[value])
		(void)fprintf(out, "%c%u", BEFORE_NUMBER, words->numbers[value]);
}

/* --- comments ----------------------------------------------------------------------------------- */

#define RULE "# ========\n"
#define OURS "# stook: "
#define WHAT "an entry is all samples of one stack and its labels, their sum is its period\n"

static const char *const beginnings[] = {
	[PERF_COMMENT_LABELS_ARE] = "labels:",	[PERF_COMMENT_BEGAN] = "began: ",
	[PERF_COMMENT_LASTED] = "lasted: ",	[PERF_COMMENT_SAMPLED] = "sampled: ",
	[PERF_COMMENT_PERIODS] = "periods of ", [PERF_COMMENT_FOR_EACH] = "for each sample: ",
};

static const struct {
	const char *name;
	enum label label;
} label_names[] = {
	{"comm", LABEL_COMM},
	{"pid", LABEL_PID},
	{"tid", LABEL_TID},
	{"cpu", LABEL_CPU},
};

static const char every[] = "every ";
static const char of[] = " of ";

/* Writes `UNIT of TYPE`. */
static void put_type(const char *unit, const char *type, FILE *out)
{
	put_word(unit, out);
	(void)fputs_unlocked(of, out);
	text_write(out, type);
	(void)putc_unlocked('\n', out);
}

/* The labels that perf's text can represent. */
#define PERF_COMMENT_LABELS (LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU)

static void put_run(const struct profile *profile, unsigned labels, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t i;

	(void)fprintf(out, OURS "%s", beginnings[PERF_COMMENT_LABELS_ARE]);
	for (i = 0; i < ARRAY_SIZE(label_names); i++)
		if (labels & label_names[i].label)
			(void)fprintf(out, " %s", label_names[i].name);
	(void)putc_unlocked('\n', out);
	if (origin->time_ns)
		(void)fprintf(out, OURS "%s%" PRIu64 " nanoseconds after 1970\n",
			      beginnings[PERF_COMMENT_BEGAN], origin->time_ns);
	if (origin->duration_ns)
		(void)fprintf(out, OURS "%s%" PRIu64 " nanoseconds\n",
			      beginnings[PERF_COMMENT_LASTED], origin->duration_ns);
	if (!origin->event)
		return;
	(void)fprintf(out, OURS "%s", beginnings[PERF_COMMENT_SAMPLED]);
	if (origin->period)
		(void)fprintf(out, "%s%" PRIu64 " ", every, origin->period);
	put_type(origin->unit ? profile_string(profile, origin->unit) : "count",
		 profile_string(profile, origin->event), out);
}

static void put_comments(const struct profile *profile, const struct words *words, size_t multiple,
			 unsigned labels, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t i;

	(void)fputs_unlocked(RULE OURS WHAT, out);
	put_run(profile, labels, out);
	for (i = 0; i < words->nr; i++) {
		if (i && i == multiple) {
			(void)fprintf(out, OURS "%s%" PRIu64 " ", beginnings[PERF_COMMENT_FOR_EACH],
				      origin->period);
		} else {
			(void)fprintf(out, OURS "%s", beginnings[PERF_COMMENT_PERIODS]);
			put_value(words, i, out);
			(void)fputs_unlocked(": ", out);
		}
		put_type(profile_value_unit(profile, i), profile_value_name(profile, i), out);
	}
	(void)fputs_unlocked(RULE "\n", out);
}

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	struct words words;
	size_t multiple; /* the value without entries, which is the count times the period; or 0 */
	uint64_t nr_entries, nr_written;
	FILE *out;
};

/* --- texts ------------------------------------------------------------------------------------ */

static void put_name(struct writer *writer, uint32_t string)
{
	text_write(writer->out, string ? profile_string(writer->profile, string) : "[unknown]");
}

/*
 * Readers take a blank at the start of a line for a frame, a # for a comment, and blanks after the
 * name for a separator. They are therefore escaped as in /proc/mounts.
 */
static bool is_escaped(const char *text, const char *at)
{
	bool is_first = at == text, is_last = !at[1];

	return *at == '\\' || (*at == '#' && is_first) || (*at == ' ' && (is_first || is_last));
}

static void put_comm(struct writer *writer, uint32_t string)
{
	const char *text = profile_string(writer->profile, string), *at;
	size_t bytes;

	if (!string)
		put_name(writer, string);
	for (at = text; *at; at += bytes ? bytes : 1) {
		bytes = is_escaped(text, at) ? 0 : text_character(at);
		if (bytes == 1)
			(void)putc_unlocked(*at, writer->out);
		else if (bytes)
			(void)fwrite_unlocked(at, 1, bytes, writer->out);
		else
			(void)fprintf(writer->out, "\\%03o", (unsigned char)*at);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

static void put_file(struct writer *writer, const struct frame *frame, int32_t pid)
{
	const struct module *module = profile_module(writer->profile, frame->module);

	if (module->kind == MODULE_RUN_TIME)
		(void)fprintf(writer->out, "/tmp/perf-%d.map", pid < 0 ? 0 : (int)pid);
	else if (frame->kind == FRAME_KERNEL && frame->module <= MODULE_NR_KERNEL)
		(void)fputs_unlocked("[kernel.kallsyms]", writer->out);
	else
		put_name(writer, module->name);
}

/*
 * Writes a function's name. Readers remove text from +0x on, so a start address alone is not
 * written.
 */
static void put_function(struct writer *writer, const struct frame *frame, uint32_t function)
{
	put_name(writer, profile_is_start(writer->profile, function, frame->module) ? 0 : function);
}

static void begin_frame(struct writer *writer, uint64_t address)
{
	(void)fprintf(writer->out, "\t%16" PRIx64 " ", address < PROFILE_NOWHERE ? address : 0);
}

static void put_frame(struct writer *writer, const struct frame *frame, int32_t pid)
{
	const struct code_line *lines = profile_lines(writer->profile, frame);
	size_t i;

	for (i = 0; i + 1 < frame->nr_lines; i++) {
		begin_frame(writer, frame->address);
		put_function(writer, frame, lines[i].function);
		(void)fputs_unlocked(" (inlined)\n", writer->out);
	}
	begin_frame(writer, frame->address);
	put_function(writer, frame,
		     frame->nr_lines ? lines[frame->nr_lines - 1].function : frame->function);
	(void)fputs_unlocked(" (", writer->out);
	put_file(writer, frame, pid);
	(void)fputs_unlocked(")\n", writer->out);
}

static void put_missed(struct writer *writer, const char *what)
{
	begin_frame(writer, 0);
	(void)fprintf(writer->out, "[Missed %s Stack] ([unknown])\n", what);
}

static void put_frames(struct writer *writer, const struct sample *sample)
{
	const uint32_t *frames = profile_sample_frames(writer->profile, sample);
	size_t nr_kernel = sample->nr_kernel_frames, i;

	if (!nr_kernel && sample->labels.kernel_end == WALK_MISSED && !writer->options->no_kernel)
		put_missed(writer, "Kernel");
	for (i = 0; i < sample->nr_frames; i++)
		put_frame(writer, profile_frame(writer->profile, frames[i]), sample->labels.pid);
	if (sample->nr_frames == nr_kernel && sample->labels.user_end == WALK_MISSED &&
	    !writer->options->no_user)
		put_missed(writer, "User");
}

/* --- entries ---------------------------------------------------------------------------------- */

/*
 * Returns the time of an entry. The times of single samples are unknown, so entries are spread
 * evenly: the first and the last one give the duration of the run. If the duration is unknown, none
 * is invented.
 */
static uint64_t time_of(const struct writer *writer, const struct sample *sample)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	uint64_t duration_us = origin->duration_ns / 1000, spread_us = 0;

	if (sample->labels.slice)
		return profile_slice(writer->profile, sample->labels.slice).start_ns / 1000;
	if (writer->nr_entries >= 2)
		spread_us = (uint64_t)((double)duration_us * ((double)writer->nr_written /
							      (double)(writer->nr_entries - 1)));
	return origin->time_ns / 1000 + spread_us;
}

static void put_entry(struct writer *writer, const struct sample *sample, size_t value,
		      uint64_t period)
{
	const struct sample_labels *labels = &sample->labels;
	uint64_t time_us = time_of(writer, sample);

	writer->nr_written++;
	put_comm(writer, labels->comm);
	if (writer->options->labels & LABEL_PID)
		(void)fprintf(writer->out, " %d/%d", (int)labels->pid, (int)labels->tid);
	else
		(void)fprintf(writer->out, " %d", (int)labels->tid);
	if (writer->options->labels & LABEL_CPU)
		(void)fprintf(writer->out, " [%03d]", (int)labels->cpu);
	(void)fprintf(writer->out, " %" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", time_us / 1000000,
		      time_us % 1000000, period);
	put_value(&writer->words, value, writer->out);
	(void)fputs_unlocked(": \n", writer->out);
	put_frames(writer, sample);
	(void)putc_unlocked('\n', writer->out);
}

static uint64_t period_of(const struct writer *writer, uint32_t sample, size_t value)
{
	if (value && value == writer->multiple)
		return 0;
	return profile_value(writer->profile, sample, value);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Returns the value that is redundant with samples and period, like "cpu" in pprof files; or 0. */
static size_t find_multiple(const struct profile *profile)
{
	struct profile_value values[PROFILE_MAX_VALUES];
	size_t nr = profile_values(profile, values), i;

	for (i = 0; i < nr; i++)
		if (values[i].is_event)
			return values[i].number;
	return 0;
}

int perf_script_write(const struct profile *profile, const struct format_options *options,
		      FILE *out)
{
	struct writer writer = {.profile = profile, .options = options, .out = out};
	size_t nr = profile_nr_samples(profile), k;
	uint64_t period;
	uint32_t i;

	errno = 0;
	words_init(&writer.words, profile);
	writer.multiple = find_multiple(profile);
	for (i = 0; i < nr; i++)
		for (k = 0; k < writer.words.nr; k++)
			writer.nr_entries += period_of(&writer, i, k) != 0;
	put_comments(profile, &writer.words, writer.multiple, options->labels & PERF_COMMENT_LABELS,
		     out);
	for (i = 0; i < nr && !ferror_unlocked(out); i++)
		for (k = 0; k < writer.words.nr; k++) {
			period = period_of(&writer, i, k);
			if (period)
				put_entry(&writer, profile_sample(profile, i), k, period);
		}
	return stream_finish(out);
}

/* --- reading comments ------------------------------------------------------------------------- */

/* Removes the given beginning from text, if present. */
static bool take(struct perf_text *text, const char *beginning)
{
	size_t nr = strlen(beginning);

	if (text->nr < nr || memcmp(text->at, beginning, nr) != 0)
		return false;
	text->at += nr;
	text->nr -= nr;
	return true;
}

/* Removes the text up to and including `end`; *ret is the text before `end`. */
static bool take_until(struct perf_text *text, const char *end, struct perf_text *ret)
{
	const char *found = memmem(text->at, text->nr, end, strlen(end));
	size_t nr;

	if (!found || found == text->at)
		return false;
	nr = (size_t)(found - text->at);
	*ret = (struct perf_text){text->at, nr};
	text->at += nr + strlen(end);
	text->nr -= nr + strlen(end);
	return true;
}

/* Parses a number and the blank after it. */
static bool take_number(struct perf_text *text, uint64_t *ret)
{
	struct perf_text digits;
	uint64_t number = 0;
	size_t i;

	if (!take_until(text, " ", &digits))
		return false;
	for (i = 0; i < digits.nr; i++) {
		unsigned digit = (unsigned)(digits.at[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret = number;
	return true;
}

static bool take_type(struct perf_text *text, struct perf_comment *comment)
{
	comment->type = *text;
	if (!take_until(&comment->type, of, &comment->unit))
		return false;
	return comment->type.nr && !memchr(comment->unit.at, ' ', comment->unit.nr);
}

static bool take_rest(struct perf_text text, struct perf_comment *comment)
{
	size_t i;

	switch (comment->kind) {
	case PERF_COMMENT_LABELS_ARE:
		for (i = 0; i < ARRAY_SIZE(label_names); i++)
			if (memmem(text.at, text.nr, label_names[i].name,
				   strlen(label_names[i].name)))
				comment->labels |= label_names[i].label;
		return true;
	case PERF_COMMENT_BEGAN:
	case PERF_COMMENT_LASTED:
		return take_number(&text, &comment->number);
	case PERF_COMMENT_SAMPLED:
		return (!take(&text, every) || take_number(&text, &comment->number)) &&
		       take_type(&text, comment);
	case PERF_COMMENT_PERIODS:
		return take_until(&text, ": ", &comment->word) && take_type(&text, comment);
	case PERF_COMMENT_FOR_EACH:
		return take_number(&text, &comment->number) && take_type(&text, comment);
	default:
		return false;
	}
}

struct perf_comment perf_comment_parse(const char *line, size_t nr)
{
	struct perf_comment comment = {.kind = PERF_COMMENT_OTHER};
	struct perf_text text = {line, nr};
	size_t i;

	if (!take(&text, OURS))
		return comment;
	for (i = PERF_COMMENT_OTHER + 1; i < ARRAY_SIZE(beginnings); i++)
		if (take(&text, beginnings[i])) {
			comment.kind = (enum perf_comment_kind)i;
			break;
		}
	if (!take_rest(text, &comment))
		comment.kind = PERF_COMMENT_OTHER;
	return comment;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void set_or_forget(uint64_t *known, uint64_t number, bool is_head)
{
	if (is_head)
		*known = number;
	else if (*known != number)
		*known = 0;
}

static int set_sampled(struct perf_run *run, const struct perf_comment *comment, bool is_head)
{
	int64_t event =
		profile_add_foreign_string(run->profile, comment->type.at, comment->type.nr);
	int64_t unit = profile_add_foreign_string(run->profile, comment->unit.at, comment->unit.nr);

	if (event < 0 || unit < 0)
		return -ENOMEM;
	if (is_head) {
		run->event = (uint32_t)event;
		run->unit = (uint32_t)unit;
	}
	set_or_forget(&run->period, run->event == event && run->unit == unit ? comment->number : 0,
		      is_head);
	return 0;
}

int perf_run_add(struct perf_run *run, const struct perf_comment *comment, bool is_head)
{
	switch (comment->kind) {
	case PERF_COMMENT_LABELS_ARE:
		run->labels |= comment->labels;
		run->has_labels |= is_head;
		return 0;
	case PERF_COMMENT_BEGAN:
		set_or_forget(&run->time_ns, comment->number, is_head);
		return 0;
	case PERF_COMMENT_LASTED:
		run->has_duration |= is_head;
		set_or_forget(&run->duration_ns, comment->number, is_head);
		return 0;
	case PERF_COMMENT_SAMPLED:
		return set_sampled(run, comment, is_head);
	default:
		return 0;
	}
}

void perf_run_apply(const struct perf_run *run, struct profile_origin *origin)
{
	origin->event = run->event;
	origin->unit = run->unit;
	origin->period = run->period;
	origin->time_ns = run->time_ns;
	if (run->has_duration)
		origin->duration_ns = run->duration_ns;
}

/* --- names of threads ------------------------------------------------------------------------- */

static bool is_octal(char byte)
{
	return byte >= '0' && byte <= '7';
}

/* Replaces `\040` and the like by the byte, in place. */
static size_t unescape(char *text, size_t nr)
{
	size_t to = 0, at = 0;

	while (at < nr) {
		const char *from = text + at;

		if (nr - at > 3 && *from == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
		    is_octal(from[3])) {
			text[to++] = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
					    (from[3] - '0'));
			at += 4;
			continue;
		}
		text[to++] = *from;
		at++;
	}
	return to;
}

int64_t perf_run_comm(const struct perf_run *run, struct perf_text text)
{
	static const char unknown[] = "[unknown]";
	cleanup_free char *copy = NULL;

	if (!run->has_labels || !text.nr)
		return profile_add_foreign_string(run->profile, text.at, text.nr);
	if (text.nr == strlen(unknown) && !memcmp(text.at, unknown, text.nr))
		return 0;
	copy = malloc(text.nr);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text.at, text.nr);
	return profile_add_foreign_string(run->profile, copy, unescape(copy, text.nr));
}
