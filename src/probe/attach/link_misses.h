/* Hits that the kernel counts as missed. */
#ifndef STOOK_PROBE_ATTACH_LINK_MISSES_H
#define STOOK_PROBE_ATTACH_LINK_MISSES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/link_group.h"
#include "probe/attach/probe_programs.h"

struct link_misses {
	uint64_t nr;
	bool is_told; /* else the kernel counts none of what was looked at, and nr means nothing */
};

/* Adds those of a group, as long as it is attached. */
void link_misses_add_group(struct link_misses *misses, const struct link_group *group);

/* Adds those of the programs that serve many probes. */
void link_misses_add_programs(struct link_misses *misses, const struct probe_programs *programs);

#endif
