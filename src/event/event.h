/*
 * Translates perf's event names to the attributes of perf_event_open().
 *
 * Supported are software events, generic hardware events, hardware cache events
 * (L1-dcache-load-misses), raw events (r1c2) and breakpoints (mem:0x4040a0/8:w), each with the
 * modifiers :u and :k. Nothing is opened here.
 */
#ifndef STOOK_EVENT_EVENT_H
#define STOOK_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct event {
	char name[64]; /* as the user wrote it */
	uint32_t type; /* PERF_TYPE_… */
	uint64_t config;
	uint32_t access;	 /* breakpoints: HW_BREAKPOINT_… */
	uint64_t address, bytes; /* breakpoints: the watched range */
	bool exclude_user, exclude_kernel;
	bool exclude_idle; /* clocks only */
};

/* Parses an event name. 0, or -EINVAL with the rejected text in *error. */
int event_parse(const char *text, struct event *ret, struct error *error);

/*
 * True for the name of a tracepoint as perf writes it, CATEGORY:EVENT, also after `t:` or
 * `tracepoint:`. CATEGORY must not be an event that event_parse() knows.
 */
bool event_is_tracepoint(const char *text);

/* True if the event counts elapsed nanoseconds, idle or not: cpu-clock and task-clock. */
bool event_is_clock(const struct event *event);

#endif
