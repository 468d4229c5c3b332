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
#ifndef STOOK_RUN_RUN_H
#define STOOK_RUN_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "kernel/follow.h"
#include "run/config.h"

/* The command behind `--`: held back until collecting has begun, then let go and waited for. */
struct child {
	pid_t pid;    /* 0: none */
	int pidfd;    /* readable when it has ended */
	int start_fd; /* closing it without a byte ends the child */
	int exec_fd;  /* says why the program could not be executed */
};

/* The processes named by --pid and --tid, watched for their end. */
struct targets {
	struct pollfd *fds; /* readable when the process has ended */
	size_t nr;
	size_t nr_alive;
};

struct run {
	const struct run_config *options;
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
int run_open_targets(struct run *run, const struct run_config *options, struct error *error);
int run_prepare_child(struct run *run, struct error *error);

void run_start_clock(struct run *run);

struct run_work {
	/* Works and waits, until this time or until one of the descriptors is ready. */
	int (*wait)(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
		    struct error *error);
	/* At the end of each interval but the last, which is that of the run. */
	int (*end_interval)(void *context, struct error *error);
	/* True when the child may begin; NULL: at once. The clock starts anew then. */
	bool (*is_ready)(void *context);
	void (*print_progress)(void *context); /* NULL: there is no such line */
	void *context;
};

/*
 * Until the end. 0 or what one of the two returned. A signal that has ended it is taken: signal_fd
 * can be read again only if the first signal comes later.
 */
int run_wait(struct run *run, const struct run_work *work, struct error *error);

/* Takes a signal that has come as seen, so that it does not end what comes next. */
void run_take_signal(struct run *run);

/* The exit status of a command line that makes no sense; with `-- CMD` it is none of CMD's. */
int run_usage_status(char **argv);

/*
 * The exit status: that of a failure, which was complained of; or the child's own, which is waited
 * for. From then on a signal ends the program at once.
 */
int run_status(struct run *run, int err);

void run_clear(struct run *run);

/*
 * SIGINT, SIGTERM and SIGHUP, which run_prepare_child() listens to. The first of them ends what the
 * run is doing, sampling or naming, and the result is written. The second one ends the program at
 * once, whatever it is doing.
 */

/*
 * A descriptor that can be read when the first signal has come; or a negative errno. Once a process;
 * the descriptor must stay open until signals_stop_listening().
 */
int signals_listen(struct error *error);

/*
 * From now on the first signal, too, ends the program at once. Takes one that has come, and passes it
 * on to the child (NULL: none).
 */
void signals_stop_listening(int signal_fd, const struct child *child);

#endif
