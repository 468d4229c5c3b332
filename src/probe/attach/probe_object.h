/*
 * The part of a BPF object that every command with probes has: the programs of one kind, and what
 * bpf/probe.bpf.c counts into. Only for those in this folder that own such an object.
 */
#ifndef STOOK_PROBE_ATTACH_PROBE_OBJECT_H
#define STOOK_PROBE_ATTACH_PROBE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/hits.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/expression/probe_list.h"

struct probe_object {
	struct probe_programs programs;
	bool *filter_tasks;
	uint32_t *hits_stride, *nr_probes;
	struct bpf_map *hits_map, *places_map;
	struct hits hits;
};

/* Of an open skeleton; kind is what PROBE_PROGRAMS() in bpf/ was given. */
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
		.hits_map = (bpf)->maps.hits,                                                      \
		.places_map = (bpf)->maps.places,                                                  \
	})

/* Between open and load. 0 or a negative errno. */
int probe_object_configure(struct probe_object *object, const struct probe_list *list,
			   const struct probe_features *features, const struct wanted_tasks *tasks,
			   uint32_t nr_cpus, struct error *error);

/* The same for an object whose programs of probes are not wanted in this run. */
void probe_object_leave_out(struct probe_object *object);

/* After the load: takes what it needs out of types. 0 or a negative errno. */
int probe_object_open(struct probe_object *object, const struct probe_list *list, uint32_t nr_cpus,
		      struct load_types *types, struct error *error);

/* Also of {0}. */
void probe_object_close(struct probe_object *object);

#endif
