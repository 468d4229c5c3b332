/*
 * Loading the sampler and turning its epochs; bpf/wire.h tells the protocol.
 *
 * A count map serves one epoch and is then thrown away for a fresh one: emptying it entry by entry
 * would cost several times more, and all of that time its CPU would be blind.
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
#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "proc/process_info.h"
#include "skel/sampler.skel.h"

#define READ_BATCH 256

/* Programs of probes can be preempted, and interrupted, by others of their kind. */
#define PROBE_SCRATCH_SLOTS 4

struct sampler {
	struct sampler_bpf *bpf;
	struct probe_object probes;	  /* of a run with probes */
	int counts_fds[WIRE_EPOCH_SLOTS]; /* by slot, the map that stands in it; -1: none yet */
	size_t max_counts;
	size_t count_bytes;    /* of a value in a count map */
	uint64_t counts_bytes; /* kernel memory of one count map */
	int nr_cpus;	       /* possible ones: that many values has a per-CPU map */
	struct wire_counters *per_cpu;
	struct wire_counters before[WIRE_EPOCH_SLOTS]; /* the slots' last readings */
};

static int create_counts(const struct sampler *sampler)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, "stook_counts", sizeof(uint64_t),
			      (uint32_t)sampler->count_bytes, (uint32_t)sampler->max_counts, NULL);
}

/* What both architectures give a task, or a page if that is more. */
#define KERNEL_STACK_BYTES 16384U

/*
 * Where a task's user registers are on its kernel stack: at the end. bpf_task_pt_regs(), which came
 * with Linux 5.15, knows; 0 says to ask it. On older kernels their size is looked up, in all of
 * the kernel's types; the stack's is in none of them.
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

/* The maps of the walk by tables are as small as can be if there is none. */
static void size_walk(struct sampler_bpf *bpf, bool by_tables, uint32_t nr_slots)
{
	struct bpf_map *const maps[] = {bpf->maps.unwind_processes, bpf->maps.unwind_tables,
					bpf->maps.pool};
	size_t i;

	(void)bpf_map__set_max_entries(bpf->maps.walkers, by_tables ? nr_slots : 1);
	for (i = 0; i < ARRAY_SIZE(maps) && !by_tables; i++)
		(void)bpf_map__set_max_entries(maps[i], 1);
}

static void configure(struct sampler_bpf *bpf, const struct sampler_config *config,
		      uint32_t nr_cpus, uint32_t count_bytes, bool has_exchange)
{
	const struct follow_parts parts = FOLLOW_PARTS(bpf);
	uint32_t nr_slots;

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
	follow_configure(&parts, &config->tasks);
	(void)bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)config->ring_bytes);
	bpf->rodata->by_weight = config->weights != NULL;
	bpf->rodata->has_func_ret = config->weights && load_has_func_ret();
	if (config->weights)
		(void)bpf_map__set_max_entries(bpf->maps.weights,
					       (uint32_t)config->probes->nr_probes);
	(void)bpf_map__set_value_size(bpf_map__inner_map(bpf->maps.counts_by_slot), count_bytes);
	bpf->rodata->scratch_slots = config->probes ? PROBE_SCRATCH_SLOTS : 1;
	bpf->rodata->claims_are_atomic = config->probes && has_exchange;
	nr_slots = nr_cpus * bpf->rodata->scratch_slots;
	(void)bpf_map__set_max_entries(bpf->maps.scratch_space, nr_slots);
	size_walk(bpf, bpf->rodata->by_tables, nr_slots);
}

static int fill_slots(struct sampler *sampler, struct error *error)
{
	uint32_t slot;

	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++) {
		int *fd = &sampler->counts_fds[slot];

		*fd = create_counts(sampler);
		if (*fd < 0 || bpf_map_update_elem(bpf_map__fd(sampler->bpf->maps.counts_by_slot),
						   &slot, fd, BPF_ANY) < 0)
			return load_explain(-errno, error);
	}
	sampler->counts_bytes = process_own_fd_memory(sampler->counts_fds[0]);
	return 0;
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

static int fill_weights(struct sampler *sampler, const struct sampler_config *config,
			struct error *error)
{
	int fd = bpf_map__fd(sampler->bpf->maps.weights);
	uint32_t i;

	for (i = 0; config->weights && i < config->probes->nr_probes; i++)
		if (bpf_map_update_elem(fd, &i, &config->weights[i], BPF_ANY) < 0)
			return load_explain(-errno, error);
	return 0;
}

/* Either the program of samples or those of probes. */
static int choose_programs(struct sampler *sampler, const struct sampler_config *config,
			   struct error *error)
{
	sampler->probes = PROBE_OBJECT(sampler->bpf, stack);
	if (!config->probes) {
		probe_object_leave_out(&sampler->probes);
		return 0;
	}
	(void)bpf_program__set_autoload(sampler->bpf->progs.sample, false);
	sampler->bpf->rodata->hits_are_entries = are_entries(config->probes);
	return probe_object_configure(&sampler->probes, config->probes, config->features,
				      &config->tasks, (uint32_t)sampler->nr_cpus, error);
}

static int configure_and_load(struct sampler *sampler, const struct sampler_config *config,
			      struct load_types *types, struct error *error)
{
	int err;

	configure(sampler->bpf, config, (uint32_t)sampler->nr_cpus, (uint32_t)sampler->count_bytes,
		  types->has_exchange);
	err = choose_programs(sampler, config, error);
	if (err)
		return err;
	if (config->max_walk_frames)
		err = task_registers_at((uint32_t *)&sampler->bpf->rodata->task_registers_at);
	if (!err)
		err = sampler_bpf__load(sampler->bpf);
	if (err || !config->probes)
		return err ? load_explain(err, error) : 0;
	return probe_object_open(&sampler->probes, config->probes, (uint32_t)sampler->nr_cpus,
				 types, error);
}

static int open_and_load(struct sampler *sampler, const struct sampler_config *config,
			 struct error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	int err;

	load_types_open(&types, &options);
	sampler->bpf = sampler_bpf__open_opts(&options);
	err = sampler->bpf ? configure_and_load(sampler, config, &types, error)
			   : load_explain(-errno, error);
	load_types_close(&types);
	return err;
}

static int load(struct sampler *sampler, const struct sampler_config *config, struct error *error)
{
	int err;

	sampler->nr_cpus = libbpf_num_possible_cpus();
	if (sampler->nr_cpus < 1)
		return error_set(error, -EIO, "cannot tell how many CPUs there are");
	sampler->per_cpu = calloc((size_t)sampler->nr_cpus, sizeof(*sampler->per_cpu));
	if (!sampler->per_cpu)
		return error_set(error, -ENOMEM, "out of memory");
	err = open_and_load(sampler, config, error);
	if (!err)
		err = fill_slots(sampler, error);
	if (!err)
		err = fill_weights(sampler, config, error);
	if (!err)
		err = follow_attach(&FOLLOW_PARTS(sampler->bpf), &config->tasks, error);
	return err;
}

struct sampler *sampler_load(const struct sampler_config *config, struct error *error)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	size_t slot;

	if (!sampler) {
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		sampler->counts_fds[slot] = -1;
	sampler->max_counts = config->max_counts;
	sampler->count_bytes = config->weights ? sizeof(struct wire_count) : sizeof(uint64_t);
	if (load(sampler, config, error) < 0) {
		sampler_free(sampler);
		return NULL;
	}
	return sampler;
}

void sampler_free(struct sampler *sampler)
{
	size_t slot;

	if (!sampler)
		return;
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		if (sampler->counts_fds[slot] >= 0)
			(void)close(sampler->counts_fds[slot]);
	probe_object_close(&sampler->probes);
	sampler_bpf__destroy(sampler->bpf);
	free(sampler->per_cpu);
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

int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks)
{
	return follow_want_all(&FOLLOW_PARTS(sampler->bpf), tasks, NULL);
}

uint32_t sampler_epoch(const struct sampler *sampler)
{
	return sampler->bpf->bss->epoch;
}

int sampler_end_epoch(struct sampler *sampler, uint64_t *ret_ended_ns, struct error *error)
{
	uint32_t ended = sampler_epoch(sampler);
	uint32_t unused = (ended + 2) % WIRE_EPOCH_SLOTS;
	cleanup_fd int fresh_fd = create_counts(sampler);

	if (fresh_fd < 0)
		return error_set_errno(error, "cannot make a count map");
	__atomic_store_n(&sampler->bpf->bss->epoch, ended + 1, __ATOMIC_SEQ_CST);
	*ret_ended_ns = clock_now_ns();
	/* Returns after a grace period. */
	if (bpf_map_update_elem(bpf_map__fd(sampler->bpf->maps.counts_by_slot), &unused, &fresh_fd,
				BPF_ANY) < 0)
		return error_set_errno(error, "cannot exchange a count map");
	(void)close(sampler->counts_fds[unused]);
	sampler->counts_fds[unused] = take_fd(&fresh_fd);
	return 0;
}

/* Wire counters are all 64-bit: they are added and subtracted as the arrays they are. */
static void add_counters(struct wire_counters *to, const struct wire_counters *from, uint64_t sign)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *add = (const uint64_t *)from;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += sign * add[i];
}

/* What a slot has counted by now, on all CPUs, since the sampler was loaded. */
static int sum_slot(struct sampler *sampler, uint32_t slot, struct wire_counters *ret)
{
	int cpu;

	*ret = (struct wire_counters){0};
	if (bpf_map_lookup_elem(bpf_map__fd(sampler->bpf->maps.counters_by_slot), &slot,
				sampler->per_cpu) < 0)
		return -errno;
	for (cpu = 0; cpu < sampler->nr_cpus; cpu++)
		add_counters(ret, &sampler->per_cpu[cpu], 1);
	return 0;
}

int sampler_read_counters(struct sampler *sampler, struct wire_counters *ret)
{
	uint32_t slot = (sampler_epoch(sampler) - 1) % WIRE_EPOCH_SLOTS;
	struct wire_counters now;
	int err = sum_slot(sampler, slot, &now);

	if (err < 0)
		return err;
	*ret = now;
	add_counters(ret, &sampler->before[slot], -1ULL);
	sampler->before[slot] = now;
	return 0;
}

uint64_t sampler_read_progress(struct sampler *sampler)
{
	uint32_t slot = sampler_epoch(sampler) % WIRE_EPOCH_SLOTS;
	const struct wire_counters *before = &sampler->before[slot];
	struct wire_counters now;

	if (sum_slot(sampler, slot, &now) < 0)
		return 0;
	return now.recorded - before->recorded + now.counted - before->counted;
}

/* A count map's values, of which without weights each is but a count. */
static struct wire_count value_at(const struct sampler *sampler, const void *values, size_t i)
{
	struct wire_count value = {0};

	memcpy(&value, (const char *)values + i * sampler->count_bytes, sampler->count_bytes);
	return value;
}

int sampler_read_counts(struct sampler *sampler,
			int (*add)(void *context, uint64_t id, const struct wire_count *count),
			void *context)
{
	int fd = sampler->counts_fds[(sampler_epoch(sampler) - 1) % WIRE_EPOCH_SLOTS];
	uint64_t ids[READ_BATCH];
	struct wire_count values[READ_BATCH];
	uint32_t position = 0;
	bool first = true, more = true;

	while (more) {
		uint32_t nr = READ_BATCH, i;

		if (bpf_map_lookup_batch(fd, first ? NULL : &position, &position, ids, values, &nr,
					 NULL) < 0) {
			if (errno != ENOENT)
				return -errno;
			more = false; /* the end: nr still says how many came along */
		}
		first = false;
		for (i = 0; i < nr; i++) {
			const struct wire_count count = value_at(sampler, values, i);
			int err = add(context, ids[i], &count);

			if (err < 0)
				return err;
		}
	}
	return 0;
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
	ret->map_bytes += WIRE_EPOCH_SLOTS * sampler->counts_bytes;
}
