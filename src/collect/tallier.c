/*
 * Loads the programs of `stook tally` and reads their rows epoch by epoch. The plan determines the
 * sizes of keys, rows and saved calls; the maps get them between open and load.
 */
#include "collect/tallier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "collect/epochs.h"
#include "kernel/cpus.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "skel/tallier.skel.h"

struct tallier {
	struct tallier_bpf *bpf;
	struct probe_object probes;
	struct epochs epochs;
	struct cpus possible;
};

/* --- loading --------------------------------------------------------------------------------- */

static void size_maps(struct tallier *tallier, const struct tallier_config *config)
{
	const struct tally_plan *plan = config->plan;
	uint32_t key_bytes = tally_key_bytes(plan), row_bytes = tally_row_bytes(plan);
	uint32_t call_bytes = tally_call_bytes(plan);
	struct tallier_bpf *bpf = tallier->bpf;
	struct bpf_map *rows = bpf_map__inner_map(bpf->maps.rows_by_slot);
	size_t nr_fetches = config->list->nr_probes * plan->nr_operands;
	uint32_t max_calls = plan->has_pairs ? (uint32_t)config->max_calls : 1;

	(void)bpf_map__set_key_size(rows, key_bytes);
	(void)bpf_map__set_value_size(rows, row_bytes);
	(void)bpf_map__set_value_size(bpf->maps.empty_row, row_bytes);
	(void)bpf_map__set_value_size(bpf->maps.calls, call_bytes);
	(void)bpf_map__set_value_size(bpf->maps.empty_call, call_bytes);
	(void)bpf_map__set_max_entries(bpf->maps.calls, max_calls);
	(void)bpf_map__set_max_entries(bpf->maps.threads, max_calls);
	(void)bpf_map__set_max_entries(bpf->maps.fetches, nr_fetches ? (uint32_t)nr_fetches : 1);
	(void)bpf_map__set_max_entries(bpf->maps.probes, (uint32_t)config->list->nr_probes);
	(void)bpf_map__set_max_entries(bpf->maps.scratch_space,
				       tallier->possible.end * TALLY_HITS_A_CPU);
}

static int configure_and_load(struct tallier *tallier, const struct tallier_config *config,
			      struct load_types *types, struct error *error)
{
	const struct probe_object_options options = {config->list, config->features, config->tasks,
						     tallier->possible.end};
	struct tallier_bpf *bpf = tallier->bpf;

	follow_configure(&FOLLOW_PARTS(bpf), config->tasks);
	tallier->probes = PROBE_OBJECT(bpf, tally);
	memcpy((void *)&bpf->rodata->plan, config->plan, sizeof(*config->plan));
	bpf->rodata->claims_are_atomic = types->has_exchange;
	bpf->rodata->has_func_ret = load_has_func_ret();
	(void)bpf_program__set_autoload(bpf->progs.forget_calls, config->plan->has_pairs);
	size_maps(tallier, config);
	return probe_object_load(&tallier->probes, bpf->skeleton, &options, types, error);
}

bool tallier_has_results(void)
{
	return load_has_func_ret();
}

/* --- filling what programs look up -------------------------------------------------------------- */

static int fill_empty_row(struct tallier *tallier, const struct tally_plan *plan)
{
	cleanup_free struct tally_row *row = calloc(1, sizeof(*row) + tally_row_bytes(plan));
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
	const struct epochs_options options = {
		.epoch = (uint32_t *)&tallier->bpf->bss->epoch,
		.maps_fd = bpf_map__fd(tallier->bpf->maps.rows_by_slot),
		.counters_fd = bpf_map__fd(tallier->bpf->maps.counters_by_slot),
		.counters_bytes = sizeof(struct tally_counters),
		.nr_cpus = tallier->possible.nr,
		.map_name = "stook_rows",
		.what = "map of rows",
		.key_bytes = tally_key_bytes(config->plan),
		.value_bytes = tally_row_bytes(config->plan),
		.max_entries = (uint32_t)config->max_rows,
	};
	int err = epochs_open(&tallier->epochs, &options, error);

	if (err)
		return err;
	err = fill_empty_row(tallier, config->plan);
	if (!err)
		err = fill_probes(tallier, config);
	if (err)
		return load_explain(err, error);
	err = follow_attach(&follow, config->tasks, error);
	if (!err)
		err = follow_want_all(&follow, config->tasks, error);
	if (err || !config->plan->has_pairs)
		return err;
	tallier->bpf->links.forget_calls = bpf_program__attach(tallier->bpf->progs.forget_calls);
	return tallier->bpf->links.forget_calls
		       ? 0
		       : error_set_errno(error, "cannot attach to the exit tracepoint");
}

static int load(struct tallier *tallier, const struct tallier_config *config, struct error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	int err;

	err = cpus_read(&tallier->possible, "possible", error);
	if (err)
		return err;
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

	if (!tallier) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	if (load(tallier, config, error) < 0) {
		tallier_free(tallier);
		return NULL;
	}
	return tallier;
}

void tallier_free(struct tallier *tallier)
{
	if (!tallier)
		return;
	epochs_close(&tallier->epochs);
	probe_object_close(&tallier->probes);
	tallier_bpf__destroy(tallier->bpf);
	cpus_clear(&tallier->possible);
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

struct row_reader {
	int (*add)(void *context, const uint64_t *key, const struct tally_row *row);
	void *context;
};

static int add_row(void *context, const void *key, const void *row)
{
	const struct row_reader *reader = context;

	return reader->add(reader->context, key, row);
}

int tallier_end_epoch(struct tallier *tallier, struct tally_counters *ret_counters,
		      int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		      void *context, struct error *error)
{
	struct row_reader reader = {add, context};
	uint64_t ended_ns;
	int err = epochs_turn(&tallier->epochs, &ended_ns, error);

	if (err < 0)
		return err;
	err = epochs_read_counters(&tallier->epochs, ret_counters);
	if (!err)
		err = epochs_read_map(&tallier->epochs, add_row, &reader);
	return err ? error_set(error, err, "cannot read the rows: %s", strerror(-err)) : 0;
}
