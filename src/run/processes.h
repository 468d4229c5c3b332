/*
 * Everybody else that a run has to do with: who sends signals, the program behind `--`, the processes
 * that were named.
 */
#ifndef STOOK_RUN_PROCESSES_H
#define STOOK_RUN_PROCESSES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "run/config.h"

/* --- the program behind `--` ------------------------------------------------------------------ */

/* Held back until collecting has begun, then let go and waited for. */
struct child {
	pid_t pid;    /* 0: none */
	int pidfd;    /* readable when it has ended */
	int start_fd; /* closing it without a byte ends the child */
	int exec_fd;  /* says why the program could not be executed */
};

/* A process that is ready to become argv, without our ambient capabilities. 0 or a negative errno. */
int child_prepare(struct child *child, char **argv, struct error *error);

/* Lets it execute. 0; or what execvp() failed with: -ENOENT, -EACCES, … */
int child_start(struct child *child, char **argv, struct error *error);

/* Waits for its end; its status as a shell has it: 128 + the signal for one that was killed. */
int child_wait(struct child *child);

/* Closes what is open; a child that was never started ends. Also for {0}. */
void child_clear(struct child *child);

/* --- targets ---------------------------------------------------------------------------------- */

/* The processes named by --pid and --tid, watched for their end. */
struct targets {
	struct pollfd *fds; /* readable when the process has ended */
	size_t nr;
	size_t nr_alive;
};

/*
 * 0; -ESRCH, with the number in *error, if there is no such process or thread; -EINVAL if /proc
 * shows another pid namespace, which is checked without targets too. To be cleared in each case.
 */
int targets_open(struct targets *targets, const struct run_config *config, struct error *error);

/* Says on stderr which they are, by number and name, and for how long; nothing without targets. */
void targets_tell(const struct run_config *config);

/* Notes the targets that have ended (revents of fds); true if none is left that was. */
bool targets_all_ended(struct targets *targets);

void targets_clear(struct targets *targets);

/* --- signals ---------------------------------------------------------------------------------- */

/*
 * SIGINT, SIGTERM and SIGHUP. The first of them ends what the run is doing, sampling or naming, and
 * the result is written. The second one ends the program at once, whatever it is doing.
 */

/*
 * A descriptor that can be read when the first signal has come; or a negative errno. Once a process;
 * the descriptor must stay open until signals_stop_listening().
 */
int signals_listen(struct error *error);

/*
 * Takes a signal that has come as seen: what follows goes on as if there had been none. It is passed
 * on to the child (NULL: none), but for the terminal's Ctrl-C, which the child has got itself.
 */
void signals_take(int signal_fd, const struct child *child);

/* From now on the first signal, too, ends the program at once. Takes one that has come. */
void signals_stop_listening(int signal_fd, const struct child *child);

#endif
