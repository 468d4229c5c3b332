/* The command line of `stook profile`, parsed and checked. */
#ifndef STOOK_CMD_PROFILE_OPTIONS_H
#define STOOK_CMD_PROFILE_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/naming_options.h"
#include "cmd/output_options.h"
#include "event/event.h"
#include "session/sampling.h"

/* What user stacks are walked by. */
enum unwind_mode {
	UNWIND_AUTO, /* tables, or frame pointers if the kernel can't be made to use them */
	UNWIND_CFI,
	UNWIND_FP,
};

struct profile_options {
	uint32_t *pids, *tids, *cpus; /* cpus: NULL is all that are online */
	size_t nr_pids, nr_tids, nr_cpus;
	const char *cgroup;
	bool has_comm;
	regex_t comm;
	char **command;	 /* behind `--`, NULL-ended; NULL: none */
	bool everything; /* -a: also with a command */
	bool no_follow;

	struct event event;
	bool event_is_default; /* cycles, or cpu-clock where there is no such counter */
	struct sampling_rate rate;
	uint64_t duration_ns, interval_ns; /* 0: none */

	bool no_user, no_kernel, include_idle;
	unsigned labels; /* enum label bits */
	enum unwind_mode unwind;
	size_t max_table_bytes;	  /* 0: the default */
	const char *table_folder; /* NULL: the default; "none" */
	bool force;
	uint32_t max_depth;

	struct naming_options naming;
	bool java, no_symbols;

	struct output_options output;
	const char *stats_path;
	size_t ring_bytes, max_counts;
	bool quiet, verbose;
};

/*
 * 0: go on; 1: help was printed, all is done; -EINVAL: a mistake of the user's, in *error. To be
 * cleared in each case.
 */
int profile_options_parse(int argc, char **argv, struct profile_options *ret, struct error *error);
void profile_options_clear(struct profile_options *options);

#endif
