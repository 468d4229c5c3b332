/*
 * What matched and can't be probed, by reason. A wildcard can match thousands that nobody asked
 * for: of many with one reason a few are named, and the others counted.
 */
#ifndef STOOK_PROBE_FIND_REFUSALS_H
#define STOOK_PROBE_FIND_REFUSALS_H

#include <stddef.h>

#include "probe/expression/probe_list.h"

#define REFUSALS_NAMED 4

struct refused {
	char *why;
	char *names[REFUSALS_NAMED];
	size_t nr; /* of all, named or not */
};

struct refusals {
	struct refused *reasons; /* in the order in which they came up */
	size_t nr, capacity;
};

/* 0 or -ENOMEM. */
int refusals_add(struct refusals *refusals, const char *name, const char *why);

/* Puts them into the list. 0 or -ENOMEM. */
int refusals_tell(const struct refusals *refusals, struct probe_list *list);

void refusals_clear(struct refusals *refusals);

#endif
