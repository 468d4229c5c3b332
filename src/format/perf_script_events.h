/*
 * The events of perf script text, each of which is a value of the profile. Where perf printed
 * periods, one value more counts samples, of all events.
 *
 * Used by perf_script_read.c alone.
 */
#ifndef STOOK_FORMAT_PERF_SCRIPT_EVENTS_H
#define STOOK_FORMAT_PERF_SCRIPT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "format/perf_script_line.h"
#include "profile/profile_values.h"

struct perf_events {
	struct profile *profile;
	uint32_t names[PROFILE_MAX_VALUES]; /* strings, by the number of the value */
	size_t nr;
	size_t samples; /* the value that counts them; 0: none does */
};

/*
 * The value of a header's event, known or new; PROFILE_MAX_VALUES: there is no room for it. 0 or
 * -ENOMEM.
 */
int perf_events_find(struct perf_events *events, const struct perf_header *header,
		     size_t *ret_value);

#endif
