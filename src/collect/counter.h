/*
 * The BPF side of funccount: loads the programs that do nothing but count hits, and their counters.
 * The only file that includes the skeleton.
 */
#ifndef STOOK_COLLECT_COUNTER_H
#define STOOK_COLLECT_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/attach/probe_links.h"
#include "probe/attach/probe_object.h"
#include "probe/expression/probe_list.h"

struct counter;

/*
 * Returns NULL on failure. list and features must outlive the counter. has_budget: the programs are
 * also attached to trial functions of our own, see hit_cost_measure().
 */
struct counter *counter_load(const struct probe_list *list, const struct probe_features *features,
			     const struct wanted_tasks *tasks, bool has_budget,
			     struct error *error);
void counter_free(struct counter *counter);

const struct probe_programs *counter_programs(const struct counter *counter);
const struct hits *counter_hits(const struct counter *counter);

#endif
