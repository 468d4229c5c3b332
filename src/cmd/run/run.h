/*
 * A run: whatever a command collects for a while, it has targets, perhaps a program of its own to
 * start, and ends with the duration, the targets, that program, or a signal.
 *
 *	run_open_targets()	what can't be is known before anything was loaded or begun
 *	run_prepare_child()	from now on signals are heard; the child waits to be let go
 *	run_start_clock()	what is collected begins now
 *	run_wait()
 *	run_status()
 *	run_clear()
 */
#ifndef STOOK_CMD_RUN_RUN_H
#define STOOK_CMD_RUN_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/options/task_options.h"
#include "cmd/run/child.h"
#include "cmd/run/targets.h"
#include "kernel/follow.h"

struct run {
	const struct task_options *options;
	struct targets targets;
	struct child child;
	struct wanted_tasks tasks; /* with the child, once it is prepared */
	uint32_t child_pid;
	int cgroup_fd, signal_fd;
	struct pollfd *fds;
	uint64_t began_ns, deadline_ns, interval_end_ns; /* UINT64_MAX: never */
	bool child_started, child_failed, child_ended;
	bool shows_progress; /* on a line of the terminal that is written over */
};

#define RUN_INIT                                 \
	{                                        \
		.cgroup_fd = -1, .signal_fd = -1 \
	}

/* Begins with a *run of its own making. 0 or a negative errno. */
int run_open_targets(struct run *run, const struct task_options *options, struct error *error);
int run_prepare_child(struct run *run, struct error *error);

void run_start_clock(struct run *run);

struct run_work {
	/* Works and waits, until this time or until one of the descriptors is ready. */
	int (*wait)(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
		    struct error *error);
	/* At the end of each interval but the last, which is that of the run. */
	int (*end_interval)(void *context, struct error *error);
	/* Whether the child may begin; NULL: at once. The clock starts anew then. */
	bool (*is_ready)(void *context);
	void (*print_progress)(void *context); /* NULL: there is no such line */
	void *context;
};

/* Until the end; from then on a signal ends the program. 0 or what one of the two returned. */
int run_wait(struct run *run, const struct run_work *work, struct error *error);

/*
 * The exit status: that of a failure, which was complained of; or the child's own, which is waited
 * for.
 */
int run_status(struct run *run, int err);

void run_clear(struct run *run);

#endif
