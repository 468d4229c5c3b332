/* Telling apart probes of one name: by where they come from, else by address. */
#ifndef STOOK_PROBE_FIND_TWINS_H
#define STOOK_PROBE_FIND_TWINS_H

#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

struct twin {
	uint32_t number; /* in the list */
	uint64_t address;
	const char *source; /* a source file, a module; NULL: not known */
};

struct twins {
	struct twin *items; /* of all probes, most of which turn out to have no twin */
	size_t nr, capacity;
};

/* 0 or -ENOMEM. */
int twins_add(struct twins *twins, uint32_t number, uint64_t address, const char *source);

/*
 * Sets `detail` of those probes whose name others have too: to the source if all of theirs differ,
 * else to the address, with `before` before it. 0 or -ENOMEM.
 */
int twins_tell_apart(struct twins *twins, struct probe_list *list, const char *before);

void twins_clear(struct twins *twins);

#endif
