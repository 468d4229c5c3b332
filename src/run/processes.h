/*
 * The other processes of a run: senders of signals, the program after `--`, and the processes named
 * by --pid and --tid.
 */
#ifndef STOOK_RUN_PROCESSES_H
#define STOOK_RUN_PROCESSES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "run/config.h"

/* --- the program after `--` ------------------------------------------------------------------ */

/* A child that is held until collecting has begun, then started and waited for. */
struct child {
	pid_t pid;    /* 0: none */
	int pidfd;    /* readable when the child has exited */
	int start_fd; /* closing it without writing a byte ends the child */
	int exec_fd;  /* carries the errno of a failed exec */
};

/* Forks a process that is ready to exec argv, without our ambient capabilities. 0 or -errno. */
int child_prepare(struct child *child, char **argv, struct error *error);

/* Lets the child exec. Returns 0 or the error of execvp(): -ENOENT, -EACCES, … */
int child_start(struct child *child, char **argv, struct error *error);

/* Reads the CPU time that a child, which has ended and is not waited for, has used; false if it has not ended. */
bool child_times(pid_t pid, double *ret_user_seconds, double *ret_system_seconds);

/* Waits for the child; returns its status as a shell does: 128 + the signal if it was killed. */
int child_wait(struct child *child);

/* Closes open descriptors; a child that was never started ends. child may be {0}. */
void child_clear(struct child *child);

/* --- targets ---------------------------------------------------------------------------------- */

/* The processes named by --pid and --tid, watched for their exit. */
struct targets {
	struct pollfd *fds; /* readable when the process has exited */
	size_t nr;
	size_t nr_alive;
};

/*
 * Returns 0; -ESRCH, with the number in *error, if a process or thread does not exist; -EINVAL if
 * /proc belongs to another pid namespace (checked without targets, too). The caller clears targets
 * in each case.
 */
int targets_open(struct targets *targets, const struct run_config *config, struct error *error);

/*
 * Prints the targets' numbers, names and the duration on stderr; nothing if there are no targets.
 */
void targets_print(const struct run_config *config);

/* Updates targets from revents in fds; true if there were targets and all of them have exited. */
bool targets_all_ended(struct targets *targets);

void targets_clear(struct targets *targets);

/* --- signals ---------------------------------------------------------------------------------- */

/*
 * SIGINT, SIGTERM and SIGHUP. The first one ends what the run is doing, sampling or naming, and the
 * result is written. The second one ends the program at once.
 */

/*
 * Returns a descriptor that becomes readable at the first signal, or a negative errno. Call it once
 * per process; the descriptor must stay open until signals_stop_listening().
 */
int signals_listen(struct error *error);

/* In a child without handlers, which ends with its parent: blocks these signals, they are for the parent. */
void signals_leave(void);

/*
 * Consumes a pending signal, so that the following steps are not interrupted by it. The signal is
 * passed on to the child (NULL: none), except for the terminal's Ctrl-C, which the child received
 * itself. Returns true if there was one.
 */
bool signals_consume(int signal_fd, const struct child *child);

/*
 * Restores default handling: the next signal ends the program at once. Consumes a pending signal.
 */
void signals_stop_listening(int signal_fd, const struct child *child);

#endif
