/* Watching targets by pidfd: no polling, and no mistaking a new process for an old one. */
#include "cmd/run/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/process_info.h"

static int watch(struct targets *targets, uint32_t pid, const char *what, uint32_t number,
		 struct error *error)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd < 0) {
		if (errno == ESRCH || errno == EINVAL || errno == ENOENT)
			return error_set(error, -ESRCH, "no such %s: %u", what, number);
		return error_set_errno(error, "cannot watch %s %u", what, number);
	}
	targets->fds[targets->nr++] = (struct pollfd){.fd = fd, .events = POLLIN};
	targets->nr_alive++;
	return 0;
}

int targets_open(struct targets *targets, const uint32_t *pids, size_t nr_pids,
		 const uint32_t *tids, size_t nr_tids, struct error *error)
{
	size_t i;
	int err = 0;

	*targets = (struct targets){0};
	if (!process_proc_is_ours())
		return error_set(error, -EINVAL,
				 "/proc is of another pid namespace than ours: mount our own "
				 "(unshare --mount-proc)");
	targets->fds = calloc(nr_pids + nr_tids + 1, sizeof(*targets->fds));
	if (!targets->fds)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < nr_pids && !err; i++)
		err = watch(targets, pids[i], "process", pids[i], error);
	for (i = 0; i < nr_tids && !err; i++) {
		int64_t pid = process_of_thread((int32_t)tids[i]);

		if (pid < 0)
			return error_set(error, -ESRCH, "no such thread: %u", tids[i]);
		err = watch(targets, (uint32_t)pid, "thread", tids[i], error);
	}
	return err;
}

bool targets_all_ended(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->nr; i++) {
		if (targets->fds[i].fd < 0 || !targets->fds[i].revents)
			continue;
		(void)close(targets->fds[i].fd);
		targets->fds[i].fd = -1;
		targets->nr_alive--;
	}
	return targets->nr && !targets->nr_alive;
}

void targets_clear(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->nr; i++)
		if (targets->fds[i].fd >= 0)
			(void)close(targets->fds[i].fd);
	free(targets->fds);
	*targets = (struct targets){0};
}
