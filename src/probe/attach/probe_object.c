/* Setting up bpf/probe.bpf.c in an object; see probe_object.h. */
#include "probe/attach/probe_object.h"

#include <errno.h>

int probe_object_configure(struct probe_object *object, const struct probe_list *list,
			   const struct probe_features *features, const struct wanted_tasks *tasks,
			   uint32_t nr_cpus, struct error *error)
{
	size_t stride = hits_stride(list->nr_probes);
	size_t nr_places = probe_programs_nr_places(list, features);

	if (stride * nr_cpus > UINT32_MAX)
		return error_set(error, -E2BIG, "too many probes for %u CPUs: %zu", nr_cpus,
				 list->nr_probes);
	*object->filter_tasks = tasks->nr_pids || tasks->nr_tids || tasks->cgroup_fd >= 0;
	*object->hits_stride = (uint32_t)stride;
	*object->nr_probes = (uint32_t)list->nr_probes;
	(void)bpf_map__set_max_entries(object->hits_map, (uint32_t)(stride * nr_cpus));
	(void)bpf_map__set_max_entries(object->places_map, nr_places ? (uint32_t)nr_places : 1);
	return probe_programs_prepare(&object->programs, list, features, error);
}

void probe_object_leave_out(struct probe_object *object)
{
	size_t i;

	for (i = 0; i < NR_PROBE_HOOKS; i++)
		(void)bpf_program__set_autoload(object->programs.by_hook[i], false);
}

int probe_object_open(struct probe_object *object, const struct probe_list *list, uint32_t nr_cpus,
		      struct load_types *types, struct error *error)
{
	static const enum probe_hook hooks[NR_LOAD_COPIED] = {
		[LOAD_TRACEPOINT] = HOOK_TRACEPOINT,
		[LOAD_FENTRY] = HOOK_FENTRY,
		[LOAD_FEXIT] = HOOK_FEXIT,
	};
	size_t i;

	for (i = 0; i < NR_LOAD_COPIED; i++) {
		object->programs.types[hooks[i]] = types->copied[i];
		types->copied[i] = (struct program_types){0};
	}
	object->programs.places_fd = bpf_map__fd(object->places_map);
	return hits_open(&object->hits, bpf_map__fd(object->hits_map), list->nr_probes, nr_cpus,
			 error);
}

void probe_object_close(struct probe_object *object)
{
	size_t i;

	for (i = 0; i < NR_PROBE_HOOKS; i++)
		program_types_clear(&object->programs.types[i]);
	hits_close(&object->hits);
}
