/*
 * Loading the programs that tally and turning their epochs; see tallier.h. A map of rows serves one
 * epoch and is thrown away for a fresh one, as the sampler's counts are.
 */
#include "collect/tallier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "proc/process_info.h"
#include "skel/tallier.skel.h"

#define READ_BATCH 256

/* As bpf/tally.bpf.c and bpf/tally_calls.bpf.c have them. */
#define HITS_A_CPU	4
#define CALL_HEAD_WORDS 5

struct tallier {
	struct tallier_bpf *bpf;
	struct probe_object probes;
	int rows_fds[WIRE_EPOCH_SLOTS]; /* by slot; -1: none yet */
	size_t max_rows;
	uint32_t key_bytes, row_bytes;
	int nr_cpus;
	struct tally_counters *per_cpu;
	struct tally_counters before[WIRE_EPOCH_SLOTS]; /* the slots' last readings */
};

/* --- loading --------------------------------------------------------------------------------- */

static int create_rows(const struct tallier *tallier)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, "stook_rows", tallier->key_bytes,
			      tallier->row_bytes, (uint32_t)tallier->max_rows, NULL);
}

static uint32_t call_bytes(const struct tally_plan *plan)
{
	return (CALL_HEAD_WORDS + plan->nr_operands + plan->nr_texts * TALLY_TEXT_WORDS) *
	       (uint32_t)sizeof(uint64_t);
}

static void size_maps(struct tallier *tallier, const struct tallier_config *config)
{
	struct tallier_bpf *bpf = tallier->bpf;
	struct bpf_map *rows = bpf_map__inner_map(bpf->maps.rows_by_slot);
	size_t nr_fetches = config->list->nr_probes * config->plan->nr_operands;
	uint32_t max_calls = config->plan->has_pairs ? (uint32_t)config->max_calls : 1;

	(void)bpf_map__set_key_size(rows, tallier->key_bytes);
	(void)bpf_map__set_value_size(rows, tallier->row_bytes);
	(void)bpf_map__set_value_size(bpf->maps.empty_row, tallier->row_bytes);
	(void)bpf_map__set_value_size(bpf->maps.calls, call_bytes(config->plan));
	(void)bpf_map__set_value_size(bpf->maps.empty_call, call_bytes(config->plan));
	(void)bpf_map__set_max_entries(bpf->maps.calls, max_calls);
	(void)bpf_map__set_max_entries(bpf->maps.threads, max_calls);
	(void)bpf_map__set_max_entries(bpf->maps.fetches, nr_fetches ? (uint32_t)nr_fetches : 1);
	(void)bpf_map__set_max_entries(bpf->maps.probes, (uint32_t)config->list->nr_probes);
	(void)bpf_map__set_max_entries(bpf->maps.scratch_space,
				       (uint32_t)tallier->nr_cpus * HITS_A_CPU);
}

static int configure_and_load(struct tallier *tallier, const struct tallier_config *config,
			      struct load_types *types, struct error *error)
{
	struct tallier_bpf *bpf = tallier->bpf;
	const struct follow_parts follow = FOLLOW_PARTS(bpf);
	int err;

	follow_configure(&follow, config->tasks);
	tallier->probes = PROBE_OBJECT(bpf, tally);
	err = probe_object_configure(&tallier->probes, config->list, config->features,
				     config->tasks, (uint32_t)tallier->nr_cpus, error);
	if (err)
		return err;
	memcpy((void *)&bpf->rodata->plan, config->plan, sizeof(*config->plan));
	bpf->rodata->claims_are_atomic = types->has_exchange;
	bpf->rodata->has_func_ret = load_has_func_ret();
	(void)bpf_program__set_autoload(bpf->progs.forget_calls, config->plan->has_pairs);
	size_maps(tallier, config);
	err = tallier_bpf__load(bpf);
	if (err)
		return load_explain(err, error);
	return probe_object_open(&tallier->probes, config->list, (uint32_t)tallier->nr_cpus, types,
				 error);
}

bool tallier_has_results(void)
{
	return load_has_func_ret();
}

/* --- filling what programs look up -------------------------------------------------------------- */

static int fill_slots(struct tallier *tallier)
{
	uint32_t slot;

	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++) {
		int *fd = &tallier->rows_fds[slot];

		*fd = create_rows(tallier);
		if (*fd < 0 || bpf_map_update_elem(bpf_map__fd(tallier->bpf->maps.rows_by_slot),
						   &slot, fd, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

static int fill_empty_row(struct tallier *tallier)
{
	cleanup_free struct tally_row *row = calloc(1, sizeof(*row) + tallier->row_bytes);
	uint32_t zero = 0;

	if (!row)
		return -ENOMEM;
	row->least = INT64_MAX;
	row->most = INT64_MIN;
	return bpf_map_update_elem(bpf_map__fd(tallier->bpf->maps.empty_row), &zero, row, BPF_ANY) <
			       0
		       ? -errno
		       : 0;
}

static int fill_probes(struct tallier *tallier, const struct tallier_config *config)
{
	int probes_fd = bpf_map__fd(tallier->bpf->maps.probes);
	int fetches_fd = bpf_map__fd(tallier->bpf->maps.fetches);
	size_t nr_fetches = config->list->nr_probes * config->plan->nr_operands;
	uint32_t i;

	for (i = 0; i < config->list->nr_probes; i++)
		if (bpf_map_update_elem(probes_fd, &i, &config->probes[i], BPF_ANY) < 0)
			return -errno;
	for (i = 0; i < nr_fetches; i++)
		if (bpf_map_update_elem(fetches_fd, &i, &config->fetches[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int start(struct tallier *tallier, const struct tallier_config *config, struct error *error)
{
	const struct follow_parts follow = FOLLOW_PARTS(tallier->bpf);
	int err = fill_slots(tallier);

	if (!err)
		err = fill_empty_row(tallier);
	if (!err)
		err = fill_probes(tallier, config);
	if (err)
		return load_explain(err, error);
	err = follow_attach(&follow, config->tasks, error);
	if (err)
		return err;
	err = follow_want_all(&follow, config->tasks, NULL);
	if (err)
		return error_set(error, err, "cannot add the targets: %s", strerror(-err));
	if (!config->plan->has_pairs)
		return 0;
	tallier->bpf->links.forget_calls = bpf_program__attach(tallier->bpf->progs.forget_calls);
	return tallier->bpf->links.forget_calls ? 0 : error_set_errno(error, "cannot follow exits");
}

static int load(struct tallier *tallier, const struct tallier_config *config, struct error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	int err;

	tallier->nr_cpus = libbpf_num_possible_cpus();
	if (tallier->nr_cpus < 1)
		return error_set(error, -EIO, "cannot tell how many CPUs there are");
	tallier->per_cpu = calloc((size_t)tallier->nr_cpus, sizeof(*tallier->per_cpu));
	if (!tallier->per_cpu)
		return error_set(error, -ENOMEM, "out of memory");
	load_types_open(&types, &options);
	tallier->bpf = tallier_bpf__open_opts(&options);
	err = tallier->bpf ? configure_and_load(tallier, config, &types, error)
			   : load_explain(-errno, error);
	load_types_close(&types);
	return err ? err : start(tallier, config, error);
}

struct tallier *tallier_load(const struct tallier_config *config, struct error *error)
{
	struct tallier *tallier = calloc(1, sizeof(*tallier));
	size_t slot;

	if (!tallier) {
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		tallier->rows_fds[slot] = -1;
	tallier->max_rows = config->max_rows;
	tallier->key_bytes = tally_key_bytes(config->plan);
	tallier->row_bytes = tally_row_bytes(config->plan);
	if (load(tallier, config, error) < 0) {
		tallier_free(tallier);
		return NULL;
	}
	return tallier;
}

void tallier_free(struct tallier *tallier)
{
	size_t slot;

	if (!tallier)
		return;
	for (slot = 0; slot < WIRE_EPOCH_SLOTS; slot++)
		if (tallier->rows_fds[slot] >= 0)
			(void)close(tallier->rows_fds[slot]);
	probe_object_close(&tallier->probes);
	tallier_bpf__destroy(tallier->bpf);
	free(tallier->per_cpu);
	free(tallier);
}

const struct probe_programs *tallier_programs(const struct tallier *tallier)
{
	return &tallier->probes.programs;
}

const struct hits *tallier_hits(const struct tallier *tallier)
{
	return &tallier->probes.hits;
}

/* --- epochs ---------------------------------------------------------------------------------- */

/* All counters are 64-bit: they are added and subtracted as the array they are. */
static void add_counters(struct tally_counters *to, const struct tally_counters *from,
			 uint64_t sign)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *add = (const uint64_t *)from;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += sign * add[i];
}

static int read_counters(struct tallier *tallier, uint32_t slot, struct tally_counters *ret)
{
	struct tally_counters now = {0};
	int cpu;

	if (bpf_map_lookup_elem(bpf_map__fd(tallier->bpf->maps.counters_by_slot), &slot,
				tallier->per_cpu) < 0)
		return -errno;
	for (cpu = 0; cpu < tallier->nr_cpus; cpu++)
		add_counters(&now, &tallier->per_cpu[cpu], 1);
	*ret = now;
	add_counters(ret, &tallier->before[slot], -1ULL);
	tallier->before[slot] = now;
	return 0;
}

static int hand_out(const struct tallier *tallier, const uint8_t *keys, const uint8_t *rows,
		    uint32_t nr,
		    int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		    void *context)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < nr && err >= 0; i++)
		err = add(context, (const uint64_t *)(keys + (size_t)i * tallier->key_bytes),
			  (const struct tally_row *)(rows + (size_t)i * tallier->row_bytes));
	return err < 0 ? err : 0;
}

static int read_rows(const struct tallier *tallier, int fd,
		     int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		     void *context)
{
	cleanup_free uint8_t *keys = calloc(READ_BATCH, tallier->key_bytes);
	cleanup_free uint8_t *rows = calloc(READ_BATCH, tallier->row_bytes);
	uint32_t position = 0;
	bool first = true, more = true;

	if (!keys || !rows)
		return -ENOMEM;
	while (more) {
		uint32_t nr = READ_BATCH;
		int err;

		if (bpf_map_lookup_batch(fd, first ? NULL : &position, &position, keys, rows, &nr,
					 NULL) < 0) {
			if (errno != ENOENT)
				return -errno;
			more = false; /* the end: nr still says how many came along */
		}
		first = false;
		err = hand_out(tallier, keys, rows, nr, add, context);
		if (err < 0)
			return err;
	}
	return 0;
}

/* The update returns after a grace period. What it puts away is of the epoch before the last. */
static int turn_epoch(struct tallier *tallier, uint32_t *ret_slot, struct error *error)
{
	uint32_t ended = tallier->bpf->bss->epoch;
	uint32_t unused = (ended + 2) % WIRE_EPOCH_SLOTS;
	cleanup_fd int fresh_fd = create_rows(tallier);

	if (fresh_fd < 0)
		return error_set_errno(error, "cannot make a map of rows");
	__atomic_store_n(&tallier->bpf->bss->epoch, ended + 1, __ATOMIC_SEQ_CST);
	if (bpf_map_update_elem(bpf_map__fd(tallier->bpf->maps.rows_by_slot), &unused, &fresh_fd,
				BPF_ANY) < 0)
		return error_set_errno(error, "cannot exchange a map of rows");
	(void)close(tallier->rows_fds[unused]);
	tallier->rows_fds[unused] = take_fd(&fresh_fd);
	*ret_slot = ended % WIRE_EPOCH_SLOTS;
	return 0;
}

int tallier_end_epoch(struct tallier *tallier, struct tally_counters *ret_counters,
		      int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		      void *context, struct error *error)
{
	uint32_t slot = 0;
	int err = turn_epoch(tallier, &slot, error);

	if (err < 0)
		return err;
	err = read_counters(tallier, slot, ret_counters);
	if (!err)
		err = read_rows(tallier, tallier->rows_fds[slot], add, context);
	return err ? error_set(error, err, "cannot read the rows: %s", strerror(-err)) : 0;
}
