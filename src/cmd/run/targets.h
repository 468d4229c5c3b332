/* The processes named by --pid and --tid, watched for their end. */
#ifndef STOOK_CMD_RUN_TARGETS_H
#define STOOK_CMD_RUN_TARGETS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct targets {
	struct pollfd *fds; /* readable when the process has ended */
	size_t nr;
	size_t nr_alive;
};

/*
 * 0; -ESRCH, with the number in *error, if there is no such process or thread; -EINVAL if /proc
 * shows another pid namespace, which is asked without targets too.
 */
int targets_open(struct targets *targets, const uint32_t *pids, size_t nr_pids,
		 const uint32_t *tids, size_t nr_tids, struct error *error);

/* Takes note of those that have ended (revents of fds); true if none is left that was. */
bool targets_all_ended(struct targets *targets);

void targets_clear(struct targets *targets);

#endif
