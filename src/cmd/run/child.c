/*
 * Starting a command for profiling; see child.h. The child waits on a pipe for one byte, so that
 * its very first instruction is sampled, and reports a failed exec through a second pipe, which a
 * successful exec closes.
 */
#include "cmd/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

__attribute__((noreturn)) static void become(char **argv, int start_fd, int exec_fd)
{
	sigset_t none;
	char go;

	(void)signal(SIGPIPE, SIG_DFL); /* we ignore it, and execve() would hand that down */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(start_fd, &go, 1) == 1) {
		(void)execvp(argv[0], argv);
		if (write(exec_fd, &errno, sizeof(errno)) < 0)
			_exit(126);
	}
	_exit(127);
}

int child_prepare(struct child *child, char **argv, struct error *error)
{
	int start[2], result[2];

	*child = (struct child){.pidfd = -1, .start_fd = -1, .exec_fd = -1};
	if (pipe2(start, O_CLOEXEC) < 0)
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	if (pipe2(result, O_CLOEXEC) < 0) {
		(void)close(start[0]);
		(void)close(start[1]);
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	}
	child->start_fd = start[1];
	child->exec_fd = result[0];
	child->pid = fork();
	if (child->pid == 0) {
		(void)close(start[1]); /* so that our end closing is the end of file */
		become(argv, start[0], result[1]);
	}
	(void)close(start[0]);
	(void)close(result[1]);
	if (child->pid < 0) {
		int err = error_set_errno(error, "cannot start '%s'", argv[0]);

		child->pid = 0;
		child_clear(child);
		return err;
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		int err = error_set_errno(error, "cannot watch '%s'", argv[0]);

		child_clear(child);
		return err;
	}
	return 0;
}

int child_start(struct child *child, char **argv, struct error *error)
{
	int why = 0;

	if (write(child->start_fd, "", 1) != 1)
		return error_set_errno(error, "cannot start '%s'", argv[0]);
	close_fd(&child->start_fd);
	if (read(child->exec_fd, &why, sizeof(why)) == sizeof(why))
		return error_set(error, -why, "cannot execute '%s': %s", argv[0], strerror(why));
	close_fd(&child->exec_fd);
	return 0;
}

int child_wait(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	child->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_clear(struct child *child)
{
	bool waits = child->pid && child->start_fd >= 0;

	if (!child->pid && !child->start_fd)
		return; /* {0}: there never was one */
	close_fd(&child->start_fd);
	close_fd(&child->exec_fd);
	close_fd(&child->pidfd);
	if (waits)
		(void)child_wait(child);
}
