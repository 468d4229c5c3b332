/*
 * The loop of every run, with its beginning and end.
 *
 * The collector sees struct run; the loop keeps its own state in struct running. The loop waits for
 * the signal, the child and the targets; the collector polls their descriptors together with its
 * own.
 */
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/unwind/table_worker.h"
#include "kernel/preflight.h"
#include "probe/find/needed_task.h"
#include "probe/find/program_task.h"
#include "probe/find/users_task.h"
#include "probe/find/probes_task.h"
#include "proc/cgroup.h"
#include "run/complain.h"
#include "run/process_labels.h"
#include "run/processes.h"
#include "sym/names_task.h"
#include "sym/source_lines.h"

#define TICK_NS NS_PER_SEC /* update interval of the progress line */

enum { SIGNAL_FD, CHILD_FD, FIRST_TARGET_FD };

struct running {
	struct run run;
	struct collector *collector;
	struct targets targets;
	struct child child;
	int child_status; /* of a run before */
	uint64_t nr_runs_left;
	int cgroup_fd;
	struct pollfd *fds;
	uint64_t deadline_ns, interval_end_ns; /* UINT64_MAX: never */
	bool child_started, child_ended;
	bool was_signalled;
	bool has_dropped;    /* capabilities that are not needed any more */
	bool shows_progress; /* on a terminal line that is overwritten */
};

/* --- the clock ------------------------------------------------------------------------------- */

static uint64_t system_now(void *context)
{
	return clock_now_ns();
}

static int system_wait(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(left_ns / NS_PER_SEC),
		.tv_nsec = (long)(left_ns % NS_PER_SEC),
	};

	if (ppoll(fds, nr_fds, until_ns == UINT64_MAX ? NULL : &timeout, NULL) < 0 &&
	    errno != EINTR)
		return -errno;
	return 0;
}

static const struct clock system_clock = {.now = system_now, .wait = system_wait};

static uint64_t now(const struct running *running)
{
	const struct clock *clock = &running->run.clock;

	return clock->now(clock->context);
}

/*
 * Duration and intervals count from here: when collecting begins, and again when the child starts.
 */
static void start_clock(struct running *running)
{
	const struct run_config *config = running->run.config;

	running->run.began_ns = now(running);
	running->deadline_ns = running->interval_end_ns = UINT64_MAX;
	if (config->duration_ns)
		running->deadline_ns = running->run.began_ns + config->duration_ns;
	if (config->interval_ns)
		running->interval_end_ns = running->run.began_ns + config->interval_ns;
}

/* --- the beginning --------------------------------------------------------------------------- */

static struct wanted_tasks wanted(const struct running *running)
{
	const struct run_config *config = running->run.config;
	bool only_child = running->run.child_pid && !config->everything;

	return (struct wanted_tasks){
		.pids = only_child ? &running->run.child_pid : config->pids,
		.nr_pids = only_child ? 1 : config->nr_pids,
		.tids = config->tids,
		.nr_tids = config->nr_tids,
		.follow = !config->no_follow,
		.cgroup_fd = running->cgroup_fd,
		.self = config->self,
		.command_pid = running->run.child_pid,
	};
}

static int open_targets(struct running *running, struct error *error)
{
	const struct run_config *config = running->run.config;
	int err = targets_open(&running->targets, config, error);

	if (!err && config->cgroup) {
		running->cgroup_fd = cgroup_open(config->cgroup, error);
		err = running->cgroup_fd < 0 ? running->cgroup_fd : 0;
	}
	running->run.tasks = wanted(running);
	return err;
}

/* The child is forked and waits to be started. */
static int prepare_child(struct running *running, struct error *error)
{
	const struct run_config *config = running->run.config;
	int err = 0;

	if (config->command)
		err = child_prepare(&running->child, config->command, error);
	if (err)
		return err;
	running->run.child_pid = (uint32_t)running->child.pid;
	running->run.tasks = wanted(running);
	return 0;
}

/* From here on signals are handled. */
static int listen_to_signals(struct running *running, struct error *error)
{
	running->run.signal_fd = signals_listen(error);
	if (running->run.signal_fd < 0)
		return running->run.signal_fd;
	running->fds = calloc(FIRST_TARGET_FD + running->targets.nr, sizeof(*running->fds));
	return running->fds ? 0 : error_no_memory(error, "");
}

/* Returns 0, 1 if there is nothing to run, or a negative errno that was reported. */
static int prepare(struct running *running)
{
	struct collector *collector = running->collector;
	struct error error = {0};
	int err = open_targets(running, &error);

	if (!err)
		err = collector->ops->prepare(collector, &error);
	if (!err)
		err = listen_to_signals(running, &error);
	if (!err)
		err = prepare_child(running, &error);
	if (!err)
		err = collector->ops->load(collector, &error);
	if (err < 0)
		(void)complain_on_error(err, &error);
	return err;
}

/* --- progress -------------------------------------------------------------------------------- */

static void clear_progress(const struct running *running)
{
	if (running->shows_progress)
		fputs("\r\033[K", stderr);
}

/* The line is cut to the terminal's width, since a line that has wrapped could not be cleared. */
static void show_progress(const struct running *running)
{
	const struct run_config *config = running->run.config;
	char whole[32] = "", line[160];
	struct winsize size;
	const char *unit;
	uint64_t nr;
	int width = (int)sizeof(line);

	if (!running->shows_progress)
		return;
	clear_progress(running);
	if (config->duration_ns)
		(void)snprintf(whole, sizeof(whole), " of %g", (double)config->duration_ns / 1e9);
	nr = running->collector->ops->progress(running->collector, &unit);
	(void)snprintf(
		line, sizeof(line), "%5" PRIu64 " s%s  %" PRIu64 " %s  (Ctrl-C stops and prints)",
		(uint64_t)((now(running) - running->run.began_ns) / NS_PER_SEC), whole, nr, unit);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col - 1;
	fprintf(stderr, "%.*s", width, line);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void list_fds(struct running *running)
{
	const struct child *child = &running->child;

	running->fds[SIGNAL_FD] = (struct pollfd){.fd = running->run.signal_fd, .events = POLLIN};
	running->fds[CHILD_FD] =
		(struct pollfd){.fd = child->pid ? child->pidfd : -1, .events = POLLIN};
	memcpy(&running->fds[FIRST_TARGET_FD], running->targets.fds,
	       running->targets.nr * sizeof(*running->fds));
}

/* Lets the child exec its program, if there is one and it has not started. */
static int start_child(struct running *running, struct error *error)
{
	const struct collector *collector = running->collector;
	int err;

	if (!running->child.pid || running->child_started ||
	    (collector->ops->is_ready && !collector->ops->is_ready(collector)))
		return 0;
	start_clock(running);
	err = child_start(&running->child, running->run.config->command, error);
	running->child_started = !err;
	running->run.child_failed = err;
	return err;
}

/* The last interval, which ends with the run, is shown by show_last(). */
static int pass_interval(struct running *running, struct error *error)
{
	uint64_t interval_ns = running->run.config->interval_ns;
	uint64_t now_ns = now(running), nr_passed;

	if (now_ns < running->interval_end_ns || now_ns >= running->deadline_ns)
		return 0;
	/* After a SIGSTOP, for example, several intervals have passed: they are shown as one. */
	nr_passed = (now_ns - running->interval_end_ns) / interval_ns + 1;
	running->run.interval_due_ns = running->interval_end_ns;
	running->interval_end_ns += nr_passed * interval_ns;
	clear_progress(running);
	return running->collector->ops->interval(running->collector, false, error);
}

/* Evaluates revents of the descriptors; true if the run is to end. */
static bool is_over(struct running *running)
{
	memcpy(running->targets.fds, &running->fds[FIRST_TARGET_FD],
	       running->targets.nr * sizeof(*running->fds));
	running->child_ended = running->fds[CHILD_FD].revents;
	if (running->fds[SIGNAL_FD].revents || running->child_ended)
		return true;
	if (targets_all_ended(&running->targets)) {
		clear_progress(running);
		if (!running->run.config->quiet)
			complain("all targets have exited");
		return true;
	}
	return now(running) >= running->deadline_ns;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When all events and probes are attached. The child was forked before, and keeps what it has. */
static void drop_privileges(struct running *running)
{
	struct collector *collector = running->collector;

	if (running->has_dropped || running->nr_runs_left ||
	    (collector->ops->is_ready && !collector->ops->is_ready(collector)))
		return;
	running->has_dropped = true;
	if (collector->ops->attached)
		collector->ops->attached(collector);
	privileges_drop();
}

/* Loops until the run ends. Returns 0 or a negative errno. */
static int wait_for_end(struct running *running, struct error *error)
{
	struct collector *collector = running->collector;
	uint64_t tick_ns, until_ns;
	int err;

	start_clock(running);
	tick_ns = running->run.began_ns;
	do {
		tick_ns = running->shows_progress ? tick_ns + TICK_NS : UINT64_MAX;
		err = start_child(running, error);
		if (err)
			break;
		drop_privileges(running);
		list_fds(running);
		until_ns = earliest(running->deadline_ns, running->interval_end_ns);
		err = collector->ops->wait(collector, earliest(tick_ns, until_ns), running->fds,
					   FIRST_TARGET_FD + running->targets.nr, error);
		if (!err)
			err = pass_interval(running, error);
		show_progress(running);
	} while (!err && !is_over(running));
	clear_progress(running);
	running->was_signalled |= signals_consume(running->run.signal_fd, &running->child);
	running->run.repeats = !err && running->nr_runs_left && running->child_ended;
	return err;
}

/* --- the end --------------------------------------------------------------------------------- */

/* Shows what was collected since the last interval. Only a later signal interrupts its naming. */
static bool show_last(struct running *running)
{
	struct collector *collector = running->collector;
	struct error error = {0};

	running->was_signalled |= signals_consume(running->run.signal_fd, &running->child);
	running->run.repeats &= !running->was_signalled;
	if (running->run.child_failed)
		return true;
	return complain_on_error(collector->ops->interval(collector, true, &error), &error);
}

static bool stop(struct running *running)
{
	struct collector *collector = running->collector;
	struct error error = {0};

	return complain_on_error(collector->ops->stop(collector, &error), &error);
}

/* Returns 0 or a negative errno that was reported. */
static int collect(struct running *running)
{
	struct collector *collector = running->collector;
	const struct collector_ops *ops = collector->ops;
	const struct run_config *config = running->run.config;
	struct error error = {0};
	bool well;
	int err;

	if (!config->quiet)
		targets_print(config);
	err = ops->start(collector, &error);
	well = complain_on_error(err, &error);
	if (!err) {
		running->run.has_started = true;
		/* Intervals are printed at any time, by another thread. */
		running->shows_progress = ops->progress && !config->quiet &&
					  isatty(STDERR_FILENO) &&
					  !(config->interval_ns && isatty(STDOUT_FILENO));
		err = wait_for_end(running, &error);
		well = complain_on_error(err, &error);
		if (ops->stops_last)
			well &= show_last(running);
		well &= stop(running);
		if (!ops->stops_last)
			well &= show_last(running);
	}
	well &= complain_on_error(ops->summarize(collector, &error), &error);
	if (well)
		return 0;
	return err < 0 && err != -EPIPE ? err : -EIO;
}

/* Prepares the next run of the child. Returns 0 or a negative errno that was reported. */
static int prepare_next(struct running *running)
{
	struct collector *collector = running->collector;
	struct error error = {0};
	int err;

	running->child_status = child_wait(&running->child);
	child_clear(&running->child);
	running->child_started = running->child_ended = running->run.has_started = false;
	running->nr_runs_left--;
	err = prepare_child(running, &error);
	if (!err)
		err = collector->ops->load(collector, &error);
	(void)complain_on_error(err, &error);
	return err;
}

int run_usage_status(char **argv)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, "--"))
			return EXIT_OWN_FAILURE;
	return EXIT_USAGE;
}

/* With `-- CMD`, our failure must not look like an exit status of CMD. */
static int status_of_failure(const struct run *run, int err)
{
	if (!run->config->command)
		return EXIT_FAILED;
	if (run->child_failed && err == -ENOENT)
		return 127;
	return run->child_failed && err == -EACCES ? 126 : EXIT_OWN_FAILURE;
}

/* From here on a signal ends the program at once. */
static int end(struct running *running, int err)
{
	const struct run_config *config = running->run.config;
	int status = 0, child_status;

	signals_stop_listening(running->run.signal_fd, &running->child);
	if (err)
		status = status_of_failure(&running->run, err);
	if (!running->child_started)
		return err ? status : running->child_status;
	if (!running->child_ended && !config->quiet)
		complain("the run is over; waiting for '%s' to exit", config->command[0]);
	child_status = child_wait(&running->child);
	return err ? status : child_status;
}

static void clear(struct running *running)
{
	child_clear(&running->child);
	targets_clear(&running->targets);
	free(running->fds);
	if (running->cgroup_fd >= 0)
		(void)close(running->cgroup_fd);
	if (running->run.signal_fd >= 0)
		(void)close(running->run.signal_fd);
}

int run_collector(const struct run_config *config, const struct clock *clock,
		  struct collector *collector)
{
	struct running running = {
		.run = {.config = config, .clock = clock ? *clock : system_clock, .signal_fd = -1},
		.collector = collector,
		.cgroup_fd = -1,
	};
	int status, err;

	log_to(config->verbose ? stderr : NULL);
	running.run.entered_ns = now(&running);
	collector->run = &running.run;
	if (config->command && config->nr_runs)
		running.nr_runs_left = config->nr_runs - 1;
	err = prepare(&running);
	if (!err) {
		err = collect(&running);
		while (!err && running.run.repeats) {
			err = prepare_next(&running);
			if (!err)
				err = collect(&running);
		}
	} else if (err > 0 ||
		   err == -EPIPE) { /* a list was printed, or its reader closed the pipe */
		err = 0;
	}
	status = end(&running, err);
	clear(&running);
	collector->run = NULL;
	return status;
}

const struct worker_task run_tasks[NR_TASKS] = {
	[TASK_UNWIND_TABLE] = {"unwind table", table_worker_task},
	[TASK_NAMES] = {"names", names_task},
	[TASK_LINES] = {"lines", lines_task},
	[TASK_PROBES] = {"probes", probes_task},
	[TASK_NEEDED] = {"needed", needed_task},
	[TASK_PROGRAM] = {"program", program_task},
	[TASK_USERS] = {"users", users_task},
	[TASK_CONTEXTS] = {"contexts", contexts_task},
	[TASK_ATTRIBUTES] = {"attributes", attributes_task},
};
