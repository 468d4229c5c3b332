/* What is said of probes besides the results: which there are, whom they concern, what became of them. */
#ifndef STOOK_CMD_PROBE_NOTES_H
#define STOOK_CMD_PROBE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/probe_reach.h"
#include "probe/attach/probing.h"
#include "probe/expression/probe_list.h"

/*
 * --list: on stdout a line for each probe, `name TAB where`: a file and the offset in it, an address
 * in the kernel, or a tracepoint; on stderr what can't be probed. 0 or a negative errno.
 */
int probe_notes_list(const struct probe_list *list, struct error *error);

/* Before the run: matches that are left out, others that pay too, the budget. */
void probe_notes_before(const struct probe_list *list, const struct probe_reach *reach,
			double budget, bool is_default_budget);

/* After it: what the kernel refused, what the budget cut, what was missed. */
void probe_notes_after(const struct probe_list *list, const struct probing *probing,
		       uint64_t missed, bool is_verbose);

#endif
