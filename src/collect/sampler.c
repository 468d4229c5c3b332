/*
 * Loads the sampler: one BPF object, of which either the sampling program is loaded or the programs
 * of probes, with rodata and map sizes set between open and load. Its epochs are ended and read by
 * collect/epochs.
 *
 * Opens the sampling events: one per CPU; their throttle records go to the sideband's ring of the
 * same CPU. The sampling rate also decides the size of the buffers.
 */
#include "collect/sampler.h"

#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/wire.h"
#include "collect/epochs.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "kernel/perf_open.h"
#include "probe/attach/probe_object.h"
#include "proc/process_info.h"
#include "skel/sampler.skel.h"

/* Probe programs can be preempted and interrupted by other probe programs. */
#define PROBE_SCRATCH_SLOTS 4

struct sampler {
	struct sampler_bpf *bpf;
	struct probe_object probes; /* of a run with probes */
	struct epochs epochs;
	volatile uint64_t *thinning; /* by probe, mapped from the kernel; NULL: not used */
	size_t thinning_bytes;
	int nr_cpus;
};

/* Size of a task's kernel stack on both architectures, unless a page is larger. */
#define KERNEL_STACK_BYTES 16384U

/*
 * Finds the offset of a task's user registers, which are at the end of its kernel stack. 0: the
 * program calls bpf_task_pt_regs() (Linux 5.15). For older kernels the offset is computed from the
 * size of struct pt_regs in BTF; the size of the stack is not in BTF.
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

static bool has_weights(const struct sampler_config *config)
{
	return config->weights || config->may_thin;
}

/* Returns the size of a value in a count map. */
static uint32_t count_bytes(const struct sampler_config *config)
{
	return has_weights(config) ? sizeof(struct wire_count) : sizeof(uint64_t);
}

/*
 * Limits on raw stack memory per second: per CPU, enough for each sample at 999 Hz; in total, as
 * much as one thread can walk.
 */
#define RAW_BYTES	   (32ULL << 20)
#define RAW_BYTES_OF_ALL   (256ULL << 20)
#define RAW_BYTES_AT_LEAST (4ULL << 20)

static uint64_t max_raw_bytes(uint64_t nr_cpus)
{
	uint64_t share = RAW_BYTES_OF_ALL / nr_cpus;

	if (share > RAW_BYTES)
		return RAW_BYTES;
	return share > RAW_BYTES_AT_LEAST ? share : RAW_BYTES_AT_LEAST;
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
	bpf->rodata->max_raw_bytes = max_raw_bytes(nr_cpus);
	if (getrandom(&bpf->rodata->hash_seed, sizeof(bpf->rodata->hash_seed), GRND_NONBLOCK) < 0)
		bpf->rodata->hash_seed = clock_now_ns(); /* early boot: no random numbers yet */
	follow_configure(&FOLLOW_PARTS(bpf), &config->tasks);
	(void)bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)config->ring_bytes);
	bpf->rodata->by_weight = has_weights(config);
	bpf->rodata->has_values = config->weights != NULL;
	bpf->rodata->may_thin = config->may_thin;
	if (config->may_thin)
		(void)bpf_map__set_max_entries(bpf->maps.thinning,
					       (uint32_t)config->probes->nr_probes);
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
	/* Without a walk by unwind tables, its maps get the minimum size. */
	(void)bpf_map__set_max_entries(bpf->maps.walkers, bpf->rodata->by_tables ? nr_slots : 1);
	for (i = 0; i < ARRAY_SIZE(walk_maps) && !bpf->rodata->by_tables; i++)
		(void)bpf_map__set_max_entries(walk_maps[i], 1);
}

/*
 * True if no probe is inside or at the return of a user function. Kernel probes do not matter: they
 * have no user registers of their own.
 */
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
	/* Load either the sampling program or the probe programs. */
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

/*
 * Maps the thinning factors. Writing them then needs no bpf() call, during which the CPU would miss
 * hits.
 */
static int map_thinning(struct sampler *sampler, const struct sampler_config *config,
			struct error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = config->may_thin ? config->probes->nr_probes * sizeof(uint64_t) : 0;
	void *memory;
	uint32_t i;

	if (!bytes)
		return 0;
	bytes = (bytes + page - 1) / page * page;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(sampler->bpf->maps.thinning), 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the thinning factors");
	sampler->thinning = memory;
	sampler->thinning_bytes = bytes;
	for (i = 0; i < config->probes->nr_probes; i++)
		sampler_thin(sampler, i, config->every);
	return 0;
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
	if (!err)
		err = map_thinning(sampler, config, error);
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
	if (sampler->thinning)
		(void)munmap((void *)sampler->thinning, sampler->thinning_bytes);
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

void sampler_thin(const struct sampler *sampler, uint32_t number, uint32_t one_of)
{
	sampler->thinning[number] = one_of;
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

void sampler_expect_raw(struct sampler *sampler, bool is_expected)
{
	sampler->bpf->bss->raw_is_expected = is_expected;
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

/* --- the events ------------------------------------------------------------------------------- */

struct sampling {
	int *fds;
	size_t nr;
};

static struct perf_event_attr attributes(const struct event *event,
					 const struct sampling_rate *rate)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.bp_type = event->access,
		.bp_addr = event->address,
		.bp_len = event->bytes,
		.disabled = 1,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.exclude_idle = event->exclude_idle,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		/* For the throttle records: same layout as the sideband, whose ring they share. */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (rate->frequency) {
		attr.freq = 1;
		attr.sample_freq = rate->frequency;
	} else {
		attr.sample_period = rate->period;
	}
	return attr;
}

bool sampling_is_supported(const struct event *event, uint32_t cpu)
{
	struct perf_event_attr attr = attributes(event, &(struct sampling_rate){.period = 1000000});
	cleanup_fd int fd = perf_open(&attr, cpu);

	return fd >= 0 || (errno != ENOENT && errno != EOPNOTSUPP && errno != ENODEV);
}

/*
 * On arm64 the kernel steps over the watched instruction for perf's own overflow handlers, but for
 * BPF programs only since "hw_breakpoint: fix single-stepping when using bpf_overflow_handler"
 * (2023). On older kernels the thread hits the same breakpoint forever.
 */
#if defined(__aarch64__)
#define BREAKPOINTS_ARE_SAFE false
#else
#define BREAKPOINTS_ARE_SAFE true
#endif

static int explain_breakpoint(int code, const struct event *event, struct error *error)
{
	if (code == -ENOSPC) {
		(void)error_set(error, code, "cannot watch '%s': no free debug register",
				event->name);
		error_hint(error, "the CPU has 4; gdb and other profilers use them too");
		return code;
	}
	(void)error_set_errno(error, "the kernel refuses to watch '%s'", event->name);
	error_hint(error, "x86 has no read-only breakpoints: use rw or w");
	return code;
}

static int explain_open(const struct event *event, const struct sampling_rate *rate, uint32_t cpu,
			struct error *error)
{
	bool is_hardware = event->type != PERF_TYPE_SOFTWARE;
	int code = -errno;

	if (event->type == PERF_TYPE_BREAKPOINT && code != -EACCES && code != -EPERM)
		return explain_breakpoint(code, event, error);
	switch (code) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		(void)error_set(error, code, "cannot sample '%s' on CPU %u: event not supported",
				event->name, cpu);
		if (is_hardware)
			error_hint(error, "this machine exposes no such hardware counter (a "
					  "virtual machine?); use -e cpu-clock");
		return code;
	case -EINVAL:
		(void)error_set(
			error, code, "the kernel refuses to sample '%s' at this rate (%llu)",
			event->name,
			(unsigned long long)(rate->frequency ? rate->frequency : rate->period));
		error_hint(error, "the highest frequency is sysctl "
				  "kernel.perf_event_max_sample_rate");
		return code;
	case -EACCES:
	case -EPERM:
		(void)error_set_errno(error, "not permitted to sample '%s'", event->name);
		error_hint(error, "run as root, or with CAP_PERFMON and CAP_BPF; if you do, a "
				  "security module or a container forbids perf_event_open()");
		return code;
	default:
		return error_set_errno(error, "cannot sample '%s' on CPU %u", event->name, cpu);
	}
}

static int open_one(const struct event *event, const struct sampling_rate *rate, uint32_t cpu,
		    int output_fd, int program_fd, int *ret_fd, struct error *error)
{
	struct perf_event_attr attr = attributes(event, rate);
	cleanup_fd int fd = perf_open(&attr, cpu);

	if (fd < 0)
		return explain_open(event, rate, cpu, error);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output_fd) < 0)
		return error_set_errno(error, "cannot redirect throttle records of CPU %u", cpu);
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0)
		return error_set_errno(error, "cannot attach to '%s' on CPU %u", event->name, cpu);
	*ret_fd = take_fd(&fd);
	return 0;
}

struct sampling *sampling_open(const struct event *event, const struct sampling_rate *rate,
			       const uint32_t *cpus, size_t nr_cpus,
			       const struct sideband *sideband, int program_fd, struct error *error)
{
	struct sampling *sampling;
	size_t i;

	if (event->type == PERF_TYPE_BREAKPOINT && !BREAKPOINTS_ARE_SAFE) {
		(void)error_set(
			error, -EOPNOTSUPP,
			"breakpoints with BPF programs are not supported on arm64: a thread would "
			"hang at '%s'",
			event->name);
		error_hint(error, "perf record -e %s -g", event->name);
		return NULL;
	}
	sampling = calloc(1, sizeof(*sampling));
	if (sampling)
		sampling->fds = malloc(nr_cpus * sizeof(*sampling->fds));
	if (!sampling || !sampling->fds) {
		sampling_close(sampling);
		(void)error_no_memory(error, "");
		return NULL;
	}
	for (i = 0; i < nr_cpus; i++) {
		if (open_one(event, rate, cpus[i], sideband_fd_of_cpu(sideband, cpus[i]),
			     program_fd, &sampling->fds[i], error) < 0) {
			sampling_close(sampling);
			return NULL;
		}
		sampling->nr++;
	}
	return sampling;
}

void sampling_close(struct sampling *sampling)
{
	size_t i;

	if (!sampling)
		return;
	for (i = 0; i < sampling->nr; i++)
		(void)close(sampling->fds[i]);
	free(sampling->fds);
	free(sampling);
}

int sampling_start(struct sampling *sampling, struct error *error)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		if (ioctl(sampling->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_set_errno(error, "cannot start sampling");
	return 0;
}

void sampling_stop(struct sampling *sampling)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		(void)ioctl(sampling->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

void sampling_read(const struct sampling *sampling, struct sampling_reading *ret)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} one;
	size_t i;

	*ret = (struct sampling_reading){0};
	for (i = 0; i < sampling->nr; i++) {
		if (read(sampling->fds[i], &one, sizeof(one)) != sizeof(one) || !one.running_ns)
			continue;
		ret->events += (uint64_t)((double)one.value * (double)one.enabled_ns /
					  (double)one.running_ns);
		ret->enabled_ns += one.enabled_ns;
		ret->running_ns += one.running_ns;
	}
}

/* --- sizes -------------------------------------------------------------------------------------- */

/*
 * The ring must hold the records between two polls: of stacks that are all new if a poll is late,
 * of raw stacks if polls are on time. The count map must hold the distinct stacks of an epoch. Too
 * large only costs memory; with too small a ring samples are lost, with too small a map an epoch
 * ends early.
 */
#define RING_SECONDS	  0.5 /* seconds of records at full rate */
#define RING_RECORD_BYTES 512
#define RAW_SECONDS	  0.015 /* seconds of raw records, which may fill half the ring */
#define RAW_RECORD_BYTES  (2 * (WIRE_MAX_RAW_WORDS * 8 + 512))
#define MIN_RING_BYTES	  (256UL << 10)
#define MAX_RING_BYTES	  (64UL << 20)

#define COUNT_SECONDS 4 /* seconds of samples that are all different */
#define MIN_COUNTS    4096
#define MAX_COUNTS    131072

/* Samples per second and CPU: of an event whose rate is unknown; of probes. */
#define UNKNOWN_RATE 10000
#define PROBES_RATE  4000

static size_t power_of_two_at_least(double wanted, size_t least, size_t most)
{
	size_t size = least;

	while ((double)size < wanted && size < most)
		size *= 2;
	return size;
}

void sampling_choose_sizes(const struct event *event, const struct sampling_rate *rate,
			   size_t nr_cpus, bool has_raw, size_t *ring_bytes, size_t *max_counts)
{
	const size_t raw_bytes = RAW_RECORD_BYTES;
	double samples = PROBES_RATE, records, raw; /* per second */

	if (event && rate->frequency)
		samples = (double)rate->frequency;
	else if (event)
		samples = event_is_clock(event) ? 1e9 / (double)rate->period : UNKNOWN_RATE;
	samples *= (double)nr_cpus;
	records = samples * RING_SECONDS * RING_RECORD_BYTES;
	raw = has_raw ? samples * RAW_SECONDS * (double)raw_bytes : 0;

	if (!*ring_bytes)
		*ring_bytes = power_of_two_at_least(records > raw ? records : raw, MIN_RING_BYTES,
						    MAX_RING_BYTES);
	if (!*max_counts)
		*max_counts =
			power_of_two_at_least(samples * COUNT_SECONDS, MIN_COUNTS, MAX_COUNTS);
}
