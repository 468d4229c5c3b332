/* From targets to the end of a run; see run.h. */
#include "cmd/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/complain.h"
#include "cmd/run/exit_status.h"
#include "cmd/run/signals.h"
#include "proc/cgroup.h"

#define TICK_NS NS_PER_SEC /* how often the progress line moves */

enum { SIGNAL_FD, CHILD_FD, FIRST_TARGET_FD };

int run_open_targets(struct run *run, const struct task_options *options, struct error *error)
{
	int err;

	*run = (struct run){.options = options, .cgroup_fd = -1, .signal_fd = -1};
	err = targets_open(&run->targets, options->pids, options->nr_pids, options->tids,
			   options->nr_tids, error);
	if (!err && options->cgroup) {
		run->cgroup_fd = cgroup_open(options->cgroup, error);
		err = run->cgroup_fd < 0 ? run->cgroup_fd : 0;
	}
	run->tasks = task_options_wanted(options, run->cgroup_fd, &run->child_pid);
	return err;
}

int run_prepare_child(struct run *run, struct error *error)
{
	int err = 0;

	run->signal_fd = signals_listen(error);
	if (run->signal_fd < 0)
		return run->signal_fd;
	if (run->options->command)
		err = child_prepare(&run->child, run->options->command, error);
	if (err)
		return err;
	run->child_pid = (uint32_t)run->child.pid;
	run->tasks = task_options_wanted(run->options, run->cgroup_fd, &run->child_pid);
	run->fds = calloc(FIRST_TARGET_FD + run->targets.nr, sizeof(*run->fds));
	return run->fds ? 0 : error_set(error, -ENOMEM, "out of memory");
}

void run_start_clock(struct run *run)
{
	run->began_ns = clock_now_ns();
	run->deadline_ns = run->interval_end_ns = UINT64_MAX;
	if (run->options->duration_ns)
		run->deadline_ns = run->began_ns + run->options->duration_ns;
	if (run->options->interval_ns)
		run->interval_end_ns = run->began_ns + run->options->interval_ns;
}

/* --- waiting --------------------------------------------------------------------------------- */

static void clear_progress(const struct run *run)
{
	if (run->shows_progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(const struct run *run, const struct run_work *work)
{
	if (!run->shows_progress || !work->print_progress)
		return;
	clear_progress(run);
	fprintf(stderr, "%5.0f s", (double)(clock_now_ns() - run->began_ns) / 1e9);
	if (run->options->duration_ns)
		fprintf(stderr, " of %g", (double)run->options->duration_ns / 1e9);
	work->print_progress(work->context);
	fputs("  (Ctrl-C ends and prints)", stderr);
}

static void list_fds(struct run *run)
{
	run->fds[SIGNAL_FD] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
	run->fds[CHILD_FD] =
		(struct pollfd){.fd = run->child.pid ? run->child.pidfd : -1, .events = POLLIN};
	memcpy(&run->fds[FIRST_TARGET_FD], run->targets.fds, run->targets.nr * sizeof(*run->fds));
}

/* Lets the child execute its program, if there is one and it has not begun. */
static int start_child(struct run *run, const struct run_work *work, struct error *error)
{
	int err;

	if (!run->child.pid || run->child_started ||
	    (work->is_ready && !work->is_ready(work->context)))
		return 0;
	err = child_start(&run->child, run->options->command, error);
	run->child_started = !err;
	run->child_failed = err;
	run_start_clock(run);
	return err;
}

/* The interval that ends with the run is shown like any run. */
static int pass_interval(struct run *run, const struct run_work *work, struct error *error)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < run->interval_end_ns || now_ns >= run->deadline_ns)
		return 0;
	do {
		run->interval_end_ns += run->options->interval_ns;
	} while (run->interval_end_ns <= now_ns); /* after a SIGSTOP, say */
	clear_progress(run);
	return work->end_interval(work->context, error);
}

/* Reads what the descriptors say; true when the run is to end. */
static bool is_over(struct run *run)
{
	memcpy(run->targets.fds, &run->fds[FIRST_TARGET_FD], run->targets.nr * sizeof(*run->fds));
	run->child_ended = run->fds[CHILD_FD].revents;
	if (run->fds[SIGNAL_FD].revents || run->child_ended)
		return true;
	if (targets_all_ended(&run->targets)) {
		clear_progress(run);
		if (!run->options->quiet)
			complain("the target has ended");
		return true;
	}
	return clock_now_ns() >= run->deadline_ns;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int run_wait(struct run *run, const struct run_work *work, struct error *error)
{
	uint64_t tick_ns = run->began_ns;
	int err;

	do {
		tick_ns = run->shows_progress ? tick_ns + TICK_NS : UINT64_MAX;
		err = start_child(run, work, error);
		if (err)
			break;
		list_fds(run);
		err = work->wait(
			work->context,
			earliest(tick_ns, earliest(run->deadline_ns, run->interval_end_ns)),
			run->fds, FIRST_TARGET_FD + run->targets.nr, error);
		if (!err)
			err = pass_interval(run, work, error);
		show_progress(run, work);
	} while (!err && !is_over(run));
	clear_progress(run);
	signals_stop_listening(run->signal_fd, &run->child);
	return err;
}

/* --- the end --------------------------------------------------------------------------------- */

int run_status(struct run *run, int err)
{
	const struct task_options *options = run->options;
	int status = 0;

	if (err)
		status = exit_status_of_failure(options->command, run->child_failed, err);
	if (run->child_started) {
		int child_status = exit_status_of_child(&run->child, options->command[0],
							run->child_ended, options->quiet);

		status = err ? status : child_status;
	}
	return status;
}

void run_clear(struct run *run)
{
	child_clear(&run->child);
	targets_clear(&run->targets);
	free(run->fds);
	if (run->cgroup_fd >= 0)
		(void)close(run->cgroup_fd);
	if (run->signal_fd >= 0)
		(void)close(run->signal_fd);
}
