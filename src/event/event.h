/*
 * What samples are taken on: perf's names for events, turned into what perf_event_open() wants.
 *
 * Known are software events, generic hardware events, hardware cache events (L1-dcache-load-misses),
 * raw ones (r1c2) and breakpoints (mem:0x4040a0/8:w), each with the modifiers :u and :k. Nothing is
 * opened here.
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
	uint64_t address, bytes; /* breakpoints: what is watched */
	bool exclude_user, exclude_kernel;
	bool exclude_idle; /* clocks only */
};

/* 0, or -EINVAL with the rejected text in *error. */
int event_parse(const char *text, struct event *ret, struct error *error);

/*
 * True for the name of a tracepoint as perf has it, CATEGORY:EVENT, or with `t:` or `tracepoint:` before
 * it: CATEGORY is none of the events that event_parse() knows.
 */
bool event_is_tracepoint(const char *text);

/* Whether it counts nanoseconds that pass, idle or not: cpu-clock and task-clock. */
bool event_is_clock(const struct event *event);

#endif
