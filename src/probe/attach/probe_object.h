/*
 * The part of a BPF object that all commands with probes share: the programs that probes are
 * attached to, and the counters of bpf/probe.bpf.c.
 *
 * Counters are read from memory shared with the BPF side: no system call and no clearing, so
 * nothing is lost between two readings.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_OBJECT_H
#define STOOK_PROBE_ATTACH_PROBE_OBJECT_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/probe_wire.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/probe_list.h"

/* --- counters --------------------------------------------------------------------------------- */

struct hits {
	const volatile struct wire_hits *per_cpu; /* all CPUs, at a distance of stride */
	size_t bytes, stride, nr_probes;
	uint32_t nr_cpus;		 /* one more than the highest CPU number */
	const volatile uint64_t *nr_own; /* excluded hits of our own processes */
};

/* Returns the sum of one probe's hits over all CPUs. */
struct wire_hits hits_of_probe(const struct hits *hits, uint32_t number);

/* Returns all hits of a probe on one CPU, filtered or not, which determine its cost. */
uint64_t hits_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu);

/* Returns only the hits that passed the filter, which may cause more work. */
uint64_t hits_wanted_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu);

/* --- programs --------------------------------------------------------------------------------- */

struct probe_programs {
	struct bpf_program *by_hook[NR_PROBE_HOOKS]; /* NULL: not needed */
	struct program_types types[NR_PROBE_HOOKS];  /* for hooks whose program is copied */
	int places_fd;				     /* the map of places */
};

/* --- the object ------------------------------------------------------------------------------- */

struct probe_object {
	struct probe_programs programs;
	bool *filter_tasks;
	uint32_t *hits_stride, *nr_probes;
	uint64_t *nr_own_hits;
	struct bpf_map *hits_map, *places_map;
	struct hits hits;
};

/* For an open skeleton. kind is the argument of PROBE_PROGRAMS() in bpf/. */
#define PROBE_OBJECT(bpf, kind)                                                                    \
	((struct probe_object){                                                                    \
		.programs = {.by_hook =                                                            \
				     {                                                             \
					     [HOOK_UPROBE_MULTI] = (bpf)->progs.kind##_cookie,     \
					     [HOOK_KPROBE_MULTI] =                                 \
						     (bpf)->progs.kind##_kernel_cookie,            \
					     [HOOK_UPROBE_EVENT] = (bpf)->progs.kind##_user_place, \
					     [HOOK_KPROBE_EVENT] =                                 \
						     (bpf)->progs.kind##_kernel_place,             \
					     [HOOK_TRACEPOINT] = (bpf)->progs.kind##_tracepoint,   \
					     [HOOK_FENTRY] = (bpf)->progs.kind##_entry,            \
					     [HOOK_FEXIT] = (bpf)->progs.kind##_exit,              \
				     }},                                                           \
		.filter_tasks = (bool *)&(bpf)->rodata->filter_tasks,                              \
		.hits_stride = (uint32_t *)&(bpf)->rodata->hits_stride,                            \
		.nr_probes = (uint32_t *)&(bpf)->rodata->nr_probes,                                \
		.nr_own_hits = (uint64_t *)&(bpf)->bss->nr_own_hits,                               \
		.hits_map = (bpf)->maps.hits,                                                      \
		.places_map = (bpf)->maps.places,                                                  \
	})

struct probe_object_options {
	const struct probe_list *list;
	const struct probe_features *features;
	const struct wanted_tasks *tasks;
	uint32_t nr_cpus; /* one more than the highest CPU number */
};

/*
 * Loads an open skeleton for these probes, and moves the function types that it needs out of
 * `types`. Programs that no probe needs are not loaded, and become NULL in by_hook. Returns 0 or a
 * negative errno.
 */
int probe_object_load(struct probe_object *object, struct bpf_object_skeleton *skeleton,
		      const struct probe_object_options *options, struct load_types *types,
		      struct error *error);

/* Disables all probe programs. Call before the load of an object in a run without probes. */
void probe_object_leave_out(struct probe_object *object);

/* Accepts a zero-initialised object. */
void probe_object_close(struct probe_object *object);

#endif
