/*
 * The BPF side of `stook tally`: its programs, loaded for a plan, and its rows, epoch by epoch;
 * bpf/tally_wire.h tells the protocol. The only file that sees its skeleton.
 */
#ifndef STOOK_COLLECT_TALLIER_H
#define STOOK_COLLECT_TALLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/tally_wire.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

struct tallier_config {
	const struct probe_list *list;
	const struct probe_features *features;
	const struct wanted_tasks *tasks;
	const struct tally_plan *plan;
	const struct tally_probe *probes;  /* of each probe of the list */
	const struct tally_fetch *fetches; /* of each, plan->nr_operands */
	size_t max_rows, max_calls;
};

struct tallier;

/* NULL on failure. The list and the features must outlive it. */
struct tallier *tallier_load(const struct tallier_config *config, struct error *error);
void tallier_free(struct tallier *tallier);

const struct probe_programs *tallier_programs(const struct tallier *tallier);
const struct hits *tallier_hits(const struct tallier *tallier);

/* True if the kernel reports the results of functions that are hooked by fexit. */
bool tallier_has_results(void);

/*
 * Begins the next epoch, and hands out all of the one before, which is at rest. Keys and rows are as
 * in the map, of tally_key_bytes() and tally_row_bytes(). 0 or a negative errno, add()'s too.
 */
int tallier_end_epoch(struct tallier *tallier, struct tally_counters *ret_counters,
		      int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		      void *context, struct error *error);

#endif
