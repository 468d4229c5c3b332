/* See perf_script_comments.h. One table has the beginnings of lines, for writing and for reading. */
#include "format/perf/perf_script_comments.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"

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

/* --- writing ---------------------------------------------------------------------------------- */

static void begin(enum perf_comment_kind kind, FILE *out)
{
	(void)fprintf(out, OURS "%s", beginnings[kind]);
}

static void put_labels(unsigned labels, FILE *out)
{
	size_t i;

	begin(PERF_COMMENT_LABELS_ARE, out);
	for (i = 0; i < ARRAY_SIZE(label_names); i++)
		if (labels & label_names[i].label)
			(void)fprintf(out, " %s", label_names[i].name);
	(void)putc_unlocked('\n', out);
}

static void put_time(enum perf_comment_kind kind, uint64_t ns, const char *behind, FILE *out)
{
	if (!ns)
		return;
	begin(kind, out);
	(void)fprintf(out, "%" PRIu64 " nanoseconds%s\n", ns, behind);
}

/* UNIT of TYPE */
static void put_type(const char *unit, const char *type, FILE *out)
{
	perf_words_put_text(unit, out);
	(void)fputs_unlocked(of, out);
	for (; *type; type++)
		(void)putc_unlocked((unsigned char)*type < ' ' || *type == 0x7f ? '?' : *type, out);
	(void)putc_unlocked('\n', out);
}

static void put_sampled(const struct profile *profile, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);

	if (!origin->event)
		return;
	begin(PERF_COMMENT_SAMPLED, out);
	if (origin->period)
		(void)fprintf(out, "%s%" PRIu64 " ", every, origin->period);
	put_type(origin->unit ? profile_string(profile, origin->unit) : "count",
		 profile_string(profile, origin->event), out);
}

static void put_value(const struct profile *profile, const struct perf_words *words, size_t number,
		      FILE *out)
{
	struct value_type type = profile_value_type(profile, number);
	bool is_nameless = !number && !profile_origin(profile)->counted.type;

	begin(PERF_COMMENT_PERIODS, out);
	perf_words_put(words, number, out);
	(void)fputs_unlocked(": ", out);
	put_type(profile_string(profile, type.unit),
		 is_nameless && profile_is_sum(profile) ? words->texts[number]
							: profile_string(profile, type.type),
		 out);
}

static void put_multiple(const struct profile *profile, size_t number, FILE *out)
{
	struct value_type type = profile_value_type(profile, number);

	begin(PERF_COMMENT_FOR_EACH, out);
	(void)fprintf(out, "%" PRIu64 " ", profile_origin(profile)->period);
	put_type(profile_string(profile, type.unit), profile_string(profile, type.type), out);
}

void perf_comments_write(const struct profile *profile, const struct perf_words *words,
			 size_t multiple, unsigned labels, FILE *out)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t i;

	(void)fputs_unlocked(RULE OURS WHAT, out);
	put_labels(labels, out);
	put_time(PERF_COMMENT_BEGAN, origin->time_ns, " after 1970", out);
	put_time(PERF_COMMENT_LASTED, origin->duration_ns, "", out);
	put_sampled(profile, out);
	for (i = 0; i < words->nr; i++)
		if (i && i == multiple)
			put_multiple(profile, i, out);
		else
			put_value(profile, words, i, out);
	(void)fputs_unlocked(RULE "\n", out);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Cuts the text off the beginning, if it is there. */
static bool take(struct perf_text *text, const char *beginning)
{
	size_t nr = strlen(beginning);

	if (text->nr < nr || memcmp(text->at, beginning, nr) != 0)
		return false;
	text->at += nr;
	text->nr -= nr;
	return true;
}

/* What goes up to this, and both are cut off. */
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

/* A number and the blank behind it. */
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

static unsigned labels_of(struct perf_text text)
{
	unsigned labels = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(label_names); i++)
		if (memmem(text.at, text.nr, label_names[i].name, strlen(label_names[i].name)))
			labels |= label_names[i].label;
	return labels;
}

static bool take_rest(struct perf_text text, struct perf_comment *comment)
{
	switch (comment->kind) {
	case PERF_COMMENT_LABELS_ARE:
		comment->labels = labels_of(text);
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
