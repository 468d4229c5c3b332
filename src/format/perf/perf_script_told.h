/*
 * What comments of perf_script_write() say of the whole run, and of the labels that entries have in
 * truth: a tid is always there.
 *
 * Used by perf_script_read.c alone.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_TOLD_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "format/perf/perf_script_comments.h"
#include "format/perf/perf_script_line.h"
#include "profile/profile.h"

struct perf_told {
	struct profile *profile;
	bool has_labels, has_duration;
	unsigned labels;
	uint32_t event, unit; /* strings */
	uint64_t period, time_ns, duration_ns;
};

/*
 * Takes a comment of the head, or of a text that was put behind it: then what differs is not known
 * any more. 0 or -ENOMEM.
 */
int perf_told_add(struct perf_told *told, const struct perf_comment *comment, bool is_head);

void perf_told_apply(const struct perf_told *told, struct profile_origin *origin);

/* The string of a thread's name as it stands in the text: number or -ENOMEM. */
int64_t perf_told_comm(const struct perf_told *told, struct perf_text text);

#endif
