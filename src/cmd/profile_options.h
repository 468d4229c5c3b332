/* The command line of `stook profile`, parsed and checked. */
#ifndef STOOK_CMD_PROFILE_OPTIONS_H
#define STOOK_CMD_PROFILE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/options/stack_options.h"
#include "cmd/options/task_options.h"
#include "collect/sampling.h"
#include "event/event.h"

struct profile_options {
	struct task_options tasks;
	struct stack_options stacks;
	uint32_t *cpus; /* NULL: all that are online */
	size_t nr_cpus;
	struct event event;
	bool event_is_default; /* cycles, or cpu-clock where there is no such counter */
	struct sampling_rate rate;
	bool include_idle;
};

/*
 * 0: go on; 1: help was printed, all is done; -EINVAL: a mistake of the user's, in *error. To be
 * cleared in each case.
 */
int profile_options_parse(int argc, char **argv, struct profile_options *ret, struct error *error);
void profile_options_clear(struct profile_options *options);

#endif
