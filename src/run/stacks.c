/*
 * A run with stacks. Before its first one come CPUs, targets, output files, the program behind `--`,
 * the session, names; in this order, so that what can't be done is known before anything was loaded
 * or begun. Then it waits, stops, names, writes results, and prints the verdict.
 *
 * Names wait until the last sample, so that the profile does not show the profiler. Results have the
 * verdict as comments, as it is before they are written; the verdict printed afterwards includes what
 * writing them cost.
 */
#include "run/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "run/complain.h"
#include "run/verdict.h"
#include "kernel/preflight.h"

/* --- the session ----------------------------------------------------------------------------- */

#define MAX_PROFILE_BYTES (128UL << 20) /* of different stacks, on runs of days */
#define DEFAULT_DEPTH	  512
#define MAX_TABLE_BYTES	  (64UL << 20) /* as much as a dozen of the largest programs need */
#define TABLE_FOLDER	  "/var/cache/stook/unwind"

static int read_online_cpus(struct stack_run *run, struct error *error)
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

static uint32_t max_frames(bool not_wanted, uint64_t max_depth, uint32_t most)
{
	if (not_wanted)
		return 0;
	if (!max_depth)
		max_depth = DEFAULT_DEPTH;
	return max_depth < most ? (uint32_t)max_depth : most;
}

/* With tables unless they are not wanted; if that fails and need not be, with frame pointers. */
static int open_session_somehow(struct stack_run *run, struct session_options *session,
				struct error *error)
{
	struct error why = {0};

	session->by_tables = run->options->unwind != UNWIND_FP;
	run->session = session_new(session, &why);
	if (!run->session && run->options->unwind == UNWIND_AUTO) {
		session->by_tables = false;
		run->session = session_new(session, error);
		if (run->session && !run->run.options->quiet)
			complain("no unwinding by tables, only by frame pointers: %s", why.text);
		return run->session ? 0 : error->code;
	}
	*error = why;
	return run->session ? 0 : error->code;
}

/* Better no user stacks than a host that is down. */
static bool user_stacks_are_dangerous(const struct stack_run *run)
{
	const char *danger = kernel_danger();

	if (!danger || run->options->force || run->options->no_user)
		return false;
	complain("no user stacks: %s (--force takes them nevertheless)", danger);
	return true;
}

static int open_session(struct stack_run *run, struct error *error)
{
	const struct stack_options *options = run->options;
	const struct stack_source *source = &run->source;
	const char *folder = options->table_folder ? options->table_folder : TABLE_FOLDER;
	const struct error *why;
	struct session_options session = {
		.event = source->event,
		.rate = source->rate,
		.probes = source->probes,
		.cpus = source->cpus ? source->cpus : run->online_cpus,
		.nr_cpus = source->cpus ? source->nr_cpus : run->nr_online_cpus,
		.online_cpus = run->online_cpus,
		.nr_online_cpus = run->nr_online_cpus,
		.tasks = run->run.tasks,
		.comm = options->comm,
		.labels = options->labels,
		.slice_ns = options->slice_ns,
		.include_idle = source->include_idle,
		.max_user_frames = max_frames(options->no_user || user_stacks_are_dangerous(run),
					      options->max_depth, WIRE_MAX_USER_FRAMES),
		.max_kernel_frames =
			max_frames(options->no_kernel, options->max_depth, WIRE_MAX_KERNEL_FRAMES),
		.max_table_bytes =
			options->max_table_bytes ? options->max_table_bytes : MAX_TABLE_BYTES,
		.table_folder = strcmp(folder, "none") != 0 ? folder : NULL,
		.ring_bytes = options->ring_bytes,
		.max_counts = options->max_counts,
		.max_profile_bytes = MAX_PROFILE_BYTES,
		.bpf_statistics = run->run.options->verbose,
	};
	int err = open_session_somehow(run, &session, error);

	if (err)
		return err;
	/* A folder that was named and can't be used is worth a word; the usual one is only a help. */
	why = session_table_cache_error(run->session);
	if (why && options->table_folder && !run->run.options->quiet)
		complain("unwind tables are not kept: %s", why->text);
	return 0;
}

/* Notes the event, and the unit of the counts: samples, hits, or a sum of the event. */
static int note_origin(struct stack_run *run, struct error *error)
{
	const struct run_config *tasks = run->run.options;
	const struct stack_source *source = &run->source;
	struct profile *profile = session_profile(run->session);
	int64_t event = profile_add_string(profile, source->event_name);
	int64_t unit = profile_add_string(profile, source->period_unit);
	int64_t counted = source->is_sum ? event : profile_add_string(profile, source->unit);
	struct profile_origin origin = {
		.event = (uint32_t)event,
		.unit = (uint32_t)unit,
		.period = source->period,
		.time_ns = clock_read_ns(CLOCK_REALTIME),
		.duration_ns = tasks->interval_ns ? tasks->interval_ns : tasks->duration_ns,
	};

	if (event < 0 || unit < 0 || counted < 0)
		return error_set(error, -ENOMEM, "out of memory");
	profile_set_origin(profile, &origin);
	profile_set_main_type(profile,
			      (struct value_type){.type = (uint32_t)counted,
						  .unit = source->is_sum ? origin.unit : 0});
	return 0;
}

static int open_outputs(struct stack_run *run, struct error *error)
{
	const struct stack_options *options = run->options;
	const struct format_options format = {
		.labels = options->labels | (options->slice_ns ? LABEL_SLICE : 0),
		.lines = options->naming.lines,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};
	int err = outputs_open(&run->outputs, &options->output, &format,
			       run->run.options->interval_ns != 0, error);

	if (!err && options->stats_path)
		err = out_file_open(&run->stats, options->stats_path, error);
	return err;
}

int stack_run_prepare(struct stack_run *run, const struct stack_options *options,
		      const struct run_config *tasks, struct error *error)
{
	int err;

	run->options = options;
	err = run_open_targets(&run->run, tasks, error);
	if (!err)
		err = read_online_cpus(run, error);
	if (!err)
		err = privileges_check(error);
	if (!err)
		err = open_outputs(run, error);
	return err ? err : run_prepare_child(&run->run, error);
}

int stack_run_open(struct stack_run *run, const struct stack_source *source, struct error *error)
{
	int err;

	run->source = *source;
	err = open_session(run, error);
	if (!err)
		err = note_origin(run, error);
	return err ? err
		   : session_names_init(&run->names, run->session, run->options, run->run.options,
					run->run.signal_fd, error);
}

/* --- results --------------------------------------------------------------------------------- */

/* If naming fails, only names are missing. */
static void apply_names(struct stack_run *run)
{
	struct error unnamed = {0};

	if (session_names_apply(&run->names, &unnamed) < 0)
		complain_error(&unnamed);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* The numbers of a whole run until now; with --interval the stacks are judged by the last interval. */
static int summarize(const struct stack_run *run, struct run_summary *ret, struct error *error)
{
	*ret = (struct run_summary){
		.runtimes = session_runtimes(run->session),
		.names = &run->names,
		.source = &run->source,
		.exec_ns = run->exec_ns,
		.nr_cpus = run->source.cpus ? run->source.nr_cpus : run->nr_online_cpus,
	};
	if (quality_judge(session_profile(run->session), &ret->quality) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	session_summarize(run->session, &ret->session);
	ret->now_ns = clock_now_ns();
	return 0;
}

/* Each line of the verdict is a comment of the profile. */
static int add_comments(const struct stack_run *run, const struct run_summary *summary)
{
	struct profile *profile = session_profile(run->session);
	cleanup_free char *text = NULL;
	size_t nr;
	FILE *stream = open_memstream(&text, &nr);
	char *rest;
	int err = 0;

	if (!stream)
		return -ENOMEM;
	run_summary_print(summary, profile, stream);
	if (fclose(stream) != 0)
		return -ENOMEM;
	for (rest = text; !err && rest && *rest;)
		err = profile_add_comment(profile, strsep(&rest, "\n"));
	return err;
}

/*
 * Puts the verdict into the profile. Files of one interval each go without: it covers the whole run.
 */
static int note_verdict(struct stack_run *run, struct error *error)
{
	struct profile *profile = session_profile(run->session);
	struct profile_origin origin = *profile_origin(profile);
	struct run_summary summary;
	int err;

	if (run->run.options->interval_ns)
		return 0;
	err = summarize(run, &summary, error);
	if (err)
		return err;
	summary.is_unwritten = true;
	origin.duration_ns = summary.session.sampled_ns;
	profile_set_origin(profile, &origin);
	if (add_comments(run, &summary) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* Printed last: the reported cost covers everything but this report. */
static int tell_verdict(struct stack_run *run, struct error *error)
{
	struct run_summary summary;
	int err = summarize(run, &summary, error);

	if (err)
		return err;
	if (!run->run.options->quiet) {
		run_summary_print(&summary, session_profile(run->session), stderr);
		naming_notes_tell(run->names.symbolizer);
	}
	if (!run->stats.stream)
		return 0;
	run_stats_write(&summary, run->stats.stream);
	return out_file_commit(&run->stats, error);
}

/* --- the run --------------------------------------------------------------------------------- */

static int wait_in_session(void *context, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
			   struct error *error)
{
	struct stack_run *run = context;

	return session_wait(run->session, until_ns, fds, nr_fds, error);
}

static int end_interval(void *context, struct error *error)
{
	struct stack_run *run = context;
	int err = session_flush(run->session, error);

	if (err)
		return err;
	apply_names(run);
	err = outputs_write(&run->outputs, session_profile(run->session), error);
	profile_reset_samples(session_profile(run->session));
	return err;
}

static void print_progress(void *context)
{
	struct stack_run *run = context;

	fprintf(stderr, "  %" PRIu64 " %s", session_progress(run->session), run->source.unit);
}

/* A program that is started for the run must find all probes there. */
static bool is_ready(void *context)
{
	const struct stack_run *run = context;
	const struct probing *probing = session_probing(run->session);

	return !probing || probing_is_ready(probing);
}

/* Whatever fails on the way, what was collected before it is shown. */
int stack_run_go(struct stack_run *run)
{
	const struct run_work work = {.wait = wait_in_session,
				      .end_interval = end_interval,
				      .is_ready = is_ready,
				      .print_progress = print_progress,
				      .context = run};
	struct error error = {0};
	bool well;
	int err = session_start(run->session, &error);

	if (!complain_unless_well(err, &error))
		return err;
	run->run.shows_progress = !run->run.options->quiet && isatty(STDERR_FILENO);
	run_start_clock(&run->run);
	err = run_wait(&run->run, &work, &error);
	if (run->run.child_failed) {
		complain_error(&error);
		return err;
	}
	well = complain_unless_well(err, &error);
	well &= complain_unless_well(session_stop(run->session, &error), &error);
	if (err != -EPIPE) { /* else the reader of stdout has left: nothing more is to be written */
		run_take_signal(&run->run); /* one that came later is about naming */
		apply_names(run);
		well &= complain_unless_well(note_verdict(run, &error), &error);
		well &= complain_unless_well(
			outputs_write(&run->outputs, session_profile(run->session), &error),
			&error);
	}
	well &= complain_unless_well(tell_verdict(run, &error), &error);
	return well ? 0 : -EIO;
}

int stack_run_status(struct stack_run *run, int err)
{
	return run_status(&run->run, err);
}

void stack_run_clear(struct stack_run *run)
{
	session_free(run->session);
	outputs_clear(&run->outputs);
	out_file_abort(&run->stats);
	session_names_clear(&run->names);
	free(run->online_cpus);
	run_clear(&run->run);
}
