/*
 * What samples are taken on: perf's names for events, turned into what perf_event_open() wants.
 *
 * Known are software events, generic hardware events, hardware cache events (L1-dcache-load-misses)
 * and raw ones (r1c2), each with the modifiers :u and :k. Nothing is opened here.
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
	bool exclude_user, exclude_kernel;
	bool exclude_idle; /* clocks only */
};

/* 0, or -EINVAL with the rejected text in *error. */
int event_parse(const char *text, struct event *ret, struct error *error);

/* Whether it counts nanoseconds that pass, idle or not: cpu-clock and task-clock. */
bool event_is_clock(const struct event *event);

#endif
