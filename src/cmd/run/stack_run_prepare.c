/*
 * All that a run with stacks needs before its first one: CPUs, targets, output files, the program
 * behind `--`, the session, names; in this order, so that what can't be done is known before
 * anything was loaded or begun.
 */
#include "cmd/run/stack_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cmd/complain.h"
#include "kernel/preflight.h"

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

static const char *table_folder(const struct stack_options *options)
{
	if (!options->table_folder)
		return TABLE_FOLDER;
	return strcmp(options->table_folder, "none") != 0 ? options->table_folder : NULL;
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

/* A folder that was named and can't be used is worth a word; the usual one is only a help. */
static void complain_of_table_folder(const struct stack_run *run)
{
	const struct error *why = session_table_cache_error(run->session);

	if (why && run->options->table_folder && !run->run.options->quiet)
		complain("unwind tables are not kept: %s", why->text);
}

static int open_session(struct stack_run *run, struct error *error)
{
	const struct stack_options *options = run->options;
	const struct stack_source *source = &run->source;
	struct session_options session = {
		.event = source->event,
		.rate = source->rate,
		.probes = source->probes,
		.cpus = source->cpus ? source->cpus : run->online_cpus,
		.nr_cpus = source->cpus ? source->nr_cpus : run->nr_online_cpus,
		.online_cpus = run->online_cpus,
		.nr_online_cpus = run->nr_online_cpus,
		.tasks = run->run.tasks,
		.comm = options->has_comm ? &options->comm : NULL,
		.labels = options->labels,
		.slice_ns = options->slice_ns,
		.include_idle = source->include_idle,
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
		.bpf_statistics = run->run.options->verbose,
	};
	int err = open_session_somehow(run, &session, error);

	if (!err)
		complain_of_table_folder(run);
	return err;
}

/* What counts are of: samples, or hits, or a sum of the event. 0 or -ENOMEM. */
static int name_counted(struct profile *profile, const struct stack_source *source,
			struct value_type *ret)
{
	int64_t type =
		profile_add_string(profile, source->is_sum ? source->event_name : source->unit);
	int64_t unit = source->is_sum ? profile_add_string(profile, source->period_unit) : 0;

	if (type < 0 || unit < 0)
		return -ENOMEM;
	if (source->is_sum || strcmp(source->unit, "samples") != 0)
		*ret = (struct value_type){.type = (uint32_t)type, .unit = (uint32_t)unit};
	return 0;
}

static int note_origin(struct stack_run *run, struct error *error)
{
	const struct task_options *tasks = run->run.options;
	struct profile *profile = session_profile(run->session);
	int64_t event = profile_add_string(profile, run->source.event_name);
	int64_t unit = profile_add_string(profile, run->source.period_unit);
	struct profile_origin origin = {
		.event = (uint32_t)event,
		.unit = (uint32_t)unit,
		.period = run->source.period,
		.time_ns = clock_read_ns(CLOCK_REALTIME),
		.duration_ns = tasks->interval_ns ? tasks->interval_ns : tasks->duration_ns,
	};

	if (event < 0 || unit < 0 || name_counted(profile, &run->source, &origin.counted) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	profile_set_origin(profile, &origin);
	return 0;
}

static int prepare_names(struct stack_run *run, struct error *error)
{
	const struct stack_options *options = run->options;
	const struct session_names_options names = {
		.naming = &options->naming,
		.java = options->java,
		.leave_files = options->no_symbols,
		.is_quiet = run->run.options->quiet,
	};

	return session_names_init(&run->names, run->session, &names, error);
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
		      const struct task_options *tasks, struct error *error)
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
	return err ? err : prepare_names(run, error);
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
