/* What a search for probes has in hand; shared by find.c and what explains its failures. */
#ifndef STOOK_PROBE_FIND_FIND_STATE_H
#define STOOK_PROBE_FIND_FIND_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/find/find.h"
#include "probe/find/found_files.h"
#include "probe/find/kernel_functions.h"
#include "probe/find/pattern.h"
#include "probe/find/refusals.h"
#include "probe/find/tracepoints.h"

struct finder {
	const struct target_options *options;
	struct probe_list *list;
	struct error *error;
	struct pattern *patterns;
	bool *has_matched; /* by pattern */
	size_t nr_patterns;
	struct refusals refusals;
	struct found_files files;
	bool has_kernel, has_tracepoints; /* what is below was read */
	struct kernel_functions kernel;
	struct tracepoints tracepoints;
	int tracefs_fd; /* below 0: not opened, or not to be had */
};

/*
 * Why nothing fits a pattern: fills *error, with what comes near, or would help, in the hint.
 * Returns -ENOENT.
 */
int find_explain(struct finder *finder, const struct pattern *pattern, struct error *error);

#endif
