/*
 * Loading the sampler: one BPF object, in which either the program of samples is left in or those of
 * probes, with rodata and the sizes of maps set between open and load. Its epochs are turned and read
 * by collect/epochs.
 */
#include "collect/sampler.h"

#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/epochs.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "proc/process_info.h"
#include "skel/sampler.skel.h"

/* Programs of probes can be preempted, and interrupted, by others of their kind. */
#define PROBE_SCRATCH_SLOTS 4

struct sampler {
	struct sampler_bpf *bpf;
	struct probe_object probes; /* of a run with probes */
	struct epochs epochs;
	int nr_cpus;
};

/* The kernel stack of a task on both architectures, unless a page is larger. */
#define KERNEL_STACK_BYTES 16384U

/*
 * A task's user registers are at the end of its kernel stack. 0: the program asks
 * bpf_task_pt_regs() (Linux 5.15). On older kernels, the offset is computed from the size of struct
 * pt_regs in the kernel's types; the size of the stack is not in them.
 */
static int task_registers_at(uint32_t *ret)
{
	uint32_t page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	uint32_t stack_bytes = page_bytes > KERNEL_STACK_BYTES ? page_bytes : KERNEL_STACK_BYTES;
	const struct btf_type *registers;
	struct btf *types;
	int32_t id;

	*ret = 0;
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 1)
		return 0;
	types = btf__load_vmlinux_btf();
	if (!types)
		return -errno;
	id = btf__find_by_name_kind(types, "pt_regs", BTF_KIND_STRUCT);
	registers = id < 0 ? NULL : btf__type_by_id(types, (uint32_t)id);
	if (registers)
		*ret = stack_bytes - registers->size;
	btf__free(types);
	return *ret ? 0 : -ENOENT;
}

/* The size of a value in a count map. */
static uint32_t count_bytes(const struct sampler_config *config)
{
	return config->weights ? sizeof(struct wire_count) : sizeof(uint64_t);
}

static void configure(struct sampler_bpf *bpf, const struct sampler_config *config,
		      uint32_t nr_cpus, bool has_exchange)
{
	struct bpf_map *const walk_maps[] = {bpf->maps.unwind_processes, bpf->maps.unwind_tables,
					     bpf->maps.pool};
	uint32_t nr_slots;
	size_t i;

	bpf->rodata->include_idle = config->include_idle;
	bpf->rodata->by_tid = config->by_tid;
	bpf->rodata->by_cpu = config->by_cpu;
	bpf->rodata->by_cgroup = config->by_cgroup;
	bpf->rodata->max_user_frames = config->max_user_frames;
	bpf->rodata->max_kernel_frames = config->max_kernel_frames;
	bpf->rodata->max_walk_frames = config->max_walk_frames;
	bpf->rodata->by_tables = config->max_walk_frames > 0;
	if (getrandom(&bpf->rodata->hash_seed, sizeof(bpf->rodata->hash_seed), GRND_NONBLOCK) < 0)
		bpf->rodata->hash_seed = clock_now_ns(); /* so early after boot */
	follow_configure(&FOLLOW_PARTS(bpf), &config->tasks);
	(void)bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)config->ring_bytes);
	bpf->rodata->by_weight = config->weights != NULL;
	bpf->rodata->has_func_ret = config->weights && load_has_func_ret();
	if (config->weights)
		(void)bpf_map__set_max_entries(bpf->maps.weights,
					       (uint32_t)config->probes->nr_probes);
	(void)bpf_map__set_value_size(bpf_map__inner_map(bpf->maps.counts_by_slot),
				      count_bytes(config));
	bpf->rodata->scratch_slots = config->probes ? PROBE_SCRATCH_SLOTS : 1;
	bpf->rodata->claims_are_atomic = config->probes && has_exchange;
	nr_slots = nr_cpus * bpf->rodata->scratch_slots;
	(void)bpf_map__set_max_entries(bpf->maps.scratch_space, nr_slots);
	/* Without a walk by tables, its maps are as small as can be. */
	(void)bpf_map__set_max_entries(bpf->maps.walkers, bpf->rodata->by_tables ? nr_slots : 1);
	for (i = 0; i < ARRAY_SIZE(walk_maps) && !bpf->rodata->by_tables; i++)
		(void)bpf_map__set_max_entries(walk_maps[i], 1);
}

/* The kernel's functions have no user registers of their own. */
static bool are_entries(const struct probe_list *list)
{
	size_t i;

	for (i = 0; i < list->nr_probes; i++)
		if (!list->probes[i].is_entry && probe_is_user(&list->probes[i]))
			return false;
	return true;
}

static int configure_and_load(struct sampler *sampler, const struct sampler_config *config,
			      struct load_types *types, struct error *error)
{
	const struct probe_object_options options = {config->probes, config->features,
						     &config->tasks, (uint32_t)sampler->nr_cpus};
	int err = 0;

	configure(sampler->bpf, config, (uint32_t)sampler->nr_cpus, types->has_exchange);
	if (config->max_walk_frames)
		err = task_registers_at((uint32_t *)&sampler->bpf->rodata->task_registers_at);
	/* Either the program of samples or those of probes. */
	sampler->probes = PROBE_OBJECT(sampler->bpf, stack);
	if (!err && config->probes) {
		(void)bpf_program__set_autoload(sampler->bpf->progs.sample, false);
		sampler->bpf->rodata->hits_are_entries = are_entries(config->probes);
		return probe_object_load(&sampler->probes, sampler->bpf->skeleton, &options, types,
					 error);
	}
	probe_object_leave_out(&sampler->probes);
	if (!err)
		err = sampler_bpf__load(sampler->bpf);
	return err ? load_explain(err, error) : 0;
}

static int load(struct sampler *sampler, const struct sampler_config *config, struct error *error)
{
	const __typeof__(sampler->bpf->maps) *maps;
	struct epochs_options epochs;
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	uint32_t i;
	int err;

	sampler->nr_cpus = load_nr_cpus(error);
	if (sampler->nr_cpus < 0)
		return sampler->nr_cpus;
	load_types_open(&types, &options);
	sampler->bpf = sampler_bpf__open_opts(&options);
	err = sampler->bpf ? configure_and_load(sampler, config, &types, error)
			   : load_explain(-errno, error);
	load_types_close(&types);
	if (err)
		return err;
	maps = &sampler->bpf->maps;
	epochs = (struct epochs_options){
		.epoch = (uint32_t *)&sampler->bpf->bss->epoch,
		.maps_fd = bpf_map__fd(maps->counts_by_slot),
		.counters_fd = bpf_map__fd(maps->counters_by_slot),
		.counters_bytes = sizeof(struct wire_counters),
		.nr_cpus = sampler->nr_cpus,
		.map_name = "stook_counts",
		.what = "count map",
		.key_bytes = sizeof(uint64_t),
		.value_bytes = count_bytes(config),
		.max_entries = (uint32_t)config->max_counts,
	};
	err = epochs_open(&sampler->epochs, &epochs, error);
	if (err)
		return err;
	for (i = 0; config->weights && i < config->probes->nr_probes; i++)
		if (bpf_map_update_elem(bpf_map__fd(maps->weights), &i, &config->weights[i],
					BPF_ANY) < 0)
			return load_explain(-errno, error);
	return follow_attach(&FOLLOW_PARTS(sampler->bpf), &config->tasks, error);
}

struct sampler *sampler_load(const struct sampler_config *config, struct error *error)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	if (load(sampler, config, error) < 0) {
		sampler_free(sampler);
		return NULL;
	}
	return sampler;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	epochs_close(&sampler->epochs);
	probe_object_close(&sampler->probes);
	sampler_bpf__destroy(sampler->bpf);
	free(sampler);
}

int sampler_program_fd(const struct sampler *sampler)
{
	return bpf_program__fd(sampler->bpf->progs.sample);
}

const struct probe_programs *sampler_programs(const struct sampler *sampler)
{
	return &sampler->probes.programs;
}

const struct hits *sampler_hits(const struct sampler *sampler)
{
	return &sampler->probes.hits;
}

int sampler_ring_fd(const struct sampler *sampler)
{
	return bpf_map__fd(sampler->bpf->maps.ring);
}

void sampler_pool_fds(const struct sampler *sampler, struct unwind_pool_fds *ret)
{
	ret->processes = bpf_map__fd(sampler->bpf->maps.unwind_processes);
	ret->tables = bpf_map__fd(sampler->bpf->maps.unwind_tables);
	ret->chunks = bpf_map__fd(sampler->bpf->maps.pool);
}

int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks, struct error *error)
{
	return follow_want_all(&FOLLOW_PARTS(sampler->bpf), tasks, error);
}

struct epochs *sampler_epochs(struct sampler *sampler)
{
	return &sampler->epochs;
}

void sampler_read_cost(const struct sampler *sampler, struct sampler_cost *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t info_bytes = sizeof(info);
	const struct bpf_map *map;

	*ret = (struct sampler_cost){
		.nr_not_followed = sampler->bpf->bss->nr_not_followed,
		.nr_unweighed = sampler->bpf->bss->nr_unweighed,
	};
	if (bpf_obj_get_info_by_fd(sampler_program_fd(sampler), &info, &info_bytes) == 0) {
		ret->runs = info.run_cnt;
		ret->run_ns = info.run_time_ns;
	}
	bpf_object__for_each_map(map, sampler->bpf->obj)
	{
		ret->map_bytes += process_own_fd_memory(bpf_map__fd(map));
	}
	ret->map_bytes += epochs_map_bytes(&sampler->epochs);
}
