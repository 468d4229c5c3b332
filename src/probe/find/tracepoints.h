/* The kernel's tracepoints, by tracefs' available_events. */
#ifndef STOOK_PROBE_FIND_TRACEPOINTS_H
#define STOOK_PROBE_FIND_TRACEPOINTS_H

#include <stddef.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/closest.h"
#include "probe/find/exclusions.h"
#include "probe/find/pattern.h"

struct tracepoint {
	const char *category, *name;
	size_t nr_chosen; /* by how many patterns */
};

struct tracepoints {
	char *text; /* cut into names */
	struct tracepoint *items;
	size_t nr, capacity;
	struct exclusions exclusions;
};

/* Takes over a list of lines "category:event" (allocated, NUL-ended). 0 or -ENOMEM. */
int tracepoints_parse(struct tracepoints *tracepoints, char *list);

int tracepoints_read(struct tracepoints *tracepoints, int tracefs_fd, struct error *error);
void tracepoints_clear(struct tracepoints *tracepoints);

/* Chooses what fits a pattern of kind PATTERN_TRACEPOINT; how many there are. */
size_t tracepoints_choose(struct tracepoints *tracepoints, const struct pattern *pattern);

/* Forgets those that the exclusions leave out; how many stay. */
size_t tracepoints_settle(struct tracepoints *tracepoints);

/* Adds a probe for each that was chosen. 0 or a negative errno. */
int tracepoints_add(const struct tracepoints *tracepoints, int tracefs_fd, struct probe_list *list,
		    struct error *error);

/* Names of events, without their category. */
void tracepoints_offer(const struct tracepoints *tracepoints, struct closest *closest);

#endif
