/*
 * All that a run of stook profile needs before its first sample: CPUs, targets, output files, the
 * program behind `--`, the event, the session, names; in this order, so that what can't be done is
 * known before anything was loaded or begun.
 */
#include "cmd/profile_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cmd/complain.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "session/kernel_danger.h"
#include "session/privileges.h"

#define MAX_PROFILE_BYTES (128UL << 20) /* of different stacks, on runs of days */
#define DEFAULT_DEPTH	  512
#define MAX_TABLE_BYTES	  (64UL << 20) /* as much as a dozen of the largest programs need */
#define TABLE_FOLDER	  "/var/cache/stook/unwind"

static int read_online_cpus(struct profile_run *run, struct error *error)
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

static int check_cpus(const struct profile_run *run, struct error *error)
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

/* Signals become readable, until sampling has ended. */
static int listen_to_signals(struct profile_run *run, struct error *error)
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

static void choose_event(struct profile_run *run)
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

/* With tables unless they are not wanted; if that fails and need not be, with frame pointers. */
static int open_session_somehow(struct profile_run *run, struct session_options *session,
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
static bool user_stacks_are_dangerous(const struct profile_run *run)
{
	const char *danger = kernel_danger();

	if (!danger || run->options.force || run->options.no_user)
		return false;
	complain("no user stacks: %s (--force takes them nevertheless)", danger);
	return true;
}

/* A folder that was named and can't be used is worth a word; the usual one is only a help. */
static void complain_of_table_folder(const struct profile_run *run)
{
	const struct error *why = session_table_cache_error(run->session);

	if (why && run->options.table_folder && !run->options.quiet)
		complain("unwind tables are not kept: %s", why->text);
}

static int open_session(struct profile_run *run, struct error *error)
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
	int err;

	if (run->child.pid && !options->everything) {
		run->child_pid = (uint32_t)run->child.pid;
		session.pids = &run->child_pid;
		session.nr_pids = 1;
	}
	err = open_session_somehow(run, &session, error);
	if (!err)
		complain_of_table_folder(run);
	return err;
}

/* What each sample stands for, of a clock; counters' periods vary with their frequency. */
static uint64_t period_of(const struct profile_options *options)
{
	if (!options->rate.frequency)
		return options->rate.period;
	return event_is_clock(&options->event) ? NS_PER_SEC / options->rate.frequency : 0;
}

static int note_origin(struct profile_run *run, struct error *error)
{
	const struct profile_options *options = &run->options;
	struct profile *profile = session_profile(run->session);
	const char *unit = event_is_clock(&options->event) ? "nanoseconds" : "count";
	int64_t event = profile_add_string(profile, options->event.name);
	int64_t unit_string = profile_add_string(profile, unit);

	if (event < 0 || unit_string < 0)
		return error_set(error, -ENOMEM, "out of memory");
	profile_set_origin(profile,
			   &(struct profile_origin){
				   .event = (uint32_t)event,
				   .unit = (uint32_t)unit_string,
				   .period = period_of(options),
				   .time_ns = clock_read_ns(CLOCK_REALTIME),
				   .duration_ns = options->interval_ns ? options->interval_ns
								       : options->duration_ns,
			   });
	return 0;
}

static int prepare_results(struct profile_run *run, struct error *error)
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

static int open_outputs(struct profile_run *run, struct error *error)
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

int profile_run_prepare(struct profile_run *run, struct error *error)
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

void profile_run_clear(struct profile_run *run)
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
