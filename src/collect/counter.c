/* Loads the programs that count hits. Their counters are read by probe/attach (struct hits). */
#include "collect/counter.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel/cpus.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "skel/counter.skel.h"

struct counter {
	struct counter_bpf *bpf;
	struct probe_object probes;
};

static int configure_and_load(struct counter *counter, const struct probe_list *list,
			      const struct probe_features *features,
			      const struct wanted_tasks *tasks, bool has_budget,
			      struct load_types *types, struct error *error)
{
	const struct follow_parts follow = FOLLOW_PARTS(counter->bpf);
	struct cpus possible = {0};
	int err = cpus_read(&possible, "possible", error);
	const struct probe_object_options options = {list, features, tasks, err ? 0 : possible.end};

	if (err)
		return err;
	cpus_clear(&possible);
	follow_configure(&follow, tasks);
	counter->probes = PROBE_OBJECT(counter->bpf, count);
	counter->bpf->rodata->is_only_probe = list->nr_probes == 1 && !has_budget;
	err = probe_object_load(&counter->probes, counter->bpf->skeleton, &options, types, error);
	if (!err)
		err = follow_attach(&follow, tasks, error);
	return err ? err : follow_want_all(&follow, tasks, error);
}

struct counter *counter_load(const struct probe_list *list, const struct probe_features *features,
			     const struct wanted_tasks *tasks, bool has_budget, struct error *error)
{
	struct counter *counter = calloc(1, sizeof(*counter));
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct load_types types;
	int err;

	if (!counter) {
		(void)error_no_memory(error, "");
		return NULL;
	}
	load_types_open(&types, &options);
	counter->bpf = counter_bpf__open_opts(&options);
	err = counter->bpf ? configure_and_load(counter, list, features, tasks, has_budget, &types,
						error)
			   : load_explain(-errno, error);
	load_types_close(&types);
	if (err < 0) {
		counter_free(counter);
		return NULL;
	}
	return counter;
}

void counter_free(struct counter *counter)
{
	if (!counter)
		return;
	probe_object_close(&counter->probes);
	counter_bpf__destroy(counter->bpf);
	free(counter);
}

const struct probe_programs *counter_programs(const struct counter *counter)
{
	return &counter->probes.programs;
}

const struct hits *counter_hits(const struct counter *counter)
{
	return &counter->probes.hits;
}
