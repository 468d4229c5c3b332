/*
 * Loads the sampler: one BPF object, of which the sampling program is loaded, or the programs of
 * probes, or those of off-CPU time, with rodata and map sizes set between open and load. Its epochs
 * are ended and read by collect/epochs.
 *
 * Opens the sampling events: one per CPU; their throttle records go to the sideband's ring of the
 * same CPU. The sampling rate also decides the size of the buffers.
 */
#include "collect/sampler.h"

#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "collect/epochs.h"
#include "kernel/cpus.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "kernel/perf_open.h"
#include "probe/attach/probe_object.h"
#include "probe/find/kernel_functions.h"
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
	struct refused_names refused;
	struct cpus possible;
	/* By CPU number: steps of going offline and coming back, mapped from the kernel; the ones that were noticed. */
	const volatile uint64_t *cpu_steps;
	uint64_t *noticed_steps;
	const volatile struct wire_cost *wait_costs; /* by CPU number, mapped; NULL: no waits */
	const volatile struct wire_lock_wait
		*lock_waits; /* mapped; NULL: not of the kernel's locks */
	size_t nr_lock_waits;
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

/* Returns the type of a tracepoint's function; NULL: there is no such tracepoint. */
static const struct btf_type *tracepoint_type(const struct btf *types, const char *name)
{
	int32_t id = types ? btf__find_by_name_kind(types, name, BTF_KIND_TYPEDEF) : -1;
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(types, (uint32_t)id);

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(types, type->type);
	return type && btf_is_func_proto(type) ? type : NULL;
}

/*
 * Finds out if sched_switch has the state of the thread that leaves as an argument (Linux 5.18): the
 * last of four. (In release candidates of 5.18 it was the second; on any shape that is not known,
 * the programs would misread pointers, and are not loaded.)
 */
static int switch_has_state(uint32_t *ret, struct error *error)
{
	struct btf *types = btf__load_vmlinux_btf();
	const struct btf_type *type = tracepoint_type(types, "btf_trace_sched_switch");
	const struct btf_param *parameters;
	int nr = 0, last = 0;

	if (type) {
		nr = btf_vlen(type);
		parameters = btf_params(type);
		last = (int)btf__resolve_type(types, parameters[nr - 1].type);
		/* The first parameter is the tracepoint's own data. */
		*ret = nr == 5 && last >= 0 && btf_is_int(btf__type_by_id(types, (uint32_t)last));
	}
	btf__free(types);
	if (nr == 4 || (nr == 5 && *ret))
		return 0;
	return error_set(error, -EOPNOTSUPP,
			 "off-CPU time: this kernel's sched_switch tracepoint is not known");
}

static int check_kernel_locks(struct error *error)
{
	struct btf *types = btf__load_vmlinux_btf();
	const bool has_them = tracepoint_type(types, "btf_trace_contention_begin") != NULL;

	btf__free(types);
	if (has_them)
		return 0;
	(void)error_set(
		error, -EOPNOTSUPP,
		"waits for locks: this kernel does not report them; it takes Linux 5.19 or newer");
	error_hint(error, "--off-cpu with 'stook report --categories waits' shows locks for which "
			  "threads sleep");
	return -EOPNOTSUPP;
}

/*
 * True for the code that the kernel enters at an interrupt and leaves it by, which is in the kernel stacks of
 * interrupts: of x86 since 5.8, and with FRED; of arm64 before and after 5.13.
 */
static bool is_interrupt_entry(const struct kernel_function *function)
{
	static const char *const names[] = {
		"asm_common_interrupt",
		"asm_spurious_interrupt",
		"fred_extint",
		"el0_irq",
		"el1_irq",
		"el0_irq_compat",
		"el1h_64_irq",
		"el1h_64_fiq",
		"el0t_64_irq",
		"el0t_64_fiq",
		"el0t_32_irq",
		"el0t_32_fiq",
	};
	size_t i;

	if (function->module[0] || !function->address)
		return false;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(function->name, names[i]))
			return true;
	return text_starts_with(function->name, "asm_sysvec_");
}

/* Finds the ranges of this code; functions that follow one another are one range. */
static int find_interrupt_entries(struct sampler_bpf *bpf, struct error *error)
{
	struct wire_code_range *entries = (struct wire_code_range *)bpf->rodata->interrupt_entries;
	struct kernel_functions kernel = {0};
	int err = kernel_functions_read(&kernel, -1, error);
	size_t nr = 0, i;
	bool follows = false;

	for (i = 0; !err && i + 1 < kernel.nr; i++) {
		const struct kernel_function *function = &kernel.functions[i];

		if (!is_interrupt_entry(function)) {
			follows &= function->address == function[1].address;
			continue;
		}
		if (!follows && nr == WIRE_INTERRUPT_ENTRIES)
			break;
		if (!follows)
			entries[nr++].start = function->address;
		entries[nr - 1].bytes = function[1].address - entries[nr - 1].start;
		follows = true;
	}
	kernel_functions_clear(&kernel);
	if (err || nr)
		return err;
	(void)error_set(error, -EPERM,
			"wakers: /proc/kallsyms hides the addresses of the code of interrupts");
	error_hint(error, "sysctl kernel.kptr_restrict=1");
	return -EPERM;
}

static bool has_wakers(const struct sampler_config *config)
{
	return config->waits && config->waits->has_wakers;
}

static bool has_weights(const struct sampler_config *config)
{
	return config->weights || config->may_thin || config->by_period;
}

/* Software events need no counters, of which a CPU has few. */
static void configure_events(struct sampler_bpf *bpf, const struct sampler_config *config)
{
	size_t i;

	for (i = 0; i < config->nr_events; i++) {
		const struct sampled_event *sampled = &config->events[i];

		if (sampled->event.attr.type != PERF_TYPE_SOFTWARE)
			bpf->rodata->may_rotate = true;
		if (sampled->rate.frequency && !event_is_clock(&sampled->event))
			bpf->rodata->varying |= 1U << i;
	}
}

/* Both counters of each CPU. */
static void configure_ratio(struct sampler_bpf *bpf, const struct sampler_config *config,
			    uint32_t nr_cpus)
{
	bpf->rodata->has_ratio = config->has_ratio;
	(void)bpf_program__set_autoload(bpf->progs.begin_span, config->has_ratio);
	(void)bpf_map__set_max_entries(bpf->maps.ratio_counters,
				       config->has_ratio ? 2 * nr_cpus : 1);
}

static bool has_wait_budget(const struct sampler_config *config)
{
	return config->waits && config->waits->budget_share > 0;
}

/* Returns the size of a key in a count map; of a value. */
static uint32_t key_bytes(const struct sampler_config *config)
{
	return has_wakers(config) ? sizeof(struct wire_count_key) : sizeof(uint64_t);
}

static uint32_t count_bytes(const struct sampler_config *config)
{
	if (has_wait_budget(config))
		return sizeof(struct wire_count);
	if (config->waits)
		return offsetof(struct wire_count, stands_for_ns);
	if (config->has_ratio)
		return offsetof(struct wire_count, nr_waited);
	return has_weights(config) ? offsetof(struct wire_count, numerator) : sizeof(uint64_t);
}

/*
 * Limits on raw stack memory per second: per CPU, enough for each sample at 999 Hz, on up to eight CPUs; of all that are
 * online, as much as one thread can walk.
 */
#define RAW_BYTES	   (32ULL << 20)
#define RAW_BYTES_OF_ALL   (256ULL << 20)
#define RAW_BYTES_AT_LEAST (4ULL << 20)

static uint64_t max_raw_bytes(size_t nr_cpus)
{
	uint64_t share = RAW_BYTES_OF_ALL / nr_cpus;

	if (share > RAW_BYTES)
		return RAW_BYTES;
	return share > RAW_BYTES_AT_LEAST ? share : RAW_BYTES_AT_LEAST;
}

static uint32_t waiting_bytes(const struct sampler_waits *waits)
{
	return waits->budget_share > 0 ? sizeof(struct wire_followed) : sizeof(struct wire_waiting);
}

/* Tasks that wait for locks of the kernel: a part of the threads. */
#define MIN_LOCK_WAITS 4096
#define MAX_LOCK_WAITS 65536

static uint32_t nr_lock_waits(void)
{
	const uint64_t wanted = process_nr_threads();
	uint32_t nr = MIN_LOCK_WAITS;

	while (nr < wanted && nr < MAX_LOCK_WAITS)
		nr *= 2;
	return nr;
}

static void configure_waits(struct sampler_bpf *bpf, const struct sampler_config *config,
			    uint32_t spare_slot, uint32_t nr_cpus)
{
	const struct sampler_waits *waits = config->waits;
	const bool follows_switches = waits && !config->has_kernel_locks;

	(void)bpf_program__set_autoload(bpf->progs.switched, follows_switches);
	(void)bpf_program__set_autoload(bpf->progs.find_waiting, follows_switches);
	/* A wait for a futex lasts until the thread runs again, as for other locks: it is not split at the wake-up. */
	(void)bpf_program__set_autoload(bpf->progs.woken, follows_switches && !waits->for_locks);
	(void)bpf_program__set_autoload(bpf->progs.waking, follows_switches && waits->has_wakers);
	(void)bpf_program__set_autoload(bpf->progs.lock_wait_begins, config->has_kernel_locks);
	(void)bpf_program__set_autoload(bpf->progs.lock_wait_ends, config->has_kernel_locks);
	if (!waits)
		return;
	if (config->has_kernel_locks) {
		bpf->rodata->lock_waits_mask = nr_lock_waits() - 1;
		(void)bpf_map__set_max_entries(bpf->maps.lock_waits,
					       bpf->rodata->lock_waits_mask + 1);
	}
	bpf->rodata->finds_futexes = waits->for_locks;
	bpf->rodata->never_raw = true;
	bpf->rodata->min_wait_ns = waits->min_ns;
	bpf->rodata->max_wait_ns = waits->max_ns ? waits->max_ns : UINT64_MAX;
	bpf->rodata->wanted_states = waits->states;
	bpf->rodata->has_budget = waits->budget_share > 0;
	bpf->rodata->only_io_waits = waits->only_io;
	bpf->rodata->spare_slot = spare_slot;
	/* Waits for locks of the kernel have a map of their own. */
	(void)bpf_map__set_max_entries(bpf->maps.waiting_threads,
				       follows_switches ? (uint32_t)config->max_threads : 1);
	(void)bpf_map__set_max_entries(bpf->maps.wait_costs, nr_cpus);
	(void)bpf_map__set_value_size(bpf->maps.waiting_threads, waiting_bytes(waits));
}

/*
 * All of these are arrays, which programs read, and in which they store the last use of a table: even programs that run
 * in NMIs may share them.
 */
static int share_tables(struct sampler_bpf *bpf, const struct sampler *other, struct error *error)
{
	struct unwind_pool_fds fds;

	sampler_pool_fds(other, &fds);
	if (bpf_map__reuse_fd(bpf->maps.unwind_processes, fds.processes) < 0 ||
	    bpf_map__reuse_fd(bpf->maps.unwind_tables, fds.tables) < 0 ||
	    bpf_map__reuse_fd(bpf->maps.pool, fds.chunks) < 0)
		return error_set_errno(error, "cannot share the unwind tables");
	return 0;
}

static void configure(struct sampler_bpf *bpf, const struct sampler_config *config,
		      const struct cpus *possible, bool has_exchange)
{
	struct bpf_map *const walk_maps[] = {bpf->maps.unwind_processes, bpf->maps.unwind_tables,
					     bpf->maps.pool};
	uint32_t nr_slots;
	size_t i;

	bpf->rodata->include_idle = config->include_idle;
	bpf->rodata->sample_state = config->has_states ? WIRE_RUNNING : 0;
	bpf->rodata->by_tid = config->by_tid;
	bpf->rodata->by_cpu = config->by_cpu;
	bpf->rodata->by_cgroup = config->by_cgroup;
	bpf->rodata->max_user_frames = config->max_user_frames;
	bpf->rodata->max_kernel_frames = config->max_kernel_frames;
	bpf->rodata->max_walk_frames = config->max_walk_frames;
	bpf->rodata->by_tables = config->max_walk_frames > 0;
	bpf->rodata->max_raw_bytes = max_raw_bytes((size_t)get_nprocs());
	if (getrandom(&bpf->rodata->hash_seed, sizeof(bpf->rodata->hash_seed), GRND_NONBLOCK) < 0)
		bpf->rodata->hash_seed = clock_now_ns(); /* early boot: no random numbers yet */
	follow_configure(&FOLLOW_PARTS(bpf), &config->tasks);
	(void)bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)config->ring_bytes);
	bpf->rodata->by_weight = has_weights(config);
	bpf->rodata->has_values = config->weights != NULL;
	configure_ratio(bpf, config, possible->end);
	configure_events(bpf, config);
	bpf->rodata->is_governed = config->is_governed;
	bpf->rodata->may_thin = config->may_thin;
	if (config->may_thin)
		(void)bpf_map__set_max_entries(bpf->maps.thinning,
					       (uint32_t)config->probes->nr_probes);
	bpf->rodata->has_func_ret = config->weights && load_has_func_ret();
	if (config->weights)
		(void)bpf_map__set_max_entries(bpf->maps.weights,
					       (uint32_t)config->probes->nr_probes);
	(void)bpf_map__set_key_size(bpf_map__inner_map(bpf->maps.counts_by_slot),
				    key_bytes(config));
	(void)bpf_map__set_value_size(bpf_map__inner_map(bpf->maps.counts_by_slot),
				      count_bytes(config));
	bpf->rodata->scratch_slots = config->probes ? PROBE_SCRATCH_SLOTS : 1;
	bpf->rodata->claims_are_atomic =
		(config->probes || config->has_kernel_locks) && has_exchange;
	nr_slots = possible->end * bpf->rodata->scratch_slots;
	(void)bpf_map__set_max_entries(bpf->maps.scratch_space, nr_slots + (config->waits != NULL));
	(void)bpf_map__set_max_entries(bpf->maps.cpu_steps, possible->end);
	bpf->rodata->nr_process_sets = unwind_pool_nr_sets(config->max_table_bytes);
	(void)bpf_map__set_max_entries(bpf->maps.unwind_processes, bpf->rodata->nr_process_sets);
	/* Without a walk by unwind tables, its maps get the minimum size. */
	(void)bpf_map__set_max_entries(bpf->maps.walkers, bpf->rodata->by_tables ? nr_slots : 1);
	for (i = 0; i < ARRAY_SIZE(walk_maps) && !bpf->rodata->by_tables; i++)
		(void)bpf_map__set_max_entries(walk_maps[i], 1);
	configure_waits(bpf, config, nr_slots, possible->end);
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

static struct bpf_program **sample_program(const struct sampler *sampler, size_t event)
{
	struct bpf_program **programs[] = {
#define X(name, number) [number] = &sampler->bpf->progs.name,
		WIRE_EVENTS(X)
#undef X
	};

	return programs[event];
}

static int configure_and_load(struct sampler *sampler, const struct sampler_config *config,
			      struct load_types *types, struct error *error)
{
	const struct probe_object_options options = {config->probes, config->features,
						     &config->tasks, sampler->possible.end};
	size_t i;
	int err = 0;

	sampler->probes = PROBE_OBJECT(sampler->bpf, stack);
	configure(sampler->bpf, config, &sampler->possible, types->has_exchange);
	if (config->tables_of)
		err = share_tables(sampler->bpf, config->tables_of, error);
	if (!err && config->has_kernel_locks)
		err = check_kernel_locks(error);
	else if (!err && config->waits)
		err = switch_has_state((uint32_t *)&sampler->bpf->rodata->has_prev_state, error);
	if (!err && has_wakers(config))
		err = find_interrupt_entries(sampler->bpf, error);
	if (err)
		return err;
	if (config->max_walk_frames || has_wait_budget(config))
		err = task_registers_at((uint32_t *)&sampler->bpf->rodata->task_registers_at);
	/* Load the sampling program, the probe programs, or those of waits. */
	for (i = 0; i < WIRE_MAX_EVENTS; i++)
		(void)bpf_program__set_autoload(*sample_program(sampler, i), i < config->nr_events);
	if (!err && config->probes) {
		sampler->bpf->rodata->hits_are_entries = are_entries(config->probes);
		return probe_object_load(&sampler->probes, sampler->bpf->skeleton, &options, types,
					 error);
	}
	probe_object_leave_out(&sampler->probes);
	if (!err)
		err = sampler_bpf__load(sampler->bpf);
	return err ? load_explain(err, error) : 0;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/*
 * Maps the thinning factors. Writing them then needs no bpf() call, during which the CPU would miss
 * hits.
 */
static int map_thinning(struct sampler *sampler, const struct sampler_config *config,
			struct error *error)
{
	size_t bytes =
		config->may_thin ? whole_pages(config->probes->nr_probes * sizeof(uint64_t)) : 0;
	void *memory;
	uint32_t i;

	if (!bytes)
		return 0;
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

static int map_wait_costs(struct sampler *sampler, const struct sampler_config *config,
			  struct error *error)
{
	size_t bytes = whole_pages(sampler->possible.end * sizeof(*sampler->wait_costs));
	void *memory;

	if (!config->waits)
		return 0;
	memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED,
		      bpf_map__fd(sampler->bpf->maps.wait_costs), 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the cost of following switches");
	sampler->wait_costs = memory;
	return 0;
}

static int map_lock_waits(struct sampler *sampler, const struct sampler_config *config,
			  struct error *error)
{
	const size_t nr = sampler->bpf->rodata->lock_waits_mask + 1;
	void *memory;

	if (!config->has_kernel_locks)
		return 0;
	memory = mmap(NULL, whole_pages(nr * sizeof(*sampler->lock_waits)), PROT_READ, MAP_SHARED,
		      bpf_map__fd(sampler->bpf->maps.lock_waits), 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the waits for locks");
	sampler->lock_waits = memory;
	sampler->nr_lock_waits = nr;
	return 0;
}

/* From now on CPUs that go or come are noticed. */
static int watch_cpus(struct sampler *sampler, struct error *error)
{
	const uint32_t nr = sampler->possible.end;
	struct sampler_bpf *bpf = sampler->bpf;
	void *memory;

	sampler->noticed_steps = calloc(nr, sizeof(*sampler->noticed_steps));
	if (!sampler->noticed_steps)
		return error_no_memory(error, "");
	memory = mmap(NULL, whole_pages(nr * sizeof(uint64_t)), PROT_READ, MAP_SHARED,
		      bpf_map__fd(bpf->maps.cpu_steps), 0);
	if (memory == MAP_FAILED)
		return error_set_errno(error, "cannot map the states of CPUs");
	sampler->cpu_steps = memory;
	bpf->links.note_cpu_step = bpf_program__attach(bpf->progs.note_cpu_step);
	return bpf->links.note_cpu_step
		       ? 0
		       : error_set_errno(error, "cannot attach to the CPU hotplug tracepoint");
}

static int load(struct sampler *sampler, const struct sampler_config *config, struct error *error)
{
	const __typeof__(sampler->bpf->maps) *maps;
	struct epochs_options epochs;
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	uint32_t i;
	int err;

	err = cpus_read(&sampler->possible, "possible", error);
	if (err)
		return err;
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
		.began_ns = config->waits ? (uint64_t *)sampler->bpf->bss->began_ns : NULL,
		.maps_fd = bpf_map__fd(maps->counts_by_slot),
		.counters_fd = bpf_map__fd(maps->counters_by_slot),
		.counters_bytes = sizeof(struct wire_counters),
		.nr_cpus = sampler->possible.nr,
		.map_name = "stook_counts",
		.what = "count map",
		.key_bytes = key_bytes(config),
		.value_bytes = count_bytes(config),
		.max_entries = (uint32_t)config->max_counts,
	};
	err = epochs_open(&sampler->epochs, &epochs, error);
	if (!err)
		err = map_thinning(sampler, config, error);
	if (!err)
		err = map_wait_costs(sampler, config, error);
	if (!err)
		err = map_lock_waits(sampler, config, error);
	if (!err)
		err = refused_names_open(&sampler->refused, &FOLLOW_PARTS(sampler->bpf), error);
	if (!err)
		err = watch_cpus(sampler, error);
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
	if (sampler->cpu_steps)
		(void)munmap((void *)sampler->cpu_steps,
			     whole_pages(sampler->possible.end * sizeof(uint64_t)));
	if (sampler->wait_costs)
		(void)munmap((void *)sampler->wait_costs,
			     whole_pages(sampler->possible.end * sizeof(*sampler->wait_costs)));
	if (sampler->lock_waits)
		(void)munmap((void *)sampler->lock_waits,
			     whole_pages(sampler->nr_lock_waits * sizeof(*sampler->lock_waits)));
	refused_names_close(&sampler->refused);
	free(sampler->noticed_steps);
	cpus_clear(&sampler->possible);
	epochs_close(&sampler->epochs);
	probe_object_close(&sampler->probes);
	sampler_bpf__destroy(sampler->bpf);
	free(sampler);
}

int sampler_program_fd(const struct sampler *sampler, size_t event)
{
	return bpf_program__fd(*sample_program(sampler, event));
}

int sampler_counters_fd(const struct sampler *sampler)
{
	return bpf_map__fd(sampler->bpf->maps.ratio_counters);
}

int sampler_start_ratio(struct sampler *sampler, struct error *error)
{
	sampler->bpf->links.begin_span = bpf_program__attach(sampler->bpf->progs.begin_span);
	return sampler->bpf->links.begin_span
		       ? 0
		       : error_set_errno(error, "cannot attach to the scheduler's tracepoint");
}

void sampler_stop_ratio(struct sampler *sampler)
{
	(void)bpf_link__destroy(sampler->bpf->links.begin_span);
	sampler->bpf->links.begin_span = NULL;
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

void sampler_take_one_in(const struct sampler *sampler, uint32_t one_of)
{
	sampler->bpf->bss->sample_one_of = one_of;
}

bool sampler_next_changed_cpu(const struct sampler *sampler, uint32_t *cpu)
{
	for (; *cpu < sampler->possible.end; ++*cpu) {
		const uint64_t steps = sampler->cpu_steps[*cpu];

		if (steps == sampler->noticed_steps[*cpu])
			continue;
		sampler->noticed_steps[*cpu] = steps;
		return true;
	}
	return false;
}

int sampler_want(struct sampler *sampler, const struct wanted_tasks *tasks, struct error *error)
{
	return follow_want_all(&FOLLOW_PARTS(sampler->bpf), tasks, error);
}

void sampler_refuse(struct sampler *sampler, const char *name)
{
	refused_names_add(&sampler->refused, name);
}

struct epochs *sampler_epochs(struct sampler *sampler)
{
	return &sampler->epochs;
}

void sampler_expect_raw(struct sampler *sampler, bool is_expected)
{
	sampler->bpf->bss->raw_is_expected = is_expected;
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Runs the iterator over tasks to its end. */
static int find_waiting(const struct sampler *sampler, struct error *error)
{
	struct bpf_link *link = bpf_program__attach_iter(sampler->bpf->progs.find_waiting, NULL);
	cleanup_fd int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	char none[64];
	ssize_t nr;

	if (fd < 0) {
		(void)error_set_errno(error, "cannot iterate over the threads");
		(void)bpf_link__destroy(link);
		return error->code;
	}
	do
		nr = read(fd, none, sizeof(none));
	while (nr > 0 || (nr < 0 && (errno == EAGAIN || errno == EINTR)));
	if (nr < 0)
		(void)error_set_errno(error, "cannot iterate over the threads");
	(void)bpf_link__destroy(link);
	return nr < 0 ? error->code : 0;
}

/* The programs that follow waits; what ends one is attached before what begins it. */
#define NR_WAIT_PROGRAMS 5

struct wait_program {
	const struct bpf_program *program;
	struct bpf_link **link;
};

static void list_wait_programs(struct sampler_bpf *bpf, struct wait_program *ret)
{
	const struct wait_program all[NR_WAIT_PROGRAMS] = {
		{bpf->progs.waking, &bpf->links.waking},
		{bpf->progs.woken, &bpf->links.woken},
		{bpf->progs.switched, &bpf->links.switched},
		{bpf->progs.lock_wait_ends, &bpf->links.lock_wait_ends},
		{bpf->progs.lock_wait_begins, &bpf->links.lock_wait_begins},
	};

	memcpy(ret, all, sizeof(all));
}

int sampler_attach_waits(struct sampler *sampler, struct error *error)
{
	struct wait_program all[NR_WAIT_PROGRAMS];
	size_t i;

	list_wait_programs(sampler->bpf, all);
	for (i = 0; i < NR_WAIT_PROGRAMS; i++) {
		if (!bpf_program__autoload(all[i].program))
			continue;
		*all[i].link = bpf_program__attach(all[i].program);
		if (!*all[i].link)
			return error_set_errno(error, "cannot attach to the kernel's tracepoints");
	}
	return 0;
}

int sampler_start_waits(struct sampler *sampler, uint64_t start_ns, struct error *error)
{
	struct sampler_bpf *bpf = sampler->bpf;
	int err;

	bpf->bss->began_ns[bpf->bss->epoch % WIRE_EPOCH_SLOTS] = start_ns;
	bpf->bss->is_finding = !sampler->lock_waits;
	bpf->bss->run_began_ns = start_ns;
	err = sampler->lock_waits ? 0 : find_waiting(sampler, error);
	bpf->bss->is_finding = false;
	return err;
}

void sampler_stop_waits(struct sampler *sampler)
{
	struct wait_program all[NR_WAIT_PROGRAMS];
	size_t i = NR_WAIT_PROGRAMS;

	list_wait_programs(sampler->bpf, all);
	while (i--) {
		(void)bpf_link__destroy(*all[i].link);
		*all[i].link = NULL;
	}
}

struct waiting_reader {
	uint32_t epoch;
	int (*add)(void *context, uint64_t task, const struct wire_waiting *waiting);
	void *context;
};

static int take_waiting(void *context, const void *key, const void *value)
{
	const struct waiting_reader *reader = context;
	struct wire_waiting waiting;
	uint64_t task;

	memcpy(&task, key, sizeof(task));
	memcpy(&waiting, value, sizeof(waiting));
	/* An entry that is just being written belongs to the epoch that has begun. */
	if (!waiting.since_ns || waiting.check != wire_waiting_check(&waiting) ||
	    (int32_t)(waiting.epoch - reader->epoch) > 0)
		return 0;
	return reader->add(reader->context, task, &waiting);
}

/* Nothing spins for so long: the kernel did not report the end to us, as in an interrupt of the program itself. */
#define LONGEST_SPIN_NS (10 * NS_PER_SEC)

/* A wait is called by its slot, which no thread's address is. */
static int read_lock_waits(const struct sampler *sampler, const struct waiting_reader *reader)
{
	const uint64_t now_ns = clock_now_ns();
	uint64_t nr;
	int err = 0;

	for (nr = 0; nr < sampler->nr_lock_waits && !err; nr++) {
		const struct wire_lock_wait slot = sampler->lock_waits[nr];
		const uint64_t key = nr + 1;
		const bool spins = slot.waiting.state == WIRE_SPINLOCK ||
				   slot.waiting.state == WIRE_RWLOCK_R ||
				   slot.waiting.state == WIRE_RWLOCK_W;

		if (slot.task && !(spins && now_ns > slot.waiting.since_ns + LONGEST_SPIN_NS))
			err = take_waiting((void *)reader, &key, &slot.waiting);
	}
	return err;
}

int sampler_read_waiting(const struct sampler *sampler, uint32_t epoch,
			 int (*add)(void *context, uint64_t task,
				    const struct wire_waiting *waiting),
			 void *context)
{
	struct waiting_reader reader = {epoch, add, context};

	const struct bpf_map *map = sampler->bpf->maps.waiting_threads;

	if (sampler->lock_waits)
		return read_lock_waits(sampler, &reader);
	return epochs_read_hash(bpf_map__fd(map), sizeof(uint64_t), bpf_map__value_size(map),
				take_waiting, &reader);
}

const volatile struct wire_cost *sampler_wait_costs(const struct sampler *sampler, size_t *ret_nr)
{
	*ret_nr = sampler->possible.end;
	return sampler->wait_costs;
}

void sampler_walk_each(const struct sampler *sampler, uint64_t each_ns)
{
	sampler->bpf->bss->walk_each_ns = each_ns;
}

uint64_t sampler_epoch_began_ns(const struct sampler *sampler)
{
	return sampler->bpf->bss->began_ns[sampler->bpf->bss->epoch % WIRE_EPOCH_SLOTS];
}

/* --- cost ------------------------------------------------------------------------------------- */

/* Returns how many times the kernel did not run the program, because it interrupted itself. */
static uint64_t add_runs(const struct bpf_program *program, struct sampler_cost *sum)
{
	struct bpf_prog_info info = {0};
	uint32_t info_bytes = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &info_bytes) < 0)
		return 0;
	sum->runs += info.run_cnt;
	sum->run_ns += info.run_time_ns;
	return info.recursion_misses;
}

void sampler_add_cost(const struct sampler *sampler, struct sampler_cost *sum)
{
	struct sampler_cost spans = {0};
	const struct bpf_map *map;
	size_t i;

	sum->nr_not_followed += sampler->bpf->bss->nr_not_followed;
	sum->nr_names_replaced += sampler->refused.nr_replaced;
	sum->nr_unweighed += sampler->bpf->bss->nr_unweighed;
	sum->nr_unmeasured += sampler->bpf->bss->nr_unmeasured;
	(void)add_runs(sampler->bpf->progs.switched, sum);
	(void)add_runs(sampler->bpf->progs.woken, sum);
	(void)add_runs(sampler->bpf->progs.waking, sum);
	sum->nr_nested += add_runs(sampler->bpf->progs.lock_wait_ends, sum);
	sum->nr_nested += add_runs(sampler->bpf->progs.lock_wait_begins, sum);
	for (i = 0; i < WIRE_MAX_EVENTS; i++)
		(void)add_runs(*sample_program(sampler, i), sum);
	/* Its time is part of the samples' cost. */
	(void)add_runs(sampler->bpf->progs.begin_span, &spans);
	sum->run_ns += spans.run_ns;
	bpf_object__for_each_map(map, sampler->bpf->obj)
	{
		sum->map_bytes += process_own_fd_memory(bpf_map__fd(map));
	}
	sum->map_bytes += epochs_map_bytes(&sampler->epochs);
}

/* --- the events ------------------------------------------------------------------------------- */

struct sampled_cpu {
	uint32_t cpu;
	int fd;			      /* -1: offline, or not to be watched */
	int numerator_fd;	      /* -1: none */
	bool was_away;		      /* offline at times */
	uint64_t id;		      /* of its event in throttle records */
	struct sampling_reading gone; /* its events that went with it */
};

struct sampling {
	struct sampling_options options;
	bool is_started;
	struct sampled_cpu *cpus;
	size_t nr, cap;
};

static struct perf_event_attr attributes(const struct event *event,
					 const struct sampling_rate *rate)
{
	struct perf_event_attr attr = event->attr;

	attr.disabled = 1;
	/*
	 * No sample_type: the kernel would collect that for each sample, before the program
	 * runs, which needs none of it.
	 */
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* The same as the sideband's, whose ring throttle records go to. */
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.freq = rate->frequency != 0;
	attr.sample_period = rate->frequency ? rate->frequency : rate->period;
	return attr;
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

static int open_trial(const struct event *event, uint32_t cpu, bool samples)
{
	const struct sampling_rate rate = {.period = samples ? 1000000 : 0};
	struct perf_event_attr attr = attributes(event, &rate);
	cleanup_fd int fd = perf_open(&attr, cpu);

	return fd < 0 ? -errno : 0;
}

/* Hints at the part of a request that this machine lacks. */
static void hint_missing(const struct event *event, uint32_t cpu, struct error *error)
{
	struct event imprecise = *event;
	char counted[160];

	imprecise.attr.precise_ip = 0;
	perf_list_hardware(counted, sizeof(counted));
	if (event->attr.precise_ip && open_trial(&imprecise, cpu, true) == 0)
		error_hint(error, "the CPU has it without modifier p");
	else if (open_trial(event, cpu, false) == 0)
		error_hint(error,
			   "it can only be counted: its counter does not interrupt; -e cpu-clock "
			   "samples time");
	else if (*counted)
		error_hint(error, "this machine has %s; 'stook list' shows all events", counted);
	else
		error_hint(error,
			   "this machine exposes no hardware counters (a virtual machine?); it has "
			   "cpu-clock, task-clock, page-faults, context-switches and others: "
			   "'stook list'");
}

static int explain_invalid(const struct event *event, const struct sampling_rate *rate,
			   struct error *error)
{
	const uint64_t most = process_sysctl("kernel/perf_event_max_sample_rate", UINT64_MAX);

	if (rate->frequency > most) {
		(void)error_set(error, -EINVAL,
				"the kernel refuses to sample '%s' at %" PRIu64
				" Hz: the highest frequency is %" PRIu64,
				event->name, rate->frequency, most);
		error_hint(error, "sysctl kernel.perf_event_max_sample_rate; the kernel lowers it "
				  "if samples take too long");
		return -EINVAL;
	}
	(void)error_set(error, -EINVAL, "the kernel refuses to sample '%s': %s", event->name,
			strerror(EINVAL));
	error_hint(error, "the CPU does not know this code or these modifiers, or not with this "
			  "rate; some PMUs only count, at any rate");
	return -EINVAL;
}

static int explain_open(const struct event *event, const struct sampling_rate *rate, uint32_t cpu,
			int code, struct error *error)
{
	errno = -code;
	if (event->attr.type == PERF_TYPE_BREAKPOINT && code != -EACCES && code != -EPERM)
		return explain_breakpoint(code, event, error);
	switch (code) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		(void)error_set(error, code,
				"cannot sample '%s' on CPU %u: event not supported (%s)",
				event->name, cpu, strerrorname_np(-code));
		if (event->attr.type != PERF_TYPE_SOFTWARE)
			hint_missing(event, cpu, error);
		return code;
	case -EBUSY:
		(void)error_set(error, code,
				"cannot sample '%s' on CPU %u: its counters are in use",
				event->name, cpu);
		error_hint(error,
			   "another profiler, the NMI watchdog (sysctl kernel.nmi_watchdog), the "
			   "firmware or a hypervisor has them; -e cpu-clock needs none");
		return code;
	case -EINVAL:
		return explain_invalid(event, rate, error);
	case -EACCES:
	case -EPERM:
		(void)error_set_errno(error, "not permitted to sample '%s'", event->name);
		error_hint(error,
			   "run as root, or with CAP_PERFMON and CAP_BPF; if you do, a "
			   "security module or a container forbids perf_event_open(), or, on "
			   "Debian, sysctl kernel.perf_event_paranoid is above 2");
		return code;
	case -EMFILE:
		return load_explain(code, error);
	default:
		return error_set_errno(error, "cannot sample '%s' on CPU %u", event->name, cpu);
	}
}

int sampling_try(const struct event *event, uint32_t cpu, struct error *error)
{
	const struct sampling_rate rate = {.period = 1000000};
	const int err = open_trial(event, cpu, true);

	return err ? explain_open(event, &rate, cpu, err, error) : 0;
}

int sampling_try_branches(uint32_t cpu, struct error *error)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERF_SAMPLE_BRANCH_ANY,
		.disabled = 1,
	};
	cleanup_fd int fd = -1;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_read_branch_records, NULL) !=
	    1)
		return error_set(error, -EOPNOTSUPP,
				 "this kernel's BPF programs cannot read them, or it was not "
				 "permitted to find out");
	fd = perf_open(&attr, cpu);
	if (fd >= 0)
		return 0;
	if (perf_is_missing(-errno))
		return error_set(
			error, -errno,
			"the CPU or its driver has none, or a virtual machine hides them (%s)",
			strerrorname_np(errno));
	return error_set_errno(error, "not permitted, or in use");
}

/* Opens the numerator of a ratio in the group of the sampled event, and lets the program read both. */
static int open_numerator(const struct sampling_options *options, uint32_t cpu, int sampled_fd,
			  struct error *error)
{
	const struct event *event = options->numerator;
	struct perf_event_attr attr = attributes(event, &(struct sampling_rate){0});
	const uint32_t keys[] = {2 * cpu, 2 * cpu + 1};
	cleanup_fd int fd = -1;

	attr.disabled = 0; /* its group is */
	fd = perf_open_counter(&attr, -1, (int)cpu, sampled_fd, 0);
	if (fd < 0 && errno == EINVAL && open_trial(event, cpu, false) == 0) {
		(void)error_set(error, -EINVAL, "'%s' and '%s' cannot be counted together",
				event->name, options->sampled->event.name);
		error_hint(error, "they belong to different PMUs, or need the same counter");
		return -EINVAL;
	}
	if (fd < 0)
		return explain_open(event, &options->sampled->rate, cpu, -errno, error);
	if (bpf_map_update_elem(options->counters_fd, &keys[0], &fd, BPF_ANY) < 0 ||
	    bpf_map_update_elem(options->counters_fd, &keys[1], &sampled_fd, BPF_ANY) < 0)
		return error_set_errno(error, "a BPF program cannot read '%s'", event->name);
	return take_fd(&fd);
}

static int open_one(const struct sampling *sampling, struct sampled_cpu *sampled,
		    struct error *error)
{
	const struct sampling_options *options = &sampling->options;
	const struct event *event = &options->sampled->event;
	const uint32_t cpu = sampled->cpu;
	struct perf_event_attr attr = attributes(event, &options->sampled->rate);
	const int output_fd = sideband_fd_of_cpu(options->sideband, cpu);
	cleanup_fd int fd = perf_open(&attr, cpu);
	cleanup_fd int numerator_fd = -1;

	if (fd < 0)
		return explain_open(event, &options->sampled->rate, cpu, -errno, error);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, output_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &sampled->id) < 0)
		return error_set_errno(error, "cannot redirect throttle records of CPU %u", cpu);
	if (options->numerator) {
		numerator_fd = open_numerator(options, cpu, fd, error);
		if (numerator_fd < 0)
			return numerator_fd;
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, options->program_fd) < 0)
		return error_set_errno(error, "cannot attach to '%s' on CPU %u", event->name, cpu);
	if (sampling->is_started && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return error_set_errno(error, "cannot start sampling");
	sampled->fd = take_fd(&fd);
	sampled->numerator_fd = take_fd(&numerator_fd);
	return 0;
}

static void close_one(struct sampled_cpu *sampled)
{
	if (sampled->fd >= 0)
		(void)close(sampled->fd);
	if (sampled->numerator_fd >= 0)
		(void)close(sampled->numerator_fd);
	sampled->fd = sampled->numerator_fd = -1;
}

static int add_cpu(struct sampling *sampling, uint32_t cpu, struct error *error)
{
	struct sampled_cpu sampled = {
		.cpu = cpu, .fd = -1, .numerator_fd = -1, .was_away = sampling->is_started};
	int err = open_one(sampling, &sampled, error);

	if (err)
		return err;
	if (ARRAY_ADD(sampling->cpus, sampling->nr, sampling->cap, sampled) == 0)
		return 0;
	close_one(&sampled);
	return error_no_memory(error, "");
}

struct sampling *sampling_open(const struct sampling_options *options, const struct cpus *online,
			       struct error *error)
{
	const struct event *event = &options->sampled->event;
	struct sampling *sampling;
	size_t nr;
	size_t i;
	int err = 0;

	if (event->attr.type == PERF_TYPE_BREAKPOINT && !BREAKPOINTS_ARE_SAFE) {
		(void)error_set(
			error, -EOPNOTSUPP,
			"breakpoints with BPF programs are not supported on arm64: a thread would "
			"hang at '%s'",
			event->name);
		error_hint(error, "perf record -e %s -g", event->name);
		return NULL;
	}
	sampling = calloc(1, sizeof(*sampling));
	if (!sampling) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	sampling->options = *options;
	options = &sampling->options;
	if (options->sampled->cpus) {
		sampling->options.cpus = options->sampled->cpus;
		sampling->options.nr_cpus = options->sampled->nr_cpus;
	}
	nr = options->cpus ? options->nr_cpus : online->nr;
	for (i = 0; i < nr && !err; i++)
		err = add_cpu(sampling, options->cpus ? options->cpus[i] : online->numbers[i],
			      error);
	if (!err)
		return sampling;
	sampling_close(sampling);
	return NULL;
}

void sampling_close(struct sampling *sampling)
{
	size_t i;

	if (!sampling)
		return;
	for (i = 0; i < sampling->nr; i++)
		close_one(&sampling->cpus[i]);
	free(sampling->cpus);
	free(sampling);
}

int sampling_start(struct sampling *sampling, struct error *error)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		if (ioctl(sampling->cpus[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_set_errno(error, "cannot start sampling");
	sampling->is_started = true;
	return 0;
}

void sampling_stop(struct sampling *sampling)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		if (sampling->cpus[i].fd >= 0)
			(void)ioctl(sampling->cpus[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Adds what a CPU's event has counted. */
static void read_one(const struct sampled_cpu *sampled, struct sampling_reading *sum)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} one;

	if (sampled->fd < 0 || read(sampled->fd, &one, sizeof(one)) != sizeof(one) ||
	    !one.running_ns)
		return;
	sum->events +=
		(uint64_t)((double)one.value * (double)one.enabled_ns / (double)one.running_ns);
	sum->enabled_ns += one.enabled_ns;
	sum->running_ns += one.running_ns;
}

static struct sampled_cpu *find_cpu(const struct sampling *sampling, uint32_t cpu)
{
	size_t i;

	for (i = 0; i < sampling->nr; i++)
		if (sampling->cpus[i].cpu == cpu)
			return &sampling->cpus[i];
	return NULL;
}

int sampling_leave(struct sampling *sampling, uint32_t cpu, uint64_t *ret_id)
{
	struct sampled_cpu *sampled = find_cpu(sampling, cpu);

	if (!sampled || sampled->fd < 0)
		return -ENOENT;
	read_one(sampled, &sampled->gone);
	close_one(sampled);
	sampled->was_away = true;
	*ret_id = sampled->id;
	return 0;
}

int sampling_join(struct sampling *sampling, uint32_t cpu, struct error *error)
{
	struct sampled_cpu *sampled = find_cpu(sampling, cpu);
	int err;

	if (!sampled && sampling->options.cpus)
		return 0;
	err = sampled ? open_one(sampling, sampled, error) : add_cpu(sampling, cpu, error);
	return err ? err : 1;
}

/* CPUs are started and stopped one after the other, so none is enabled for the whole time. */
static bool is_short(uint64_t enabled_ns, uint64_t sampled_ns)
{
	return sampled_ns > enabled_ns &&
	       sampled_ns - enabled_ns > 50 * NS_PER_MS + sampled_ns / 100;
}

/* A pinned event that finds no counter is no longer enabled; any other one waits for a counter. */
void sampling_add_cpu(struct sampling_reading *sum, uint32_t cpu,
		      const struct sampling_reading *of_cpu, bool was_away, uint64_t sampled_ns)
{
	const uint64_t missing_ns =
		sampled_ns > of_cpu->enabled_ns ? sampled_ns - of_cpu->enabled_ns : 0;

	sum->events += of_cpu->events;
	sum->enabled_ns += of_cpu->enabled_ns;
	sum->running_ns += of_cpu->running_ns;
	if (!was_away && !is_short(of_cpu->enabled_ns, sampled_ns))
		return;
	if (!was_away && !of_cpu->running_ns) {
		sum->uncounted_cpu = cpu;
		sum->nr_uncounted++;
		sum->uncounted_ns += missing_ns;
		return;
	}
	sum->short_cpu = cpu;
	sum->nr_short++;
	sum->short_ns += missing_ns;
}

void sampling_read(const struct sampling *sampling, uint64_t sampled_ns,
		   struct sampling_reading *ret)
{
	size_t i;

	*ret = (struct sampling_reading){0};
	for (i = 0; i < sampling->nr; i++) {
		const struct sampled_cpu *sampled = &sampling->cpus[i];
		struct sampling_reading sum = sampled->gone;

		read_one(sampled, &sum);
		ret->gone_ns += sampled->gone.enabled_ns;
		sampling_add_cpu(ret, sampled->cpu, &sum, sampled->was_away, sampled_ns);
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

/* Room for four times as many threads as there are now. */
#define MIN_THREADS 16384
#define MAX_THREADS 1048576

/* Under a limit, nothing is made smaller than this. What has no room is lost, and counted, or ends an epoch early. */
#define LEAST_RING_BYTES (64UL << 10)
#define LEAST_COUNTS	 1024
#define LEAST_THREADS	 4096

/* Memory of an entry of a hash map, beside its key and value: links, and a bucket. */
#define ENTRY_BYTES 64

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

/* Returns the number of samples per second of a CPU. */
static double rate_of(const struct sampled_event *sampled)
{
	const struct sampling_rate *rate = &sampled->rate;

	if (rate->frequency)
		return (double)rate->frequency;
	return event_is_clock(&sampled->event) ? 1e9 / (double)rate->period : UNKNOWN_RATE;
}

/* A buffer that can be made smaller under a limit. */
struct part {
	size_t *nr, least, bytes_each;
};

static size_t bytes_of(const struct part *part)
{
	return *part->nr * part->bytes_each;
}

/* Halves the largest part until all are within the limit, or as small as they can be. Returns the bytes of all. */
static size_t fit(const struct part *parts, size_t nr, size_t max_bytes)
{
	for (;;) {
		const struct part *largest = NULL;
		size_t sum = 0, i;

		for (i = 0; i < nr; i++) {
			sum += bytes_of(&parts[i]);
			if (*parts[i].nr / 2 >= parts[i].least &&
			    (!largest || bytes_of(&parts[i]) > bytes_of(largest)))
				largest = &parts[i];
		}
		if (!max_bytes || sum <= max_bytes || !largest)
			return sum;
		*largest->nr /= 2;
	}
}

size_t sampling_choose_sizes(const struct sampling_needs *needs, struct sampling_sizes *sizes)
{
	const size_t raw_bytes = RAW_RECORD_BYTES;
	const size_t count_bytes =
		needs->has_waits ? sizeof(struct wire_count_key) + sizeof(struct wire_count)
				 : sizeof(uint64_t) + offsetof(struct wire_count, numerator);
	/* A size that was asked for stays: its least is more than half of it. */
	const struct part parts[] = {
		{&sizes->ring_bytes, sizes->ring_bytes ?: LEAST_RING_BYTES, 1},
		{&sizes->max_counts, sizes->max_counts ?: LEAST_COUNTS,
		 WIRE_EPOCH_SLOTS * (ENTRY_BYTES + count_bytes)},
		{&sizes->max_threads, LEAST_THREADS,
		 ENTRY_BYTES + sizeof(uint64_t) + sizeof(struct wire_followed)},
	};
	double samples = needs->nr_events ? 0 : PROBES_RATE, records, raw; /* per second */
	size_t i;

	for (i = 0; i < needs->nr_events; i++)
		samples += rate_of(&needs->events[i]);
	samples *= (double)needs->nr_cpus;
	records = samples * RING_SECONDS * RING_RECORD_BYTES;
	raw = needs->has_raw ? samples * RAW_SECONDS * (double)raw_bytes : 0;

	if (!sizes->ring_bytes)
		sizes->ring_bytes = power_of_two_at_least(records > raw ? records : raw,
							  MIN_RING_BYTES, MAX_RING_BYTES);
	if (!sizes->max_counts)
		sizes->max_counts =
			power_of_two_at_least(samples * COUNT_SECONDS, MIN_COUNTS, MAX_COUNTS);
	sizes->max_threads = 0;
	if (needs->nr_threads)
		sizes->max_threads = 4 * needs->nr_threads < MIN_THREADS   ? MIN_THREADS
				     : 4 * needs->nr_threads < MAX_THREADS ? 4 * needs->nr_threads
									   : MAX_THREADS;
	return fit(parts, ARRAY_SIZE(parts), needs->max_bytes);
}
