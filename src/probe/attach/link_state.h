/*
 * What the ways of attaching probes share: link_multi, link_event and link_copy, which probe_links.c
 * puts together. Only for these.
 */
#ifndef STOOK_PROBE_ATTACH_LINK_STATE_H
#define STOOK_PROBE_ATTACH_LINK_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/attach/link_group.h"
#include "probe/attach/probe_links.h"

struct link_state {
	struct probe_links_options options;

	/* link_event */
	int tracefs_fd;	    /* -1: not needed yet */
	uint32_t nr_events; /* made so far: each has a name of its own */
	uint64_t start_ns;  /* ours, since boot: part of the names */

	/* link_copy */
	uint32_t *function_types; /* by probe: of the kernel's BTF, 0: none; NULL: not read yet */
};

/*
 * Attaches these probes, all of one hook, and adds to the group what they are detached by. Probes
 * that the kernel does not take are refused. 0, or a negative errno when the attaching as such
 * failed: then what is in the group is to be detached.
 */
typedef int link_attach(struct link_state *state, enum probe_hook hook, const uint32_t *numbers,
			size_t nr, struct link_group *group, struct error *error);

static inline const struct probe *link_probe(const struct link_state *state, uint32_t number)
{
	return &state->options.list->probes[number];
}

static inline void link_refuse(const struct link_state *state, uint32_t number, const char *why)
{
	state->options.refuse(state->options.context, number, why);
}

#endif
