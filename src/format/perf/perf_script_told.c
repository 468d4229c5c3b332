/* See perf_script_told.h. Strings are the profile's, so equal texts are equal numbers. */
#include "format/perf/perf_script_told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/text/clean_string.h"

/* --- the run ----------------------------------------------------------------------------------- */

static void set_or_forget(uint64_t *known, uint64_t number, bool is_head)
{
	if (is_head)
		*known = number;
	else if (*known != number)
		*known = 0;
}

static int set_sampled(struct perf_told *told, const struct perf_comment *comment, bool is_head)
{
	int64_t event = clean_string_add(told->profile, comment->type.at, comment->type.nr);
	int64_t unit = clean_string_add(told->profile, comment->unit.at, comment->unit.nr);

	if (event < 0 || unit < 0)
		return -ENOMEM;
	if (is_head) {
		told->event = (uint32_t)event;
		told->unit = (uint32_t)unit;
	}
	set_or_forget(&told->period,
		      told->event == event && told->unit == unit ? comment->number : 0, is_head);
	return 0;
}

int perf_told_add(struct perf_told *told, const struct perf_comment *comment, bool is_head)
{
	switch (comment->kind) {
	case PERF_COMMENT_LABELS_ARE:
		told->labels |= comment->labels;
		told->has_labels |= is_head;
		return 0;
	case PERF_COMMENT_BEGAN:
		set_or_forget(&told->time_ns, comment->number, is_head);
		return 0;
	case PERF_COMMENT_LASTED:
		told->has_duration |= is_head;
		set_or_forget(&told->duration_ns, comment->number, is_head);
		return 0;
	case PERF_COMMENT_SAMPLED:
		return set_sampled(told, comment, is_head);
	default:
		return 0;
	}
}

void perf_told_apply(const struct perf_told *told, struct profile_origin *origin)
{
	origin->event = told->event;
	origin->unit = told->unit;
	origin->period = told->period;
	origin->time_ns = told->time_ns;
	if (told->has_duration)
		origin->duration_ns = told->duration_ns;
}

/* --- names of threads -------------------------------------------------------------------------- */

static bool is_octal(char byte)
{
	return byte >= '0' && byte <= '7';
}

/* `\040` and the like become the byte; in place. */
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

int64_t perf_told_comm(const struct perf_told *told, struct perf_text text)
{
	static const char unknown[] = "[unknown]";
	cleanup_free char *copy = NULL;

	if (!told->has_labels || !text.nr)
		return clean_string_add(told->profile, text.at, text.nr);
	if (text.nr == strlen(unknown) && !memcmp(text.at, unknown, text.nr))
		return 0;
	copy = malloc(text.nr);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text.at, text.nr);
	return clean_string_add(told->profile, copy, unescape(copy, text.nr));
}
