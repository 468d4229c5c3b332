/* Maps the counters of probes, which are shared with the kernel, and loads the probe programs. */
#include "probe/attach/probe_object.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/attach/link.h"

/* --- counters --------------------------------------------------------------------------------- */

#define CACHE_LINE 64
#define PER_LINE   (CACHE_LINE / sizeof(struct wire_hits))

/*
 * Returns the distance between the counters of two CPUs: whole cache lines, so that no two CPUs
 * write to the same line.
 */
static size_t hits_stride(size_t nr_probes)
{
	return (nr_probes + PER_LINE - 1) / PER_LINE * PER_LINE;
}

static int hits_open(struct hits *hits, int map_fd, size_t nr_probes, uint32_t nr_cpus,
		     struct error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride = hits_stride(nr_probes);
	size_t bytes = stride * nr_cpus * sizeof(struct wire_hits);
	void *memory;

	bytes = (bytes + page - 1) / page * page;
	memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map_fd, 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the hit counters");
	*hits = (struct hits){.per_cpu = memory,
			      .bytes = bytes,
			      .stride = stride,
			      .nr_probes = nr_probes,
			      .nr_cpus = nr_cpus};
	return 0;
}

static void hits_close(struct hits *hits)
{
	if (hits->per_cpu)
		(void)munmap((void *)hits->per_cpu, hits->bytes);
	*hits = (struct hits){0};
}

struct wire_hits hits_of_probe(const struct hits *hits, uint32_t number)
{
	struct wire_hits sum = {0};
	uint32_t cpu;

	for (cpu = 0; cpu < hits->nr_cpus; cpu++) {
		const volatile struct wire_hits *one = &hits->per_cpu[cpu * hits->stride + number];

		sum.counted += one->counted;
		sum.filtered += one->filtered;
	}
	return sum;
}

uint64_t hits_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu)
{
	const volatile struct wire_hits *one = &hits->per_cpu[cpu * hits->stride + number];

	return one->counted + one->filtered;
}

uint64_t hits_wanted_on_cpu(const struct hits *hits, uint32_t number, uint32_t cpu)
{
	return hits->per_cpu[cpu * hits->stride + number].counted;
}

/* --- programs --------------------------------------------------------------------------------- */

/* Any function that fentry supports: copies are loaded with their own targets. */
#define SOME_FUNCTION "vfs_read"

/* Counts the probes that each hook attaches. */
static void count_hooks(const struct probe_list *list, const struct probe_features *features,
			size_t ret_nr[NR_PROBE_HOOKS])
{
	const char *why;
	size_t i;
	int hook;

	for (i = 0; i < list->nr_probes; i++) {
		hook = probe_hook_choose(&list->probes[i], features, &why);
		if (hook >= 0)
			ret_nr[hook]++;
	}
}

static int prepare(struct bpf_program *program, enum probe_hook hook)
{
	switch (hook) {
	case HOOK_UPROBE_MULTI:
		return bpf_program__set_expected_attach_type(program, LINK_UPROBE_MULTI);
	case HOOK_KPROBE_MULTI:
		return bpf_program__set_expected_attach_type(program, LINK_KPROBE_MULTI);
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return bpf_program__set_attach_target(program, 0, SOME_FUNCTION);
	default:
		return 0;
	}
}

static int configure(struct probe_object *object, const struct probe_object_options *options,
		     struct error *error)
{
	const struct probe_list *list = options->list;
	const struct wanted_tasks *tasks = options->tasks;
	size_t stride = hits_stride(list->nr_probes), nr_by_hook[NR_PROBE_HOOKS] = {0}, nr_places;
	int hook, err;

	count_hooks(list, options->features, nr_by_hook);
	nr_places =
		LINK_EVENT_PLACES * (nr_by_hook[HOOK_UPROBE_EVENT] + nr_by_hook[HOOK_KPROBE_EVENT]);
	if (stride * options->nr_cpus > UINT32_MAX)
		return error_set(error, -E2BIG, "too many probes for %u CPUs: %zu",
				 options->nr_cpus, list->nr_probes);
	*object->filter_tasks = tasks->nr_pids || tasks->nr_tids || tasks->cgroup_fd >= 0;
	*object->hits_stride = (uint32_t)stride;
	*object->nr_probes = (uint32_t)list->nr_probes;
	(void)bpf_map__set_max_entries(object->hits_map, (uint32_t)(stride * options->nr_cpus));
	(void)bpf_map__set_max_entries(object->places_map, nr_places ? (uint32_t)nr_places : 1);

	for (hook = 0; hook < NR_PROBE_HOOKS; hook++) {
		struct bpf_program **program = &object->programs.by_hook[hook];

		if (!*program)
			continue;
		(void)bpf_program__set_autoload(*program, nr_by_hook[hook] > 0);
		if (!nr_by_hook[hook]) {
			*program = NULL;
			continue;
		}
		err = prepare(*program, (enum probe_hook)hook);
		if (err < 0)
			return error_set(error, err, "cannot configure the BPF program '%s': %s",
					 bpf_program__name(*program), strerror(-err));
	}
	return 0;
}

void probe_object_leave_out(struct probe_object *object)
{
	size_t i;

	for (i = 0; i < NR_PROBE_HOOKS; i++)
		(void)bpf_program__set_autoload(object->programs.by_hook[i], false);
}

int probe_object_load(struct probe_object *object, struct bpf_object_skeleton *skeleton,
		      const struct probe_object_options *options, struct load_types *types,
		      struct error *error)
{
	static const enum probe_hook hooks[NR_LOAD_COPIED] = {
		[LOAD_TRACEPOINT] = HOOK_TRACEPOINT,
		[LOAD_FENTRY] = HOOK_FENTRY,
		[LOAD_FEXIT] = HOOK_FEXIT,
	};
	int err = configure(object, options, error);
	size_t i;

	if (err)
		return err;
	err = bpf_object__load_skeleton(skeleton);
	if (err)
		return load_explain(err, error);
	for (i = 0; i < NR_LOAD_COPIED; i++) {
		object->programs.types[hooks[i]] = types->copied[i];
		types->copied[i] = (struct program_types){0};
	}
	object->programs.places_fd = bpf_map__fd(object->places_map);
	err = hits_open(&object->hits, bpf_map__fd(object->hits_map), options->list->nr_probes,
			options->nr_cpus, error);
	object->hits.nr_own = object->nr_own_hits;
	return err;
}

void probe_object_close(struct probe_object *object)
{
	size_t i;

	for (i = 0; i < NR_PROBE_HOOKS; i++)
		program_types_clear(&object->programs.types[i]);
	hits_close(&object->hits);
}
