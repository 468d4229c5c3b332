/*
 * What a run of stook profile is made of: for the two files that prepare it and carry it out
 * (profile_prepare.c, profile.c), and for nobody else.
 */
#ifndef STOOK_CMD_PROFILE_RUN_H
#define STOOK_CMD_PROFILE_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/child.h"
#include "cmd/outputs.h"
#include "cmd/profile_options.h"
#include "cmd/session_names.h"
#include "cmd/targets.h"
#include "session/session.h"

enum { SIGNAL_FD, CHILD_FD, FIRST_TARGET_FD };

struct profile_run {
	struct profile_options options;
	struct targets targets;
	struct child child;
	struct outputs outputs;
	struct out_file stats;
	struct session *session;
	struct session_names names;
	uint32_t *online_cpus;
	size_t nr_online_cpus;
	uint32_t child_pid;
	int cgroup_fd;
	int signal_fd;
	uint64_t began_ns, deadline_ns, interval_end_ns;
	struct pollfd *fds;
	bool interrupted, child_started, child_ended;
	bool shows_progress;
};

/* From the options to a session that can be started. 0, or a negative errno and it is half made. */
int profile_run_prepare(struct profile_run *run, struct error *error);

/* Also of a half-made one. */
void profile_run_clear(struct profile_run *run);

#endif
