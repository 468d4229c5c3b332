/*
 * The BPF side of `stook tally`: loads its programs for a plan, and reads its rows epoch by epoch
 * (protocol: bpf/tally_wire.h). The only file that includes the skeleton.
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
	const struct tally_probe *probes;  /* one per probe of the list */
	const struct tally_fetch *fetches; /* plan->nr_operands per probe */
	size_t max_rows, max_calls;
};

struct tallier;

/* Returns NULL on failure. The list and the features must outlive the tallier. */
struct tallier *tallier_load(const struct tallier_config *config, struct error *error);
void tallier_free(struct tallier *tallier);

const struct probe_programs *tallier_programs(const struct tallier *tallier);
const struct hits *tallier_hits(const struct tallier *tallier);

/* True if fexit programs can read the function's return value. */
bool tallier_has_results(void);

/*
 * Begins the next epoch and calls add() for each row of the one that ended. Keys and rows have the
 * map's layout: tally_key_bytes() and tally_row_bytes(). Returns 0 or a negative errno, including
 * add()'s.
 */
int tallier_end_epoch(struct tallier *tallier, struct tally_counters *ret_counters,
		      int (*add)(void *context, const uint64_t *key, const struct tally_row *row),
		      void *context, struct error *error);

#endif
