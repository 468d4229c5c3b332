/*
 * stook sched: for how long tasks ran, and waited for a CPU.
 *
 *	$ stook sched 10
 *	TASK             RUNTIME(ms)  SWITCHES  MIGRATIONS  AVG DELAY(ms)  MAX DELAY(ms)  MAX CPU  …
 *	cc1:(15)            1170.300       217          12          1.721          5.165        0  …
 *	sleep:6091             2.506         1           0          0.000          0.000        1  …
 *	TOTAL: 1172.806 ms, 218 switches
 *	stook: 3,077 switches = 218 shown + 2,801 idle + 58 of stook + 0 filtered + 0 lost
 *
 * The same sums as histograms of the delay (--hist), or by CPU (--map). With --timehist each switch
 * is a line, as it happens; with --trace each is also in a file for ui.perfetto.dev.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file/fd_io.h"
#include "base/text.h"
#include "cmd/options/task_options.h"
#include "cmd/outputs.h"
#include "collect/switches.h"
#include "format/text/stints.h"
#include "kernel/preflight.h"
#include "proc/cgroup.h"
#include "run/complain.h"
#include "run/run.h"
#include "view/task_times.h"

#define ROWS_DEFAULT	   32768
#define ROWS_MAX	   (1U << 20)
#define MAX_EVENTS_DEFAULT 1000000
#define RING_BYTES	   (4U << 20)
#define STINTS_RING_BYTES  (16U << 20)
#define POLL_NS		   (20 * NS_PER_MS)

struct sched_options {
	struct run_config tasks;
	uint32_t *cpus;
	size_t nr_cpus;
	unsigned keys; /* enum task_key */
	bool has_by, has_sort;
	enum task_order order;
	size_t top, max_rows;
	bool hist, map, timehist, wakeups, timestamp, force;
	const char *trace_path;
	uint64_t max_events; /* 0: none was given */
	uint64_t min_us;
	struct row_output_options output;
};

/* --- the command line ------------------------------------------------------------------------- */

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct sched_options *options = context;

	return option_take_cpus(value, &options->cpus, &options->nr_cpus, error);
}

static int take_by(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {"comm", "pid", "tid", "cgroup", "cpu"};
	struct sched_options *options = context;

	options->has_by = true;
	return option_take_set("--by", value, names, ARRAY_SIZE(names), &options->keys, error);
}

static int take_sort(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[TASK_BY_AVG] = "avg",	       [TASK_BY_MAX] = "max",
		[TASK_BY_RUNTIME] = "runtime", [TASK_BY_SWITCHES] = "switch",
		[TASK_BY_DELAY] = "delay",     [TASK_BY_MIGRATIONS] = "migrations",
		[TASK_BY_NAME] = "name",
	};
	struct sched_options *options = context;
	int order = option_take_choice("--sort", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->order = (enum task_order)order;
	options->has_sort = true;
	return 0;
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by,
	 "a row per comm (default), pid, tid, cgroup, or combination of these; or per cpu"},
	OPTION_SWITCH(0, "hist", struct sched_options, hist,
		      "print a histogram of delays: of all tasks, or with --by of each"),
	OPTION_SWITCH(0, "map", struct sched_options, map,
		      "print which share of each CPU's time each task had"),
	OPTION_SWITCH(0, "timehist", struct sched_options, timehist,
		      "print each switch, as it happens"),
	OPTION_TEXT(0, "trace", "FILE", struct sched_options, trace_path,
		    "write each switch to FILE, for ui.perfetto.dev"),
	OPTION_NUMBER(0, "min-us", "N", struct sched_options, min_us, 0, UINT64_MAX / 1000,
		      "microseconds", "with --timehist or --trace, only delays of at least this"),
	OPTION_NUMBER(0, "max-events", "N", struct sched_options, max_events, 1, UINT64_MAX,
		      "a number of switches, at least 1",
		      "with --timehist or --trace, write only N switches (default 1000000)"),
	{'s', "sort", "KEY", take_sort,
	 "sort by avg (default), max, runtime, switch, delay, migrations, name"},
	OPTION_NUMBER(0, "top", "N", struct sched_options, top, 1, INT_MAX,
		      "a number of rows, at least 1", "print only the first N rows"),
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	OPTION_SWITCH(
		0, "wakeups", struct sched_options, wakeups,
		"measure delays from the wake-up to the switch, not by the kernel's accounts"),
	OPTION_NUMBER(0, "max-rows", "N", struct sched_options, max_rows, 1, ROWS_MAX,
		      "a number from 1 to 1048576", "limit for rows (default 32768)"),
	OPTION_SWITCH(0, "force", struct sched_options, force,
		      "run even on real-time kernels known to lock up"),
	OPTION_SWITCH('T', "timestamp", struct sched_options, timestamp,
		      "print the time of day above each table"),
};

#define USAGE                                                                                \
	"usage: stook sched [OPTIONS] [SECS] [-- CMD ARG…]\n"                              \
	"\n"                                                                                 \
	"Prints for how long tasks ran, how often they were switched, and how long they\n"   \
	"waited for a CPU (their delay), on average and at most. Threads of the same name\n" \
	"share a row unless --by is given.\n"

#define EXAMPLES                                                                        \
	"\nexamples:\n"                                                                 \
	"  stook sched 10                         the whole machine, for ten seconds\n" \
	"  stook sched --hist -i 1                run queue latency, every second\n"    \
	"  stook sched --by tid -p $(pgrep -d, redis-server) 10\n"                      \
	"  stook sched --map --top 20 10          who ran where\n"                      \
	"  stook sched --timehist --min-us 10000  each delay of 10 ms or more\n"        \
	"  stook sched --trace build.json -- make -j8"

static int take_word(void *context, const char *word, struct error *error)
{
	struct sched_options *options = context;

	return task_options_take_word(&options->tasks, "sched", word, error);
}

static int check(const struct sched_options *options, struct error *error)
{
	const struct row_output_options *output = &options->output;
	bool by_cpu = options->keys & TASK_CPU;

	if (by_cpu && options->keys != TASK_CPU)
		return error_set(error, -EINVAL,
				 "--by cpu cannot be combined with other keys; --map has both");
	if (by_cpu && options->map)
		return error_set(error, -EINVAL, "--map cannot be combined with --by cpu");
	if (options->map && options->hist)
		return error_set(error, -EINVAL, "--map cannot be combined with --hist");
	if (options->timehist &&
	    (options->hist || options->map || options->has_by || options->has_sort || options->top))
		return error_set(error, -EINVAL,
				 "--timehist prints switches, not a table: it cannot be combined "
				 "with --by, --hist, --map, --sort or --top");
	if (options->timehist && (output->json || output->csv || output->format || output->path ||
				  options->tasks.interval_ns || options->timestamp))
		return error_set(error, -EINVAL,
				 "--timehist is text on standard output: it cannot be combined "
				 "with -i, -o, -T, --format, --json or --csv");
	if ((options->min_us || options->max_events) && !options->timehist && !options->trace_path)
		return error_set(error, -EINVAL,
				 "--min-us and --max-events need --timehist or --trace");
	return row_output_options_check(output, false, error);
}

static int parse(int argc, char **argv, struct sched_options *ret, struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), ret},
		task_options_group(&ret->tasks),
		row_output_options_group(&ret->output),
	};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = take_word,
		.context = ret,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err;

	*ret = (struct sched_options){.max_rows = ROWS_DEFAULT};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	if (!err)
		err = check(ret, error);
	if (!ret->has_by && !ret->hist)
		ret->keys = TASK_COMM;
	return err;
}

/* --- what arrives ----------------------------------------------------------------------------- */

struct sched {
	struct sched_options options;
	struct collector collector;
	struct switches_config config;
	struct switches *switches;
	struct task_times times; /* of the interval */
	struct row_outputs outputs;
	struct out_file trace_file;
	struct trace trace;
	uint64_t nr_events, nr_left_out; /* of --timehist and --trace */
	uint64_t nr_over;		 /* threads beyond --max-rows */
	uint64_t ran_ns;		 /* the selected threads */
	int stdout_error; /* of --timehist: why stdout takes no more; EPIPE: its reader is gone */
};

static int add_thread(void *context, const struct switched_thread *thread)
{
	struct sched *sched = context;
	struct task_time one = {
		.pid = thread->pid,
		.tid = thread->tid,
		.cgroup = thread->cgroup,
		.nr_threads = 1,
		.sums = thread->sums,
		.longest = thread->longest,
	};

	sched->ran_ns += thread->sums.numbers.run_ns;
	if (sched->options.timehist || sched->options.keys & TASK_CPU)
		return 0;
	memcpy(one.comm, thread->comm, sizeof(one.comm));
	return task_times_add(&sched->times, &one, thread->ran_ns);
}

static int add_stint(void *context, const struct sched_stint *stint)
{
	struct sched *sched = context;
	const struct sched_options *options = &sched->options;

	if (options->max_events && sched->nr_events == options->max_events) {
		sched->nr_left_out++;
		return 0;
	}
	sched->nr_events++;
	if (options->timehist && stint->state != STINT_GOES_ON && !sched->stdout_error) {
		timehist_write(stdout, stint);
		if (ferror(stdout))
			sched->stdout_error = errno;
	}
	return options->trace_path ? trace_add(&sched->trace, stint) : 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *const figure_names[] = {
	"accounting.switches",	  "accounting.idle",	   "accounting.own",
	"accounting.filtered",	  "accounting.counted",	   "accounting.lost_threads",
	"accounting.lost_stints", "accounting.lost_ends",  "accounting.lost_run_ns",
	"accounting.unsplit",	  "accounting.unsplit_ns", "accounting.violations",
};

_Static_assert(ARRAY_SIZE(figure_names) == sizeof(struct switches_totals) / sizeof(uint64_t),
	       "a name for each total");

/* Returns rows of the CPUs, to be freed; NULL when out of memory. */
static struct task_time *list_cpus(const struct sched *sched, size_t *ret_nr)
{
	const struct switched_cpu *cpus = switches_cpus(sched->switches, ret_nr);
	struct task_time *list = calloc(*ret_nr + 1, sizeof(*list));
	size_t i;

	for (i = 0; i < *ret_nr && list; i++)
		list[i] = (struct task_time){
			.cpu = cpus[i].number,
			.sums = cpus[i].sums,
			.longest = cpus[i].longest,
			.idle_ns = cpus[i].idle_ns,
		};
	return list;
}

/* Rows that are not shown need no path. */
static void name_cgroups(struct task_times *times)
{
	cleanup_fd int root_fd = times->keys & TASK_CGROUP ? cgroup_open_root(NULL) : -1;
	size_t i;

	for (i = 0; i < times->nr_shown && root_fd >= 0; i++) {
		struct task_time *row = &times->rows[times->order[i]];

		row->cgroup_path = cgroup_path(root_fd, row->cgroup);
	}
}

static int show_table(struct sched *sched, struct error *error)
{
	const struct sched_options *options = &sched->options;
	struct task_times *times = &sched->times;
	size_t nr_cpus, i;
	cleanup_free struct task_time *cpus = list_cpus(sched, &nr_cpus);
	const struct task_times_style style = {
		.shows_time = options->timestamp,
		.has_histograms = options->hist,
		.is_plain = !options->has_by && !options->hist,
		.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC,
		.seconds = (double)switches_interval_ns(sched->switches) / (double)NS_PER_SEC,
		.cpus = cpus,
		.nr_cpus = nr_cpus,
		.figure_names = figure_names,
		.figures = (const uint64_t *)switches_totals(sched->switches),
		.nr_figures = ARRAY_SIZE(figure_names),
	};
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err = cpus ? 0 : -ENOMEM;

	for (i = 0; i < nr_cpus && options->keys & TASK_CPU && !err; i++)
		err = task_times_add(times, &cpus[i], NULL);
	if (!err)
		err = task_times_choose(times, options->order, options->top);
	if (err)
		return error_no_memory(error, "");
	name_cgroups(times);
	task_times_fill(&sheet, times, &style);
	err = row_outputs_write(&sched->outputs, &sheet, error);
	sched->nr_over += times->nr_over;
	task_times_clear(times);
	return err;
}

/* 0; -EPIPE if the reader is gone, which is no failure; or another error, which is set once. */
static int flush_history(struct sched *sched, struct error *error)
{
	if (!sched->stdout_error && fflush(stdout) != 0)
		sched->stdout_error = errno;
	if (!sched->stdout_error)
		return 0;
	if (sched->stdout_error == EPIPE)
		return -EPIPE;
	return error_set(error, -sched->stdout_error, "cannot write to standard output: %s",
			 strerror(sched->stdout_error));
}

static int end_interval(struct collector *collector, bool is_last, struct error *error)
{
	struct sched *sched = collector->context;
	int err = switches_end_interval(sched->switches, is_last, error);

	if (!err && !sched->options.timehist && !sched->outputs.has_failed)
		err = show_table(sched, error);
	if (!err && sched->options.timehist)
		err = flush_history(sched, error);
	if (!is_last)
		return err;
	if (sched->options.trace_path) {
		int uncommitted;

		trace_end(&sched->trace);
		uncommitted = out_file_commit(&sched->trace_file, err ? NULL : error);
		err = err ? err : uncommitted;
	}
	return row_outputs_commit(&sched->outputs, err, error);
}

/* --- the run ---------------------------------------------------------------------------------- */

static int prepare(struct collector *collector, struct error *error)
{
	struct sched *sched = collector->context;
	const struct sched_options *options = &sched->options;
	int err = privileges_check(error);

	if (!err && !options->force)
		err = kernel_check_sending(error);
	if (!err && options->trace_path)
		err = out_file_open(&sched->trace_file, options->trace_path, error);
	sched->trace.out = sched->trace_file.stream;
	return err ? err : row_outputs_open(&sched->outputs, &options->output, error);
}

static int load(struct collector *collector, struct error *error)
{
	struct sched *sched = collector->context;
	const struct sched_options *options = &sched->options;
	const struct wanted_tasks *tasks = &collector->run->tasks;
	bool has_stints = options->timehist || options->trace_path;

	sched->config = (struct switches_config){
		.receiver = {add_thread, add_stint, sched},
		.tasks = tasks,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.by_clock = options->wakeups,
		.by_cgroup = options->keys & TASK_CGROUP,
		.has_places = options->map,
		.sends_stints = has_stints,
		.sends_idle = options->timehist && !options->min_us && !tasks->nr_pids &&
			      !tasks->nr_tids && tasks->cgroup_fd < 0,
		.least_delay_ns = options->min_us * NS_PER_US,
		.ring_bytes = has_stints ? STINTS_RING_BYTES : RING_BYTES,
	};
	sched->times.keys = options->keys;
	sched->times.max_rows = options->max_rows;
	sched->switches = switches_load(&sched->config, error);
	if (!sched->switches)
		return error->code;
	sched->times.nr_cpus = options->map ? switches_cpus_end(sched->switches) : 0;
	return 0;
}

static int start(struct collector *collector, struct error *error)
{
	struct sched *sched = collector->context;
	int err = switches_start(sched->switches, error);

	sched->trace.began_ns = switches_began_ns(sched->switches);
	if (!err && sched->options.timehist)
		timehist_write_heading(stdout);
	if (!err && switches_are_by_clock(sched->switches) && !sched->options.wakeups &&
	    !sched->options.tasks.quiet)
		complain("this kernel does not account delays: they are measured from the wake-up "
			 "to the switch");
	return err;
}

static int wait(struct collector *collector, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
		struct error *error)
{
	const struct clock *clock = &collector->run->clock;
	struct sched *sched = collector->context;
	uint64_t poll_ns = clock->now(clock->context) + POLL_NS;
	int err = clock->wait(clock->context, until_ns < poll_ns ? until_ns : poll_ns, fds, nr_fds);

	if (err)
		return error_set(error, err, "cannot wait: %s", strerror(-err));
	err = switches_poll(sched->switches, error);
	return err || !sched->options.timehist ? err : flush_history(sched, error);
}

static int stop(struct collector *collector, struct error *error)
{
	return 0;
}

/* --- the summary ------------------------------------------------------------------------------ */

static void tell_losses(const struct sched *sched, const struct switches_totals *totals)
{
	char numbers[2][NUMBER_COMMAS_BYTES];

	if (totals->lost_threads)
		complain("%s switches are lost: more threads than the table holds",
			 number_commas(numbers[0], totals->lost_threads));
	if (totals->lost_ends)
		complain("%s threads that ended are lost, with %.3f ms of their time: ring buffer "
			 "full",
			 number_commas(numbers[0], totals->lost_ends),
			 (double)totals->lost_run_ns / (double)NS_PER_MS);
	if (totals->lost_stints)
		complain("%s switches are not in the history: ring buffer full",
			 number_commas(numbers[0], totals->lost_stints));
	if (sched->nr_left_out)
		complain("%s switches are not in the history, which ended after %s (--max-events)",
			 number_commas(numbers[0], sched->nr_left_out),
			 number_commas(numbers[1], sched->nr_events));
	if (totals->unsplit)
		complain("%s waits, %.3f ms, are in no histogram or maximum: the kernel did not "
			 "report the switches between them",
			 number_commas(numbers[0], totals->unsplit),
			 (double)totals->unsplit_ns / (double)NS_PER_MS);
	if (sched->nr_over)
		complain("%s threads share a row: more rows than --max-rows",
			 number_commas(numbers[0], sched->nr_over));
	if (totals->violations)
		complain("%s sums of CPUs and threads differ: this is a bug in stook",
			 number_commas(numbers[0], totals->violations));
}

static int summarize(struct collector *collector, struct error *error)
{
	const struct run *run = collector->run;
	const struct sched *sched = collector->context;
	const struct switches_totals *totals;
	char numbers[6][NUMBER_COMMAS_BYTES];

	if (!run->has_started || run->config->quiet || run->child_failed)
		return 0;
	totals = switches_totals(sched->switches);
	complain("%s switches = %s shown + %s idle + %s of stook + %s filtered + %s lost",
		 number_commas(numbers[0], totals->switches),
		 number_commas(numbers[1], totals->counted),
		 number_commas(numbers[2], totals->idle), number_commas(numbers[3], totals->own),
		 number_commas(numbers[4], totals->filtered),
		 number_commas(numbers[5], totals->lost_threads));
	if (!totals->counted && totals->filtered && !sched->ran_ns)
		complain("the target did not run on a CPU in this time; stook profile --off-cpu "
			 "shows what it waits for");
	tell_losses(sched, totals);
	return 0;
}

static const struct collector_ops ops = {
	.prepare = prepare,
	.load = load,
	.start = start,
	.wait = wait,
	.interval = end_interval,
	.stop = stop,
	.summarize = summarize,
	.stops_last = true,
};

int cmd_sched(int argc, char **argv)
{
	struct sched sched = {0};
	struct error error = {0};
	int status = 0;
	int err = parse(argc, argv, &sched.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err) {
		if (!sched.options.max_events)
			sched.options.max_events = MAX_EVENTS_DEFAULT;
		sched.collector = (struct collector){.ops = &ops, .context = &sched};
		status = run_collector(&sched.options.tasks, NULL, &sched.collector);
		switches_free(sched.switches);
		task_times_clear(&sched.times);
		row_outputs_clear(&sched.outputs);
		out_file_abort(&sched.trace_file);
	}
	free(sched.options.cpus);
	task_options_clear(&sched.options.tasks);
	return status;
}
