/*
 * Whom probes concern besides those that were asked for. A probe in a file is hit by every process
 * that runs the file, one in the kernel by all: they are filtered out, but pay for it.
 */
#ifndef STOOK_CMD_PROBE_REACH_H
#define STOOK_CMD_PROBE_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/options/task_options.h"
#include "kernel/follow.h"
#include "probe/attach/probe_features.h"
#include "probe/expression/probe_list.h"

/*
 * How children of the processes that were named are followed. A process that is to be the only one
 * that pays can be followed no further: the kernel's filter knows one process and not its children.
 */
enum probe_follow {
	FOLLOW_IF_ALONE, /* unless others run the same files, and would pay */
	FOLLOW_ALWAYS,
	FOLLOW_NEVER,
};

struct probe_reach {
	int32_t link_pid;	 /* user code is probed in this process alone; 0: in all */
	const char *shared_file; /* that others run too, though processes were named; else NULL */
	bool spares_others;	 /* those are left alone, and so are children */
};

void probe_reach_find(struct probe_reach *ret, const struct probe_list *list,
		      const struct probe_features *features, const struct wanted_tasks *tasks,
		      enum probe_follow follow);

#endif
