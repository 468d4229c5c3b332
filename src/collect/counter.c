/* Loading the programs that count; see counter.h. */
#include "collect/counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/array.h"
#include "kernel/follow.h"
#include "kernel/load.h"
#include "probe/attach/probe_object.h"
#include "proc/process_info.h"
#include "skel/counter.skel.h"

struct counter {
	struct counter_bpf *bpf;
	struct probe_object probes;
};

static int configure_and_load(struct counter *counter, const struct probe_list *list,
			      const struct probe_features *features,
			      const struct wanted_tasks *tasks, bool has_budget, uint32_t nr_cpus,
			      struct load_types *types, struct error *error)
{
	const struct follow_parts follow = FOLLOW_PARTS(counter->bpf);
	int err;

	follow_configure(&follow, tasks);
	counter->probes = PROBE_OBJECT(counter->bpf, count);
	err = probe_object_configure(&counter->probes, list, features, tasks, nr_cpus, error);
	if (err)
		return err;
	counter->bpf->rodata->is_only_probe = list->nr_probes == 1 && !has_budget;
	err = counter_bpf__load(counter->bpf);
	if (err)
		return load_explain(err, error);
	return probe_object_open(&counter->probes, list, nr_cpus, types, error);
}

static int start(struct counter *counter, const struct wanted_tasks *tasks, struct error *error)
{
	const struct follow_parts follow = FOLLOW_PARTS(counter->bpf);
	int err = follow_attach(&follow, tasks, error);

	if (err)
		return err;
	err = follow_want_all(&follow, tasks, NULL);
	return err ? error_set(error, err, "cannot add the targets: %s", strerror(-err)) : 0;
}

static int load(struct counter *counter, const struct probe_list *list,
		const struct probe_features *features, const struct wanted_tasks *tasks,
		bool has_budget, struct error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	int nr_cpus = libbpf_num_possible_cpus();
	struct load_types types;
	int err;

	if (nr_cpus < 1)
		return error_set(error, -EIO, "cannot tell how many CPUs there are");
	load_types_open(&types, &options);
	counter->bpf = counter_bpf__open_opts(&options);
	err = counter->bpf ? configure_and_load(counter, list, features, tasks, has_budget,
						(uint32_t)nr_cpus, &types, error)
			   : load_explain(-errno, error);
	load_types_close(&types);
	return err ? err : start(counter, tasks, error);
}

struct counter *counter_load(const struct probe_list *list, const struct probe_features *features,
			     const struct wanted_tasks *tasks, bool has_budget, struct error *error)
{
	struct counter *counter = calloc(1, sizeof(*counter));

	if (!counter) {
		(void)error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	if (load(counter, list, features, tasks, has_budget, error) < 0) {
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
