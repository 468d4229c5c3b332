/*
 * stook profile: samples stacks and prints where time goes.
 *
 *	$ stook profile -F 999 -p $(pgrep -d, redis-server) -f 10 >redis.folded
 *	stook: cpu-clock at 999 Hz on 2 CPUs for 10.0 s
 *	samples  19,976 fired = 9,812 shown + 14 idle + 10,150 filtered + 0 lost
 *	…
 *
 * The run is one path: options, targets, outputs, session; wait; stop; names; results; summary.
 * Names wait until the last sample, so that the profile does not show the profiler.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/complain.h"
#include "cmd/naming_notes.h"
#include "cmd/profile_run.h"
#include "cmd/run_stats.h"
#include "cmd/run_summary.h"

#define TICK_NS NS_PER_SEC /* how often the progress line moves */

/* --- results --------------------------------------------------------------------------------- */

/* Where naming fails nothing is lost but the names. */
static int show(struct profile_run *run, struct error *error)
{
	struct error unnamed = {0};

	if (session_names_apply(&run->names, &unnamed) < 0)
		complain_error(&unnamed);
	return outputs_write(&run->outputs, session_profile(run->session), error);
}

static void clear_progress(const struct profile_run *run)
{
	if (run->shows_progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(const struct profile_run *run)
{
	if (!run->shows_progress)
		return;
	fprintf(stderr, "\r\033[K%5.0f s", (double)(clock_now_ns() - run->began_ns) / 1e9);
	if (run->options.duration_ns)
		fprintf(stderr, " of %g", (double)run->options.duration_ns / 1e9);
	fprintf(stderr, "  %" PRIu64 " samples  (Ctrl-C ends and prints)",
		session_progress(run->session));
}

/* The numbers of a whole run; with --interval the stacks are judged by the last interval. */
static int summarize(struct profile_run *run, uint64_t exec_ns, struct error *error)
{
	struct run_summary summary = {
		.runtimes = session_runtimes(run->session),
		.names = &run->names,
		.exec_ns = exec_ns,
		.nr_cpus = run->options.cpus ? run->options.nr_cpus : run->nr_online_cpus,
	};
	const struct profile *profile = session_profile(run->session);
	int err = 0;

	if (quality_judge(profile, &summary.quality) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	session_summarize(run->session, &summary.session);
	summary.now_ns = clock_now_ns();
	if (!run->options.quiet)
		run_summary_print(&summary, &run->options, profile, stderr);
	if (!run->options.quiet)
		naming_notes_tell(run->names.symbolizer);
	if (run->stats.stream) {
		run_stats_write(&summary, run->stats.stream);
		err = out_file_commit(&run->stats, error);
	}
	return err;
}

/* --- the run --------------------------------------------------------------------------------- */

static int end_interval(struct profile_run *run, struct error *error)
{
	int err = session_flush(run->session, error);

	if (err)
		return err;
	clear_progress(run);
	err = show(run, error);
	profile_reset_samples(session_profile(run->session));
	run->interval_end_ns += run->options.interval_ns;
	return err;
}

/* The interval that ends with the run is shown like any run. */
static bool interval_is_over(const struct profile_run *run, uint64_t now_ns)
{
	return now_ns >= run->interval_end_ns && now_ns < run->deadline_ns;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reads what the descriptors say; true when the run is to end. */
static bool is_over(struct profile_run *run)
{
	memcpy(run->targets.fds, &run->fds[FIRST_TARGET_FD], run->targets.nr * sizeof(*run->fds));
	run->interrupted = run->fds[SIGNAL_FD].revents;
	run->child_ended = run->fds[CHILD_FD].revents;
	if (run->interrupted || run->child_ended)
		return true;
	if (targets_all_ended(&run->targets)) {
		clear_progress(run);
		if (!run->options.quiet)
			complain("the target has ended");
		return true;
	}
	return clock_now_ns() >= run->deadline_ns;
}

static int sample(struct profile_run *run, struct error *error)
{
	uint64_t tick_ns = run->began_ns;
	int err;

	do {
		tick_ns += TICK_NS;
		run->fds[SIGNAL_FD] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
		run->fds[CHILD_FD] = (struct pollfd){.fd = run->child.pid ? run->child.pidfd : -1,
						     .events = POLLIN};
		memcpy(&run->fds[FIRST_TARGET_FD], run->targets.fds,
		       run->targets.nr * sizeof(*run->fds));
		err = session_wait(
			run->session,
			earliest(earliest(tick_ns, run->deadline_ns), run->interval_end_ns),
			run->fds, FIRST_TARGET_FD + run->targets.nr, error);
		if (!err && interval_is_over(run, clock_now_ns()))
			err = end_interval(run, error);
		show_progress(run);
	} while (!err && !is_over(run));
	clear_progress(run);
	return err;
}

static int start(struct profile_run *run, struct error *error)
{
	int err = session_start(run->session, error);

	run->began_ns = clock_now_ns();
	run->deadline_ns = run->interval_end_ns = UINT64_MAX;
	if (run->options.duration_ns)
		run->deadline_ns = run->began_ns + run->options.duration_ns;
	if (run->options.interval_ns)
		run->interval_end_ns = run->began_ns + run->options.interval_ns;
	if (err || !run->child.pid)
		return err;
	err = child_start(&run->child, run->options.command, error);
	run->child_started = !err;
	return err;
}

/* True if all went well. A reader who closed our pipe has seen enough: nothing to complain of. */
static bool went_well(int err, const struct error *error)
{
	if (!err || err == -EPIPE)
		return true;
	complain_error(error);
	return false;
}

/* Signals have their usual effect again: a second one ends the program at once. */
static void stop_listening(struct profile_run *run)
{
	struct signalfd_siginfo info;
	sigset_t none;

	if (run->interrupted && read(run->signal_fd, &info, sizeof(info)) == sizeof(info) &&
	    run->child.pid && (info.ssi_signo != SIGINT || info.ssi_code == SI_USER))
		(void)kill(run->child.pid,
			   (int)info.ssi_signo); /* a terminal's Ctrl-C it has got */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Whatever fails on the way, what was collected before it is shown. */
static int run_session(struct profile_run *run, uint64_t exec_ns)
{
	struct error error = {0};
	bool well, reader_left;
	int err = start(run, &error);

	if (!went_well(err, &error))
		return err;
	err = sample(run, &error);
	stop_listening(run);
	reader_left = err == -EPIPE;
	well = went_well(err, &error);
	well &= went_well(session_stop(run->session, &error), &error);
	if (!reader_left)
		well &= went_well(show(run, &error), &error);
	well &= went_well(summarize(run, exec_ns, &error), &error);
	return well ? 0 : -EIO;
}

/* CMD's own status; if it goes on after our end, it is waited for. */
static int status_of_child(struct profile_run *run)
{
	if (!run->child_ended && !run->options.quiet)
		complain("sampling has ended, '%s' goes on: waiting for it",
			 run->options.command[0]);
	return child_wait(&run->child);
}

/* How a failure to execute CMD is told, as by a shell, env and timeout. */
static int status_of_failure(const struct profile_run *run, int err)
{
	if (!run->options.command)
		return EXIT_FAILED;
	if (run->session && err == -ENOENT)
		return 127;
	return run->session && err == -EACCES ? 126 : EXIT_OWN_FAILURE;
}

/* Also on a command line that could not be parsed. */
static bool has_command(char **argv)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, "--"))
			return true;
	return false;
}

int cmd_profile(int argc, char **argv)
{
	uint64_t exec_ns = clock_now_ns();
	struct profile_run run = {.cgroup_fd = -1, .signal_fd = -1};
	struct error error = {0};
	int status = 0;
	int err = profile_options_parse(argc, argv, &run.options, &error);

	if (err) {
		if (err < 0) {
			complain_error(&error);
			status = has_command(argv) ? EXIT_OWN_FAILURE : EXIT_USAGE;
		}
		profile_options_clear(&run.options);
		return status;
	}
	log_to(run.options.verbose ? stderr : NULL);
	run.shows_progress = !run.options.quiet && isatty(STDERR_FILENO);
	err = profile_run_prepare(&run, &error);
	if (err)
		complain_error(&error);
	else
		err = run_session(&run, exec_ns);
	if (err)
		status = status_of_failure(&run, err);
	if (run.child_started) {
		int child_status = status_of_child(&run);

		status = err ? status : child_status;
	}
	profile_run_clear(&run);
	return status;
}
