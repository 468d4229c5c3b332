/*
 * The comments at the head of perf script text that perf_script_write() wrote. They tell people, and
 * perf_script_read(), what perf's own text has no place for:
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
 * `periods of WORD: UNIT of TYPE` is one of the values, which has WORD for its event; the first one
 * is the count. A value that is only the count times the event's period has no entries: instead of
 * `periods` it says how much of it there is for each. `every N` is left out where the period varied.
 * Whatever is not known has no line. WORD and UNIT are one word, TYPE goes to the end of the line.
 *
 * The first line is what the Firefox profiler knows perf's text by; an empty line follows the last
 * one, or speedscope would take them for the first entry.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_COMMENTS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_COMMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/perf/perf_script_line.h"
#include "format/perf/perf_script_words.h"
#include "profile/profile.h"

/* Of the labels that perf's text can have at all. */
#define PERF_COMMENT_LABELS (LABEL_COMM | LABEL_PID | LABEL_TID | LABEL_CPU)

/* Multiple: the value that is the count times the period; 0: none is. */
void perf_comments_write(const struct profile *profile, const struct perf_words *words,
			 size_t multiple, unsigned labels, FILE *out);

enum perf_comment_kind {
	PERF_COMMENT_OTHER, /* not one of these, or one that makes no sense */
	PERF_COMMENT_LABELS_ARE,
	PERF_COMMENT_BEGAN,
	PERF_COMMENT_LASTED,
	PERF_COMMENT_SAMPLED,
	PERF_COMMENT_PERIODS,
	PERF_COMMENT_FOR_EACH,
};

struct perf_comment {
	enum perf_comment_kind kind;
	unsigned labels;
	uint64_t
		number; /* began, lasted; of sampled the period, 0 if it varied; for each so much */
	struct perf_text word, unit, type;
};

/* Of a line that is a comment. */
struct perf_comment perf_comment_parse(const char *line, size_t nr);

#endif
