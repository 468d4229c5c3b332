/*
 * Before the first stack, the CPUs, output files, the session and names are prepared, in this
 * order: what cannot work is reported before anything is loaded or started.
 *
 * Names are looked up after the last sample, so that the profile does not show the profiler.
 * Results contain the verdict as comments, in its state before writing; the verdict printed
 * afterwards includes the cost of writing.
 */
#include "run/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "format/text/sheet_write.h"
#include "kernel/preflight.h"
#include "run/complain.h"
#include "run/verdict.h"

/* --- the session ----------------------------------------------------------------------------- */

#define MAX_PROFILE_BYTES (128UL << 20) /* limit for different stacks, on runs of days */
#define DEFAULT_DEPTH	  512
#define MIN_TABLE_BYTES	  (64UL << 20) /* enough for a dozen of the largest programs */
#define MAX_TABLE_BYTES	  (1024UL << 20)
#define TABLE_SHARE	  128 /* of the memory: large hosts run more programs */
#define TABLE_FOLDER	  "/var/cache/stook/unwind"

/*
 * Somebody waits for the first interval: with a hundred busy processes per CPU, its names take seconds at ordinary
 * priority. The session's priority, 20, would be too much: intervals ended 0.1 s late.
 */
#define FIRST_NICER_BY 10
#define LAST_NICENESS  19 /* nobody waits */

static uint32_t max_frames(bool not_wanted, uint64_t max_depth, uint32_t most)
{
	if (not_wanted)
		return 0;
	if (!max_depth)
		max_depth = DEFAULT_DEPTH;
	return max_depth < most ? (uint32_t)max_depth : most;
}

static size_t table_bytes(void)
{
	size_t bytes =
		(size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / TABLE_SHARE;

	if (bytes < MIN_TABLE_BYTES)
		return MIN_TABLE_BYTES;
	return bytes < MAX_TABLE_BYTES ? bytes : MAX_TABLE_BYTES;
}

/*
 * Labels that are not shown, but kept: by outputs for other programs, or by who takes the intervals. Without one of
 * these they would make a sample of its own for each thread that ever ran, in a run of days.
 */
static unsigned kept_labels(const struct stacks *stacks)
{
	const struct stack_options *options = stacks->options;

	return stacks->command->take || outputs_keep_labels(&options->output) ? options->kept_labels
									      : 0;
}

/*
 * Walks by unwind tables unless --unwind fp. If that fails and is not required, by frame pointers.
 */
static int open_session_somehow(struct stacks *stacks, struct session_options *session,
				struct error *error)
{
	struct error why = {0};

	session->by_tables = stacks->options->unwind != UNWIND_FP;
	stacks->session = session_new(session, &why);
	if (!stacks->session && stacks->options->unwind == UNWIND_AUTO) {
		session->by_tables = false;
		stacks->session = session_new(session, error);
		if (stacks->session && !stacks->collector.run->config->quiet)
			complain("unwind tables unavailable, frame pointers only: %s", why.text);
		return stacks->session ? 0 : error->code;
	}
	*error = why;
	return stacks->session ? 0 : error->code;
}

/* On kernels that could crash, user stacks are not taken. */
static bool user_stacks_are_dangerous(const struct stacks *stacks)
{
	const char *danger = kernel_danger();

	if (!danger || stacks->options->force || stacks->options->no_user)
		return false;
	complain("no user stacks: %s (--force takes them anyway)", danger);
	return true;
}

/* On kernels that could lock up, nothing is followed in the scheduler or in locks. */
static int check_waits(const struct stacks *stacks, struct error *error)
{
	return stacks->source.waits && !stacks->options->force ? kernel_check_sending(error) : 0;
}

static int open_session(struct stacks *stacks, struct error *error)
{
	const struct stack_options *options = stacks->options;
	const struct stack_source *source = &stacks->source;
	const char *folder = options->table_folder ? options->table_folder : TABLE_FOLDER;
	char *const *command = stacks->collector.run->config->command;
	const struct error *why;
	struct session_options session = {
		.events = source->events,
		.nr_events = source->nr_events,
		.by_period = source->by_period,
		.numerator = source->numerator,
		.probes = source->probes,
		.waits = source->waits,
		.cpus = source->cpus,
		.nr_cpus = source->nr_cpus,
		.online = &stacks->online,
		.tasks = stacks->collector.run->tasks,
		.command = command ? command[0] : NULL,
		.names = name_filter_is_any(&options->names) ? NULL : &options->names,
		.labels = options->labels | kept_labels(stacks),
		/*
		 * LABEL_PROBE is not spare: the leaf frame names the probe, too, so dropping it
		 * saves nothing.
		 */
		.spare_labels = kept_labels(stacks) & ~options->labels & ~(unsigned)LABEL_PROBE,
		.slice_ns = options->slice_ns,
		.include_idle = source->include_idle,
		.max_user_frames = max_frames(options->no_user || user_stacks_are_dangerous(stacks),
					      options->max_depth, WIRE_MAX_USER_FRAMES),
		.max_kernel_frames =
			max_frames(options->no_kernel, options->max_depth, WIRE_MAX_KERNEL_FRAMES),
		.max_table_bytes =
			options->max_table_bytes ? options->max_table_bytes : table_bytes(),
		.table_folder = strcmp(folder, "none") != 0 ? folder : NULL,
		.ring_bytes = options->ring_bytes,
		.max_counts = options->max_counts,
		.max_buffer_bytes = options->max_buffer_bytes,
		.max_profile_bytes =
			options->max_profile_bytes ? options->max_profile_bytes : MAX_PROFILE_BYTES,
		.memory = options->table_memory,
		.is_governed = source->is_governed,
		.table_pace = source->table_pace,
		.keeps_priority = stacks->command->take != NULL,
		.names_processes = stacks->command->take != NULL,
		.first_file = stacks->next_file,
		.first_runtime = stacks->next_runtime,
		.kernel_names = naming_options_kernel(&options->naming),
		.bpf_statistics = stacks->collector.run->config->verbose,
	};
	int err = check_waits(stacks, error);

	if (!err)
		err = open_session_somehow(stacks, &session, error);
	if (err)
		return err;
	/* Reported only for a folder given by the user: the default cache merely saves time. */
	why = session_table_cache_error(stacks->session);
	if (why && options->table_folder && !stacks->collector.run->config->quiet)
		complain("unwind tables are not cached: %s", why->text);
	return 0;
}

/* Adds the value of an event that is counted beside the first one. */
static int add_event_value(struct profile *profile, const struct event *event, struct error *error)
{
	struct value_type type;

	if (profile_make_value_type(profile, event->name, event_value_unit(event), &type) < 0 ||
	    profile_add_value_type(profile, &type) < 0)
		return error_no_memory(error, "");
	return 0;
}

static int note_ratio(struct profile *profile, const struct stack_source *source,
		      struct error *error)
{
	struct profile_origin origin = *profile_origin(profile);
	cleanup_free char *names =
		text_printf("%s/%s", source->numerator->name, source->event_name);
	const int64_t ratio = names ? profile_add_string(profile, names) : -ENOMEM;

	if (ratio < 0)
		return error_no_memory(error, "");
	origin.ratio = (uint32_t)ratio;
	profile_set_origin(profile, &origin);
	return add_event_value(profile, source->numerator, error);
}

/* Sets the profile's event and the unit of its counts: samples, hits, or a sum of the event. */
static int note_origin(struct stacks *stacks, struct error *error)
{
	const struct run_config *tasks = stacks->collector.run->config;
	const struct stack_source *source = &stacks->source;
	struct profile *profile = session_profile(stacks->session);
	int64_t event = profile_add_string(profile, source->event_name);
	int64_t unit = profile_add_string(profile, source->period_unit);
	int64_t counted = source->is_sum ? event : profile_add_string(profile, source->unit);
	struct profile_origin origin = {
		.nr_events = source->by_period ? source->nr_events : 0,
		.event = (uint32_t)event,
		.unit = (uint32_t)unit,
		.period = source->period,
		.time_ns = clock_read_ns(CLOCK_REALTIME),
		.duration_ns = tasks->interval_ns ? tasks->interval_ns : tasks->duration_ns,
	};
	size_t i;
	int err = 0;

	if (event < 0 || unit < 0 || counted < 0)
		return error_set(error, -ENOMEM, "out of memory");
	profile_set_origin(profile, &origin);
	profile_set_main_type(profile,
			      (struct value_type){.type = (uint32_t)counted,
						  .unit = source->is_sum ? origin.unit : 0});
	if (source->numerator)
		return note_ratio(profile, source, error);
	for (i = 1; i < source->nr_events && !err; i++)
		err = add_event_value(profile, &source->events[i].event, error);
	return err;
}

static int open_outputs(struct stacks *stacks, struct error *error)
{
	const struct stack_options *options = stacks->options;
	const struct format_options format = {
		.labels = options->labels | (options->slice_ns ? LABEL_SLICE : 0),
		.lines = options->naming.lines,
		.no_user = options->no_user,
		.no_kernel = options->no_kernel,
	};
	int err = outputs_open(&stacks->outputs, &options->output, &format,
			       stacks->collector.run->config->interval_ns != 0, error);

	stacks->outputs.kept_labels |= kept_labels(stacks);
	if (!err && options->stats_path)
		err = out_file_open(&stacks->stats, options->stats_path, error);
	return err;
}

static int prepare(struct collector *collector, struct error *error)
{
	struct stacks *stacks = collector->context;
	int err = 0;

	(void)getrusage(RUSAGE_CHILDREN, &stacks->children_before);
	if (stacks->command->prepare)
		err = stacks->command->prepare(stacks->context, error);
	if (!err)
		err = privileges_check(error);
	return err || stacks->command->take ? err : open_outputs(stacks, error);
}

/* CPUs may have come or gone since the session before. */
static int new_session(struct stacks *stacks, struct error *error)
{
	int err;

	cpus_clear(&stacks->online);
	err = cpus_read(&stacks->online, "online", error);
	if (!err)
		err = stacks->command->choose(stacks->context, &stacks->source, error);
	if (!err)
		err = open_session(stacks, error);
	return err ? err : note_origin(stacks, error);
}

static int load(struct collector *collector, struct error *error)
{
	struct stacks *stacks = collector->context;
	int err = new_session(stacks, error);

	return err ? err
		   : session_names_init(&stacks->names, stacks->session, stacks->options,
					collector->run->config, collector->run->signal_fd, error);
}
/* --- names ----------------------------------------------------------------------------------- */

/* If naming fails, only names are missing. */
static void apply_names(struct stacks *stacks)
{
	struct error unnamed = {0};

	if (session_names_apply(&stacks->names, &unnamed) < 0)
		complain_error(&unnamed);
}

/* --- the verdict ------------------------------------------------------------------------------ */

/*
 * Resources that child processes used since the run began. The program after `--` is not included:
 * it is waited for after the report.
 */
static void measure_helpers(const struct stacks *stacks, struct rusage *ret)
{
	const struct rusage *before = &stacks->children_before;
	struct rusage now = {0};

	(void)getrusage(RUSAGE_CHILDREN, &now);
	*ret = (struct rusage){0};
	timersub(&now.ru_utime, &before->ru_utime, &ret->ru_utime);
	timersub(&now.ru_stime, &before->ru_stime, &ret->ru_stime);
	/* ru_maxrss is a maximum over all children ever: it is ours only if it has grown. */
	if (now.ru_maxrss > before->ru_maxrss)
		ret->ru_maxrss = now.ru_maxrss;
}

/* The events of a hybrid CPU are of one kind of cores. */
static size_t nr_cpus_of(const struct stacks *stacks)
{
	const struct stack_source *source = &stacks->source;

	if (source->cpus)
		return source->nr_cpus;
	return source->nr_events == 1 && source->events[0].cpus ? source->events[0].nr_cpus
								: stacks->online.nr;
}

/* Figures of the whole run so far; with --interval, stacks are judged by the last interval only. */
static int measure(struct stacks *stacks, struct run_figures *ret, struct error *error)
{
	*ret = (struct run_figures){
		.runtimes = stacks->names.runtimes,
		.names = &stacks->names,
		.source = &stacks->source,
		.entered_ns = stacks->collector.run->entered_ns,
		.nr_cpus = nr_cpus_of(stacks),
	};
	if (stacks->intervals) {
		ret->nr_intervals = stacks->nr_intervals;
		ret->nr_intervals_joined = intervals_nr_joined(stacks->intervals);
		ret->latest_interval_ns = stacks->latest_ns;
	}
	if (quality_judge(stacks->names.profile, &ret->quality) < 0)
		return error_no_memory(error, "");
	if (session_names_find_packages(&stacks->names, &ret->quality) < 0)
		return error_no_memory(error, "");
	session_end_reading(stacks->session);
	symbolizer_end_reading(stacks->names.symbolizer);
	session_summarize(stacks->session, &ret->session);
	symbolizer_add_troubles(stacks->names.symbolizer, &ret->session.reading);
	(void)getrusage(RUSAGE_SELF, &ret->usage);
	measure_helpers(stacks, &ret->helpers);
	ret->now_ns = clock_now_ns();
	return 0;
}

/* Adds the verdict to the profile; not with --interval, since the verdict covers the whole run. */
static int note_verdict(struct stacks *stacks, struct error *error)
{
	struct profile *profile = session_profile(stacks->session);
	struct profile_origin origin = *profile_origin(profile);
	struct run_figures figures;
	struct verdict verdict;
	int err;

	err = measure(stacks, &figures, error);
	if (err)
		return err;
	figures.is_unwritten = true;
	origin.duration_ns = figures.session.sampled_ns;
	if (!origin.period && figures.session.events[0].taken.entries) /* it varied: the mean */
		origin.period = figures.session.events[0].taken.weight /
				figures.session.events[0].taken.entries;
	profile_set_origin(profile, &origin);
	err = verdict_make(&verdict, &figures, profile);
	if (!err)
		err = verdict_add_comments(&verdict, profile);
	verdict_clear(&verdict);
	return err ? error_no_memory(error, "") : 0;
}

#define LONGEST_LINE 4096 /* sentences of the verdict are never truncated */

/* Printed last: the reported cost covers everything but this report. */
static int print_verdict(struct stacks *stacks, struct error *error)
{
	const struct sheet_style style = {.width = LONGEST_LINE};
	struct run_figures figures;
	struct verdict verdict;
	struct sheet sheet = {0};
	int err = measure(stacks, &figures, error);

	if (err)
		return err;
	err = verdict_make(&verdict, &figures, stacks->names.profile);
	if (!err) {
		verdict_add_to_sheet(&verdict, &sheet);
		err = sheet_status(&sheet);
	}
	if (err)
		(void)error_no_memory(error, "");
	if (!err && !stacks->collector.run->config->quiet) {
		(void)sheet_write(&sheet, MEDIA_TEXT, &style, stderr);
		naming_notes_print(stacks->names.symbolizer);
	}
	if (!err && stacks->stats.stream) {
		(void)sheet_write(&sheet, MEDIA_JSON, &style, stacks->stats.stream);
		err = out_file_commit(&stacks->stats, error);
	}
	sheet_clear(&sheet);
	verdict_clear(&verdict);
	return err;
}

/* --- the collector --------------------------------------------------------------------------- */

static int write_interval(void *context, struct profile *profile, const struct session_part *part,
			  struct interval_span span, struct error *error)
{
	struct outputs *outputs = context;
	struct profile_origin origin = *profile_origin(profile);

	(void)span;
	outputs->ended = (time_t)(part->ended_ns / NS_PER_SEC);
	origin.time_ns = part->began_ns;
	origin.duration_ns = part->ended_ns - part->began_ns;
	profile_set_origin(profile, &origin);
	return outputs_write(outputs, profile, error);
}

static int start(struct collector *collector, struct error *error)
{
	struct stacks *stacks = collector->context;
	const int niceness = session_niceness(stacks->session);
	struct interval_sink sink = {
		.write = write_interval,
		.context = &stacks->outputs,
		.first_niceness = niceness - FIRST_NICER_BY,
		.niceness = niceness,
	};

	if (stacks->command->take)
		sink = (struct interval_sink){stacks->command->take, stacks->command->keep,
					      stacks->context, LAST_NICENESS, LAST_NICENESS};
	if (collector->run->config->interval_ns) {
		stacks->intervals = intervals_new(&stacks->names, &sink, error);
		if (!stacks->intervals)
			return error->code;
		symbolizer_begin_reading(stacks->names.symbolizer);
	}
	if (!stacks->begins_paused)
		return session_start(stacks->session, error);
	stacks_end(stacks);
	return 0;
}

/* The program after `--` may start only when all probes are attached. */
static bool is_ready(const struct collector *collector)
{
	const struct stacks *stacks = collector->context;
	const struct probing *probing = session_probing(stacks->session);

	return !probing || probing_is_ready(probing);
}

#define READY_LOOK_NS (10 * NS_PER_MS)

/* Waits likewise for a failure to write an interval. */
static int wait_with_intervals(struct stacks *stacks, uint64_t until_ns, struct pollfd *fds,
			       size_t nr_fds, struct error *error)
{
	cleanup_free struct pollfd *all = calloc(nr_fds + 1, sizeof(*all));
	int err;

	if (!all)
		return error_no_memory(error, "");
	memcpy(all, fds, nr_fds * sizeof(*fds));
	all[nr_fds] = (struct pollfd){.fd = intervals_fd(stacks->intervals), .events = POLLIN};
	err = session_wait(stacks->session, until_ns, all, nr_fds + 1, error);
	memcpy(fds, all, nr_fds * sizeof(*fds));
	if (!err && all[nr_fds].revents)
		err = intervals_status(stacks->intervals, error);
	return err;
}

static void attached(struct collector *collector)
{
	const struct stacks *stacks = collector->context;

	if (stacks->command->attached)
		stacks->command->attached(stacks->context);
}

/* session_wait() polls the kernel's buffers, too. */
static int wait_in_session(struct collector *collector, uint64_t until_ns, struct pollfd *fds,
			   size_t nr_fds, struct error *error)
{
	struct stacks *stacks = collector->context;
	uint64_t soon_ns = clock_now_ns() + READY_LOOK_NS;

	/* There is no event for the last probe being attached: poll. */
	if (!is_ready(collector) && soon_ns < until_ns)
		until_ns = soon_ns;
	return stacks->intervals ? wait_with_intervals(stacks, until_ns, fds, nr_fds, error)
				 : session_wait(stacks->session, until_ns, fds, nr_fds, error);
}

/* Takes an interval away from the session, to be named and written by the thread. */
static int hand_over(struct stacks *stacks, bool is_last, struct error *error)
{
	const uint64_t due_ns = stacks->collector.run->interval_due_ns;
	struct session_part part;
	uint64_t now_ns;
	int err = is_last ? 0 : session_flush(stacks->session, error);
	if (!err)
		err = session_take_part(stacks->session, &part, error);
	if (err)
		return err;
	now_ns = clock_now_ns();
	if (!is_last && now_ns > due_ns && now_ns - due_ns > stacks->latest_ns)
		stacks->latest_ns = now_ns - due_ns;
	stacks->nr_intervals++;
	return intervals_add(stacks->intervals, &part, is_last || !stacks->is_gathering, error);
}

static int end_interval(struct collector *collector, bool is_last, struct error *error)
{
	struct stacks *stacks = collector->context;
	struct error unnoted = {0};
	int err;

	if (stacks->intervals) {
		err = stacks->session ? hand_over(stacks, is_last, error) : 0;
		return is_last ? intervals_finish(stacks->intervals, error) ?: err : err;
	}
	apply_names(stacks);
	if (note_verdict(stacks, &unnoted) < 0)
		complain_error(&unnoted);
	return outputs_write(&stacks->outputs, session_profile(stacks->session), error);
}

/* If the program after `--` could not be executed, there is nothing to read. */
static int stop(struct collector *collector, struct error *error)
{
	struct stacks *stacks = collector->context;

	if (collector->run->child_failed || !stacks->session)
		return 0;
	if (!stacks->intervals)
		symbolizer_begin_reading(stacks->names.symbolizer);
	return session_stop(stacks->session, error);
}

static int summarize(struct collector *collector, struct error *error)
{
	const struct run *run = collector->run;
	struct stacks *stacks = collector->context;
	int err = 0;

	if (run->has_started && !run->child_failed && !stacks->command->take)
		err = print_verdict(stacks, error);
	if (stacks->command->tell && !run->config->quiet)
		stacks->command->tell(stacks->context);
	return err;
}

int stacks_stop(struct stacks *stacks, struct error *error)
{
	return session_stop(stacks->session, error) ?: hand_over(stacks, true, error);
}

/* Names are kept by the numbers of files and processes, so the next session goes on counting. */
void stacks_end(struct stacks *stacks)
{
	if (!stacks->session)
		return;
	stacks->next_file = file_table_next_number(session_files(stacks->session));
	stacks->next_runtime = runtime_table_next_number(session_runtimes(stacks->session));
	session_free(stacks->session);
	stacks->session = NULL;
}

int stacks_resume(struct stacks *stacks, struct error *error)
{
	int err = new_session(stacks, error);

	if (!err)
		err = session_start(stacks->session, error);
	if (err)
		stacks_end(stacks);
	return err;
}

static uint64_t progress(struct collector *collector, const char **ret_unit)
{
	struct stacks *stacks = collector->context;

	*ret_unit = stacks->source.unit;
	return session_progress(stacks->session);
}

static const struct collector_ops ops = {
	.prepare = prepare,
	.load = load,
	.start = start,
	.wait = wait_in_session,
	.interval = end_interval,
	.stop = stop,
	.summarize = summarize,
	.is_ready = is_ready,
	.attached = attached,
	.progress = progress,
};

void stacks_init(struct stacks *stacks, const struct stack_options *options,
		 const struct stack_command *command, void *context)
{
	*stacks = (struct stacks){
		.collector = {.ops = &ops, .context = stacks},
		.options = options,
		.command = command,
		.context = context,
	};
}

void stacks_clear(struct stacks *stacks)
{
	intervals_free(stacks->intervals);
	session_free(stacks->session);
	outputs_clear(&stacks->outputs);
	out_file_abort(&stacks->stats);
	session_names_clear(&stacks->names);
	cpus_clear(&stacks->online);
}
