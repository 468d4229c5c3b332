/* The BPF programs that probes are attached to: which are needed, and how they are loaded. */
#ifndef STOOK_PROBE_ATTACH_PROBE_PROGRAMS_H
#define STOOK_PROBE_ATTACH_PROBE_PROGRAMS_H

#include <stddef.h>

#include <bpf/libbpf.h>

#include "base/error.h"
#include "kernel/load.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_hook.h"
#include "probe/expression/probe_list.h"

struct probe_programs {
	struct bpf_program *by_hook[NR_PROBE_HOOKS]; /* loaded; NULL: not needed */
	struct program_types types[NR_PROBE_HOOKS];  /* of those that are copied */
	int places_fd;				     /* the map of places */
};

/*
 * What the programs of these hooks need before they are loaded: which are loaded at all (by_hook
 * becomes NULL for the others), their expected attach types, and for fentry and fexit a function as
 * target, whichever. 0 or a negative errno.
 */
int probe_programs_prepare(struct probe_programs *programs, const struct probe_list *list,
			   const struct probe_features *features, struct error *error);

/* The nr of places that the map of places must have room for. */
size_t probe_programs_nr_places(const struct probe_list *list,
				const struct probe_features *features);

#endif
