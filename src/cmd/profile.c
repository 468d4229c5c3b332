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
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "cmd/child.h"
#include "cmd/complain.h"
#include "cmd/naming_notes.h"
#include "cmd/outputs.h"
#include "cmd/profile_options.h"
#include "cmd/run_summary.h"
#include "cmd/session_names.h"
#include "cmd/targets.h"
#include "elf/unwind_cache.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "session/kernel_danger.h"
#include "session/privileges.h"
#include "session/session.h"

#define MAX_PROFILE_BYTES (128UL << 20) /* of different stacks, on runs of days */
#define DEFAULT_DEPTH	  512
#define MAX_TABLE_BYTES	  (64UL << 20) /* as much as a dozen of the largest programs need */
#define TABLE_FOLDER	  "/var/cache/stook/unwind"
#define TICK_NS		  NS_PER_SEC /* how often the progress line moves */

enum { SIGNAL_FD, CHILD_FD, FIRST_TARGET_FD };

struct run {
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

/* --- before the run -------------------------------------------------------------------------- */

static int read_online_cpus(struct run *run, struct error *error)
{
	cleanup_file FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char text[4096] = "";

	if (!file || !fgets(text, sizeof(text), file))
		return error_set_errno(error, "cannot tell which CPUs are online");
	text[strcspn(text, "\n")] = '\0';
	if (number_parse_list(text, true, 65535, 65536, &run->online_cpus, &run->nr_online_cpus) <
	    0)
		return error_set(error, -EIO, "cannot tell which CPUs are online from '%s'", text);
	return 0;
}

static int check_cpus(const struct run *run, struct error *error)
{
	size_t i, k;

	for (i = 0; i < run->options.nr_cpus; i++) {
		for (k = 0; k < run->nr_online_cpus; k++)
			if (run->online_cpus[k] == run->options.cpus[i])
				break;
		if (k == run->nr_online_cpus)
			return error_set(error, -ENODEV, "no such CPU, or not online: %u",
					 run->options.cpus[i]);
	}
	return 0;
}

/* Signals become readable; the second one, after stop_listening(), ends the program at once. */
static int listen_to_signals(struct run *run, struct error *error)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	run->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return run->signal_fd < 0 ? error_set_errno(error, "cannot listen to signals") : 0;
}

static void stop_listening(struct run *run)
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

static void choose_event(struct run *run)
{
	struct profile_options *options = &run->options;

	if (!options->event_is_default)
		return;
	(void)event_parse("cycles", &options->event, NULL);
	if (sampling_is_supported(&options->event, run->online_cpus[0]))
		return;
	(void)event_parse("cpu-clock", &options->event, NULL);
	if (!options->quiet)
		complain("no hardware counter here (a virtual machine?): sampling cpu-clock");
}

/* The kernel fires a clock no more often; it would take this period and not tell. */
#define MIN_CLOCK_PERIOD_NS 10000

static void check_period(struct profile_options *options)
{
	if (options->rate.frequency || !event_is_clock(&options->event) ||
	    options->rate.period >= MIN_CLOCK_PERIOD_NS)
		return;
	options->rate.period = MIN_CLOCK_PERIOD_NS;
	if (!options->quiet)
		complain("the kernel samples %s every %d ns at most: taken instead",
			 options->event.name, MIN_CLOCK_PERIOD_NS);
}

static uint32_t max_frames(bool not_wanted, uint32_t max_depth, uint32_t most)
{
	if (not_wanted)
		return 0;
	if (!max_depth)
		max_depth = DEFAULT_DEPTH;
	return max_depth < most ? max_depth : most;
}

static const char *table_folder(const struct profile_options *options)
{
	if (!options->table_folder)
		return TABLE_FOLDER;
	return strcmp(options->table_folder, "none") != 0 ? options->table_folder : NULL;
}

/* A folder that was named and can't be used is worth a word; the usual one is only a help. */
static void check_table_folder(const struct profile_options *options)
{
	const char *folder = options->table_folder ? table_folder(options) : NULL;
	struct unwind_cache *cache;
	struct error why = {0};

	if (!folder || options->unwind == UNWIND_FP)
		return;
	cache = unwind_cache_open(folder, UINT64_MAX, &why);
	unwind_cache_close(cache);
	if (!cache && !options->quiet)
		complain("unwind tables are not kept: %s", why.text);
}

/* With tables unless they are not wanted; if that fails and need not be, with frame pointers. */
static int open_session_somehow(struct run *run, struct session_options *session,
				struct error *error)
{
	struct error why = {0};

	session->by_tables = run->options.unwind != UNWIND_FP;
	run->session = session_new(session, &why);
	if (!run->session && run->options.unwind == UNWIND_AUTO) {
		session->by_tables = false;
		run->session = session_new(session, error);
		if (run->session && !run->options.quiet)
			complain("no unwinding by tables, only by frame pointers: %s", why.text);
		return run->session ? 0 : error->code;
	}
	*error = why;
	return run->session ? 0 : error->code;
}

/* Better no user stacks than a host that is down. */
static bool user_stacks_are_dangerous(const struct run *run)
{
	const char *danger = kernel_danger();

	if (!danger || run->options.force || run->options.no_user)
		return false;
	complain("no user stacks: %s (--force takes them nevertheless)", danger);
	return true;
}

static int open_session(struct run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	struct session_options session = {
		.event = &options->event,
		.rate = options->rate,
		.cpus = options->cpus ? options->cpus : run->online_cpus,
		.nr_cpus = options->cpus ? options->nr_cpus : run->nr_online_cpus,
		.online_cpus = run->online_cpus,
		.nr_online_cpus = run->nr_online_cpus,
		.pids = options->pids,
		.nr_pids = options->nr_pids,
		.tids = options->tids,
		.nr_tids = options->nr_tids,
		.follow = !options->no_follow,
		.cgroup_fd = run->cgroup_fd,
		.comm = options->has_comm ? &options->comm : NULL,
		.labels = options->labels,
		.include_idle = options->include_idle,
		.max_user_frames = max_frames(options->no_user || user_stacks_are_dangerous(run),
					      options->max_depth, WIRE_MAX_USER_FRAMES),
		.max_kernel_frames =
			max_frames(options->no_kernel, options->max_depth, WIRE_MAX_KERNEL_FRAMES),
		.max_table_bytes =
			options->max_table_bytes ? options->max_table_bytes : MAX_TABLE_BYTES,
		.table_folder = table_folder(options),
		.ring_bytes = options->ring_bytes,
		.max_counts = options->max_counts,
		.max_profile_bytes = MAX_PROFILE_BYTES,
		.bpf_statistics = options->verbose,
	};

	if (run->child.pid && !options->everything) {
		run->child_pid = (uint32_t)run->child.pid;
		session.pids = &run->child_pid;
		session.nr_pids = 1;
	}
	check_table_folder(options);
	return open_session_somehow(run, &session, error);
}

/* What each sample stands for, of a clock; counters' periods vary with their frequency. */
static uint64_t period_of(const struct profile_options *options)
{
	if (!options->rate.frequency)
		return options->rate.period;
	return event_is_clock(&options->event) ? NS_PER_SEC / options->rate.frequency : 0;
}

static int note_origin(struct run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	struct profile *profile = session_profile(run->session);
	const char *unit = event_is_clock(&options->event) ? "nanoseconds" : "count";
	int64_t event = profile_add_string(profile, options->event.name);
	int64_t unit_string = profile_add_string(profile, unit);
	struct timespec now;

	if (event < 0 || unit_string < 0)
		return error_set(error, -ENOMEM, "out of memory");
	(void)clock_gettime(CLOCK_REALTIME, &now);
	profile_set_origin(
		profile,
		&(struct profile_origin){
			.event = (uint32_t)event,
			.unit = (uint32_t)unit_string,
			.period = period_of(options),
			.time_ns = (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec,
			.duration_ns =
				options->interval_ns ? options->interval_ns : options->duration_ns,
		});
	return 0;
}

static int prepare_results(struct run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	const struct session_names_options names = {
		.naming = &options->naming,
		.java = options->java,
		.leave_files = options->no_symbols,
		.is_quiet = options->quiet,
	};
	int err = note_origin(run, error);

	return err ? err : session_names_init(&run->names, run->session, &names, error);
}

static int open_outputs(struct run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	const struct format_options format = {
		.labels = options->labels,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};
	int err = outputs_open(&run->outputs, &options->output, &format, options->interval_ns != 0,
			       error);

	if (!err && options->stats_path)
		err = out_file_open(&run->stats, options->stats_path, error);
	return err;
}

static int prepare(struct run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	int err = read_online_cpus(run, error);

	if (!err)
		err = check_cpus(run, error);
	if (!err && !process_proc_is_ours())
		err = error_set(error, -EINVAL,
				"/proc is of another pid namespace than ours: mount our own "
				"(unshare --mount-proc)");
	if (!err)
		err = targets_open(&run->targets, options, error);
	if (!err)
		err = privileges_check(error);
	if (!err && options->cgroup) {
		run->cgroup_fd = cgroup_open(options->cgroup, error);
		err = run->cgroup_fd < 0 ? run->cgroup_fd : 0;
	}
	if (!err)
		err = open_outputs(run, error);
	if (!err)
		err = listen_to_signals(run, error);
	if (!err && options->command)
		err = child_prepare(&run->child, options->command, error);
	if (err)
		return err;
	choose_event(run);
	check_period(&run->options);
	err = open_session(run, error);
	if (!err)
		err = prepare_results(run, error);
	run->fds = calloc(FIRST_TARGET_FD + run->targets.nr, sizeof(*run->fds));
	if (!err && !run->fds)
		err = error_set(error, -ENOMEM, "out of memory");
	return err;
}

/* --- results --------------------------------------------------------------------------------- */

/* Where naming fails nothing is lost but the names. */
static int show(struct run *run, struct error *error)
{
	struct error unnamed = {0};

	if (session_names_apply(&run->names, &unnamed) < 0)
		complain_error(&unnamed);
	return outputs_write(&run->outputs, session_profile(run->session), error);
}

static void clear_progress(const struct run *run)
{
	if (run->shows_progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(const struct run *run)
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
static int summarize(struct run *run, uint64_t exec_ns, struct error *error)
{
	struct run_summary summary = {
		.runtimes = session_runtimes(run->session),
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
		run_summary_write_stats(&summary, run->stats.stream);
		err = out_file_commit(&run->stats, error);
	}
	return err;
}

/* --- the run --------------------------------------------------------------------------------- */

static int end_interval(struct run *run, struct error *error)
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
static bool interval_is_over(const struct run *run, uint64_t now_ns)
{
	return now_ns >= run->interval_end_ns && now_ns < run->deadline_ns;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reads what the descriptors say; true when the run is to end. */
static bool is_over(struct run *run)
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

static int sample(struct run *run, struct error *error)
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

static int start(struct run *run, struct error *error)
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

/* Whatever fails on the way, what was collected before it is shown. */
static int run_session(struct run *run, uint64_t exec_ns)
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

static void clear(struct run *run)
{
	child_clear(&run->child);
	session_free(run->session);
	outputs_clear(&run->outputs);
	out_file_abort(&run->stats);
	targets_clear(&run->targets);
	session_names_clear(&run->names);
	profile_options_clear(&run->options);
	free(run->online_cpus);
	free(run->fds);
	if (run->cgroup_fd >= 0)
		(void)close(run->cgroup_fd);
	if (run->signal_fd >= 0)
		(void)close(run->signal_fd);
}

/* CMD's own status; if it goes on after our end, it is waited for. */
static int status_of_child(struct run *run)
{
	if (!run->child_ended && !run->options.quiet)
		complain("sampling has ended, '%s' goes on: waiting for it",
			 run->options.command[0]);
	return child_wait(&run->child);
}

/* How a failure to execute CMD is told, as by a shell, env and timeout. */
static int status_of_failure(const struct run *run, int err)
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
	struct run run = {.cgroup_fd = -1, .signal_fd = -1};
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
	err = prepare(&run, &error);
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
	clear(&run);
	return status;
}
