/*
 * The events of perf script text, each of which is a value of the profile. In the end the count is
 * the one with the most samples, of several the first that came: it is what perf was asked for,
 * while what a program's start touches comes first in the text.
 *
 * Events with periods are sums of them. Without periods a single event is what samples are of; of
 * several each has its number of samples. Then, and beside sums, one value more counts the samples
 * of all events.
 *
 * Where comments of perf_script_write() say what values there are, it is these, in their order.
 *
 * Used by perf_script_read.c alone.
 */
#ifndef STOOK_FORMAT_PERF_PERF_SCRIPT_EVENTS_H
#define STOOK_FORMAT_PERF_PERF_SCRIPT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/perf/perf_script_comments.h"
#include "format/perf/perf_script_line.h"
#include "profile/profile.h"

struct perf_event {
	uint32_t name; /* string */
	size_t value;
	uint64_t nr_samples;
	bool has_periods;
	uint64_t period; /* 0: none so far, or it varies */
	bool varies;
};

struct perf_events {
	struct profile *profile;
	struct perf_event events[PROFILE_MAX_VALUES]; /* as they came */
	size_t nr;
	size_t samples; /* the value that counts them; 0: none does */

	bool is_told;	 /* by comments */
	size_t multiple; /* the value that is so many times the count; 0: none is */
	uint64_t factor;
};

/* Before the first sample: a comment that is about periods. 0 or -ENOMEM. */
int perf_events_tell(struct perf_events *events, const struct perf_comment *comment);

/* A header's event, known or new; NULL: there is no room for it. 0 or -ENOMEM. */
int perf_events_find(struct perf_events *events, const struct perf_header *header,
		     struct perf_event **ret);

/* Whether so much more leaves the totals numbers that can be told. */
bool perf_events_have_room(const struct perf_events *events, const struct perf_event *event,
			   uint64_t weight);
/* 0 or -ENOMEM. */
int perf_events_count(struct perf_events *events, struct perf_event *event, uint32_t sample,
		      uint64_t weight);

/* Chooses the count, and says in the origin how it was sampled. 0 or -ENOMEM. */
int perf_events_finish(struct perf_events *events);

#endif
