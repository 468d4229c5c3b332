/*
 * stook stat: counts events.
 *
 *	$ stook stat -- sleep 1
 *
 *	 Performance counter stats for 'sleep 1':
 *
 *	              0.88 msec task-clock                #    0.001 CPUs utilized
 *	                 1      context-switches          #    1.132 K/sec
 *	         1,203,040      cycles                    #    1.367 GHz
 *	         1,011,214      instructions              #    0.84  insn per cycle
 *	…
 *	       1.001289299 seconds time elapsed
 *
 * This file chooses events and targets, and adds up repeated runs; counters are collect/counting.c, metrics and the
 * table view/counts.c.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cmd/options/task_options.h"
#include "cmd/outputs.h"
#include "collect/counting.h"
#include "event/event.h"
#include "kernel/cpus.h"
#include "kernel/perf_open.h"
#include "probe/find/tracepoint_filter.h"
#include "proc/cgroup.h"
#include "proc/process_info.h"
#include "proc/tracefs.h"
#include "run/complain.h"
#include "run/processes.h"
#include "run/run.h"
#include "view/counts.h"

#define EVENT_LISTS_MAX 64
#define CGROUPS_MAX	1024
#define DETAILS_MAX	3
#define HEADING_EVERY	25		  /* intervals, as perf's */
#define FOLLOW_NS	(100 * NS_PER_MS) /* between looks for CPUs that come and go */

struct stat_options {
	struct run_config tasks;
	uint32_t *cpus;
	size_t nr_cpus;
	const char *event_lists[EVENT_LISTS_MAX], *filters[EVENT_LISTS_MAX];
	size_t nr_event_lists;
	const struct preset *preset;
	unsigned details;
	enum counting_by by;
	bool has_by;
	struct row_output_options output;
};

/* --- events ----------------------------------------------------------------------------------- */

/* For the whole system, cpu-clock takes the place of task-clock. */
static const char *const default_events[] = {
	"task-clock", "context-switches",	 "cpu-migrations", "page-faults",
	"cycles",     "stalled-cycles-frontend", "instructions",   "stalled-cycles-backend",
	"branches",   "branch-misses",
};

/* Not shown if the CPU lacks them, as most do. */
#define IS_RARE(name) (!strncmp(name, "stalled-", strlen("stalled-")))

/* The lists that --detailed, --detailed --detailed, … add; perf's. */
static const char *const detailed_events[DETAILS_MAX] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,"
	"iTLB-load-misses",
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

/*
 * Each CPU has a few of a preset's events. The ones that have no name here, or that the kernel refuses, are left out.
 * Names are the kernel's (stalled-cycles-…, stall_…) and those of vendors, which need libpfm4.
 */
#define PRESET_EVENTS_MAX 48

static const struct preset {
	const char *name;
	const char *base; /* what the others are related to */
	const char *events[PRESET_EVENTS_MAX];
} presets[] = {
	{"stalls",
	 "task-clock,cycles,instructions",
	 {
		 "stalled-cycles-frontend",
		 "stalled-cycles-backend",
		 /* Arm */
		 "stall",
		 "stall_frontend",
		 "stall_backend",
		 "stall_backend_mem",
		 "stall_slot",
		 "stall_slot_frontend",
		 "stall_slot_backend",
		 /* Intel: where execution waits, */
		 "cycle_activity.stalls_total",
		 "cycle_activity.stalls_mem_any",
		 "cycle_activity.stalls_ldm_pending",
		 "cycle_activity.stalls_l1d_miss",
		 "cycle_activity.stalls_l1d_pending",
		 "cycle_activity.stalls_l2_miss",
		 "cycle_activity.stalls_l2_pending",
		 "cycle_activity.stalls_l3_miss",
		 "memory_activity.stalls_l1d_miss",
		 "memory_activity.stalls_l2_miss",
		 "memory_activity.stalls_l3_miss",
		 "exe_activity.bound_on_stores",
		 "exe_activity.bound_on_loads",
		 "resource_stalls.any",
		 "resource_stalls.rs",
		 "resource_stalls.rob",
		 "resource_stalls.sb",
		 "resource_stalls.scoreboard",
		 /* in which stage of the pipeline, */
		 "uops_issued.stall_cycles",
		 "uops_executed.stall_cycles",
		 "uops_retired.stall_cycles",
		 "idq_uops_not_delivered.cycles_0_uops_deliv_core",
		 /* and in the front end */
		 "icache.ifetch_stall",
		 "icache_16b.ifdata_stall",
		 "icache_64b.iftag_stall",
		 "icache_data.stalls",
		 "icache_tag.stalls",
		 "ild_stall.lcp",
		 "decode.lcp",
		 "rat_stalls.any",
		 /* AMD */
		 "dispatch_resource_stall_cycles_0",
		 "dispatch_resource_stall_cycles_1.load_queue_rsrc_stall",
		 "dispatch_resource_stall_cycles_1.store_queue_rsrc_stall",
		 "dispatch_resource_stall_cycles_1.int_phy_reg_file_rsrc_stall",
		 "dispatch_resource_stall_cycles_1.fp_reg_file_rsrc_stall",
		 "dispatch_resource_stall_cycles_1.taken_branch_buffer_rsrc_stall",
		 "dispatch_resource_stall_cycles_2.retire_token_stall",
	 }},
	{"topdown",
	 "task-clock,cycles,instructions",
	 {
		 "{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}",
		 "{topdown-total-slots,topdown-slots-issued,topdown-slots-retired,topdown-fetch-"
		 "bubbles,topdown-recovery-bubbles}:W",
	 }},
};

/* --- the command line ------------------------------------------------------------------------- */

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct stat_options *options = context;

	return option_take_cpus(value, &options->cpus, &options->nr_cpus, error);
}

static int take_events(void *context, const char *value, struct error *error)
{
	struct stat_options *options = context;

	if (options->nr_event_lists == EVENT_LISTS_MAX)
		return error_set(error, -E2BIG, "more than %d options -e", EVENT_LISTS_MAX);
	options->event_lists[options->nr_event_lists++] = value;
	return 0;
}

/* perf's interval, in milliseconds. */
static int take_interval_ms(void *context, const char *value, struct error *error)
{
	static const struct option_number interval = {"-I", 1, UINT32_MAX,
						      "milliseconds, at least 1"};
	struct stat_options *options = context;
	uint64_t ms;
	int err = option_take_number(&interval, value, &ms, error);

	if (err)
		error_hint(error, "-i takes seconds, also with a unit: -i 500ms");
	else
		options->tasks.interval_ns = ms * NS_PER_MS;
	return err;
}

static int take_filter(void *context, const char *value, struct error *error)
{
	struct stat_options *options = context;
	const size_t last = options->nr_event_lists - 1;

	if (!options->nr_event_lists)
		return error_set(error, -EINVAL,
				 "--filter '%.100s' has no tracepoint: it stands behind -e", value);
	if (options->filters[last]) {
		(void)error_set(error, -EINVAL, "'%s' has two filters", options->event_lists[last]);
		error_hint(error, "combine them: '(%.100s) && (%.100s)'", options->filters[last],
			   value);
		return -EINVAL;
	}
	options->filters[last] = value;
	return 0;
}

static int take_preset(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {"stalls", "topdown"};
	int number = option_take_choice("--preset", value, names, ARRAY_SIZE(names), error);

	if (number >= 0)
		((struct stat_options *)context)->preset = &presets[number];
	return number < 0 ? number : 0;
}

static int take_detailed(void *context, const char *value, struct error *error)
{
	struct stat_options *options = context;

	options->details += options->details < DETAILS_MAX;
	return 0;
}

static int take_by(struct stat_options *options, enum counting_by by, struct error *error)
{
	if (options->has_by && options->by != by)
		return error_set(error, -EINVAL, "only one of the options --per-… is possible");
	options->has_by = true;
	options->by = by;
	return 0;
}

#define TAKE_BY(name, by)                                                                \
	static int take_by_##name(void *context, const char *value, struct error *error) \
	{                                                                                \
		return take_by(context, by, error);                                      \
	}
TAKE_BY(cpu, COUNTING_CPU)
TAKE_BY(core, COUNTING_CORE)
TAKE_BY(socket, COUNTING_SOCKET)
TAKE_BY(thread, COUNTING_THREAD)
TAKE_BY(cgroup, COUNTING_CGROUP)

static const struct option_row rows[] = {
	{'e', "event", "EVENT,…", take_events,
	 "events to count, and groups {a,b}: cycles, cache-misses:u, sched:sched_switch, …"},
	{0, "filter", "FILTER", take_filter,
	 "behind -e with a tracepoint: only its hits of which this is true: 'prev_prio < 100'"},
	{0, "detailed", NULL, take_detailed,
	 "also caches; again: also TLBs; a third time: also prefetches"},
	{0, "preset", "NAME", take_preset,
	 "stalls: why the CPU waits; topdown: which share of its pipeline is used"},
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	{'I', "interval-print", "MS", take_interval_ms, NULL},
	{0, "per-cpu", NULL, take_by_cpu, "a count for each CPU"},
	{'A', "no-aggr", NULL, take_by_cpu, NULL},
	{0, "per-core", NULL, take_by_core, "a count for each core"},
	{0, "per-socket", NULL, take_by_socket, "a count for each socket"},
	{0, "per-thread", NULL, take_by_thread, "a count for each thread of -p or -t"},
	{0, "per-cgroup", NULL, take_by_cgroup,
	 "a count for each cgroup directly below --cgroup (default: below the root)"},
	OPTION_NUMBER('r', "repeat", "N", struct stat_options, tasks.nr_runs, 1, 100000,
		      "a number from 1 to 100000",
		      "run the command N times, print averages and their errors"),
};

#define USAGE                                                                                 \
	"usage: stook stat [OPTIONS] [SECS] [-- CMD ARG…]\n"                                \
	"\n"                                                                                  \
	"Counts events of CPUs and of the kernel, and prints the sums with metrics derived\n" \
	"from them: CPUs utilized, GHz, instructions per cycle, shares of misses.\n"

#define EXAMPLES                                                                          \
	"\nexamples:\n"                                                                   \
	"  stook stat -- make -j8                   a command, with its children\n"       \
	"  stook stat -p $(pgrep -d, redis-server) 10\n"                                  \
	"  stook stat -i 1 --per-socket             the whole machine, each second\n"     \
	"  stook stat -r 10 -- ./benchmark          averages of ten runs\n"               \
	"  stook stat -e '{cycles:u,instructions:u},sched:sched_switch' -- ./benchmark\n" \
	"  stook stat --preset stalls -p 1234 10    why the CPU waits"

static int take_word(void *context, const char *word, struct error *error)
{
	struct stat_options *options = context;

	return task_options_take_word(&options->tasks, "stat", word, error);
}

/* True if only some processes are counted. */
static bool has_tasks_only(const struct stat_options *options)
{
	const struct run_config *tasks = &options->tasks;

	return tasks->nr_pids || tasks->nr_tids || (tasks->command && !tasks->everything);
}

static int check(const struct stat_options *options, struct error *error)
{
	const struct run_config *tasks = &options->tasks;
	const bool has_tasks = has_tasks_only(options);
	bool has_cgroups = tasks->cgroup || options->by == COUNTING_CGROUP;

	if (options->preset && options->details)
		return error_set(error, -EINVAL, "--detailed cannot be combined with --preset");
	if (tasks->nr_runs && !tasks->command)
		return error_set(error, -EINVAL, "--repeat needs '-- CMD'");
	if (tasks->nr_runs > 1 && tasks->interval_ns)
		return error_set(error, -EINVAL, "--repeat cannot be combined with --interval");
	if (options->by == COUNTING_THREAD && (!has_tasks || tasks->command))
		return error_set(error, -EINVAL, "--per-thread needs -p or -t");
	if (has_tasks && has_cgroups) {
		(void)error_set(error, -EINVAL, "%s cannot be combined with %s",
				tasks->cgroup ? "--cgroup" : "--per-cgroup",
				tasks->command ? "'-- CMD'" : "-p or -t");
		if (tasks->command)
			error_hint(error, "with -a, the cgroup is counted while CMD runs");
		return -EINVAL;
	}
	return row_output_options_check(&options->output, false, error);
}

static int parse(int argc, char **argv, struct stat_options *ret, struct error *error)
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

	*ret = (struct stat_options){0};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	return err ? err : check(ret, error);
}

/* --- choosing events -------------------------------------------------------------------------- */

struct totals {
	double mean, squares; /* of the differences from the mean */
	uint64_t nr, enabled_ns, running_ns;
};

struct stat_run {
	struct stat_options options;
	struct collector collector;
	struct row_outputs outputs;
	struct events events;
	enum count_state *states; /* by event */
	bool *is_optional;	  /* by event: hidden if it is refused */
	size_t cap_optional;
	struct counting_cgroup *cgroups;
	size_t nr_cgroups, cap_cgroups;
	struct counting *counting;
	uint64_t stopped_ns, read_ns;
	uint64_t nr_shown;		    /* tables */
	const struct counting_row *counted; /* what was read last */
	size_t nr_counted;
	struct totals *totals; /* of several runs, by row and event */
	size_t nr_totals;
	struct totals seconds, user_seconds, system_seconds;
	struct counting_absence absence; /* of all runs */
};

static int add_events(struct stat_run *stat, struct event_host *host, const char *text,
		      bool is_optional, struct error *error)
{
	const size_t first = stat->events.nr;
	size_t i;
	int err = events_parse(host, text, &stat->events, error);

	if (err || ARRAY_RESERVE(stat->is_optional, stat->cap_optional, stat->events.nr) < 0)
		return err ? err : error_no_memory(error, "");
	for (i = first; i < stat->events.nr; i++)
		stat->is_optional[i] = is_optional;
	return 0;
}

/* True unless the kernel does not know the event; not being permitted to count it is another matter. */
static bool has_cycles(void)
{
	struct event event;
	int fd;

	if (event_parse("cycles:u", &event, NULL) < 0)
		return true;
	fd = perf_open_own(&event.attr);
	if (fd < 0)
		return errno == EACCES || errno == EPERM;
	(void)close(fd);
	return true;
}

static int add_default_events(struct stat_run *stat, struct event_host *host, struct error *error)
{
	/* A machine without a PMU may have these. They are counted as a group, or not at all. */
	static const char *const clocks = "{msr/tsc/,msr/mperf/,msr/aperf/}";
	const bool is_system = !has_tasks_only(&stat->options);
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(default_events) && !err; i++)
		err = add_events(stat, host, !i && is_system ? "cpu-clock" : default_events[i],
				 IS_RARE(default_events[i]), error);
	if (!err && !has_cycles())
		(void)add_events(stat, host, clocks, true, &(struct error){0});
	return err;
}

static int add_preset(struct stat_run *stat, struct event_host *host, struct error *error)
{
	const struct preset *preset = stat->options.preset;
	int err = add_events(stat, host, preset->base, false, error);
	const size_t nr = stat->events.nr;
	size_t i;

	for (i = 0; i < PRESET_EVENTS_MAX && preset->events[i] && err != -ENOMEM; i++)
		err = add_events(stat, host, preset->events[i], true, &(struct error){0});
	if (err == -ENOMEM)
		return error_no_memory(error, "");
	return stat->events.nr > nr
		       ? 0
		       : error_set(error, -ENOENT, "this host has no event of the preset '%s'",
				   preset->name);
}

/* Tries the filter, so that the kernel's answer can be explained. */
static int try_filter(const struct event *event, int tracefs_fd, struct error *error)
{
	const char *colon = strchr(event->name, ':');
	const int nr_name = colon ? (int)strcspn(colon + 1, ":") : 0;
	struct perf_event_attr attr = event->attr;
	cleanup_free char *path = NULL, *format = NULL, *name = NULL;
	cleanup_fd int fd = -1;
	int code;

	if (event->attr.type != PERF_TYPE_TRACEPOINT || !colon)
		return error_set(error, -EINVAL, "--filter is for tracepoints, not for '%s'",
				 event->name);
	attr.disabled = 1;
	fd = perf_open_own(&attr);
	/* An event that cannot be opened is reported as such. */
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) == 0)
		return 0;
	code = -errno;
	name = text_printf("%.*s", (int)(colon - event->name) + 1 + nr_name, event->name);
	path = text_printf("events/%.*s/%.*s/format", (int)(colon - event->name), event->name,
			   nr_name, colon + 1);
	format = name && path ? tracefs_read(tracefs_fd, path, NULL) : NULL;
	/* EPERM: the kernel's answer to an operator without a value. */
	if (format && (code == -EINVAL || code == -EPERM))
		return tracepoint_filter_explain(name, format, event->filter, error);
	return error_set(error, code, "cannot set the filter '%.200s' of '%s': %s", event->filter,
			 event->name, strerror(-code));
}

/* Sets the filter of an option's events, from the first one on. */
static int set_filter(struct stat_run *stat, size_t first, const char *filter, int tracefs_fd,
		      struct error *error)
{
	size_t i;
	int err = 0;

	for (i = first; i < stat->events.nr && !err; i++) {
		stat->events.items[i].filter = filter;
		err = try_filter(&stat->events.items[i], tracefs_fd, error);
	}
	return err;
}

/*
 * Intel's CPUs before Ice Lake count the slots of a core for both of its threads, and what became of them for each: they
 * can be divided only where both threads are counted.
 */
static int check_slots(const struct stat_run *stat, struct error *error)
{
	static const uint64_t any_thread = 1 << 21;
	const struct stat_options *options = &stat->options;
	const bool has_cores = !has_tasks_only(options) && !options->tasks.cgroup &&
			       !options->nr_cpus &&
			       (!options->has_by || options->by == COUNTING_CORE ||
				options->by == COUNTING_SOCKET);
	size_t i;

	for (i = 0; i < stat->events.nr && !has_cores; i++) {
		const struct event *event = &stat->events.items[i];

		if (!strstr(event->name, "topdown-total-slots") ||
		    !(event->attr.config & any_thread))
			continue;
		(void)error_set(error, -EINVAL,
				"this CPU counts the slots of a core for both of its threads");
		error_hint(error, "count whole cores: -a, without -C, and --per-core, --per-socket "
				  "or neither");
		return -EINVAL;
	}
	return 0;
}

static int choose_events(struct stat_run *stat, struct error *error)
{
	const struct stat_options *options = &stat->options;
	cleanup_fd int tracefs_fd = tracefs_open(NULL);
	const struct event_host_options host_options = {.tracefs_fd =
								tracefs_fd < 0 ? -1 : tracefs_fd};
	struct event_host *host = event_host_open(&host_options, error);
	int err = host ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < options->nr_event_lists && !err; i++) {
		const size_t first = stat->events.nr;

		err = add_events(stat, host, options->event_lists[i], false, error);
		if (!err && options->filters[i])
			err = set_filter(stat, first, options->filters[i], tracefs_fd, error);
	}
	if (!err && options->preset)
		err = add_preset(stat, host, error);
	else if (!err && !options->nr_event_lists)
		err = add_default_events(stat, host, error);
	for (i = 0; i < options->details && !err; i++)
		err = add_events(stat, host, detailed_events[i], false, error);
	event_host_close(host);
	if (!err)
		err = check_slots(stat, error);
	if (!err) {
		events_tell_apart(&stat->events);
		stat->states = calloc(stat->events.nr, sizeof(*stat->states));
		err = stat->states ? 0 : error_no_memory(error, "");
	}
	return err;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int add_cgroup(struct stat_run *stat, const char *name, int fd, struct error *error)
{
	const struct counting_cgroup cgroup = {strdup(name), fd};

	if (stat->nr_cgroups < CGROUPS_MAX && cgroup.name && fd >= 0 &&
	    ARRAY_ADD(stat->cgroups, stat->nr_cgroups, stat->cap_cgroups, cgroup) == 0)
		return 0;
	free(cgroup.name);
	if (stat->nr_cgroups == CGROUPS_MAX)
		return error_set(error, -E2BIG, "more than %d cgroups", CGROUPS_MAX);
	return fd < 0 ? error_set_errno(error, "cannot open cgroup '%s'", name)
		      : error_no_memory(error, "");
}

/* The cgroup of --cgroup, or with --per-cgroup the ones below it. */
static int choose_cgroups(struct stat_run *stat, int cgroup_fd, struct error *error)
{
	const struct stat_options *options = &stat->options;
	const char *above = options->tasks.cgroup ? options->tasks.cgroup : "";
	cleanup_fd int above_fd = -1;
	char **names = NULL;
	size_t nr = 0, i;
	int err = 0;

	if (options->by != COUNTING_CGROUP && cgroup_fd < 0)
		return 0;
	if (options->by != COUNTING_CGROUP)
		return add_cgroup(stat, above, dup(cgroup_fd), error);
	above_fd = cgroup_fd < 0 ? cgroup_open_root(error) : dup(cgroup_fd);
	if (above_fd < 0)
		return cgroup_fd < 0 ? above_fd : error_set_errno(error, "cannot list cgroups");
	err = cgroup_children(above_fd, &names, &nr, error);
	for (i = 0; i < nr; i++) {
		cleanup_free char *path = text_printf("%s/%s", above, names[i]);
		int fd = err ? -1 : openat(above_fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* One that was removed since is not counted. */
		if (!err && (fd >= 0 || errno != ENOENT))
			err = add_cgroup(stat, path ? path : names[i], fd, error);
		if (err && fd >= 0)
			(void)close(fd);
		free(names[i]);
	}
	free(names);
	if (!err && !stat->nr_cgroups)
		err = error_set(error, -ENOENT, "no cgroup below '%s'", *above ? above : "/");
	return err;
}

static int prepare(struct collector *collector, struct error *error)
{
	struct stat_run *stat = collector->context;
	cleanup(cpus_clear) struct cpus online = {0};
	int err = cpus_read(&online, "online", error);

	if (!err)
		err = cpus_check(&online, stat->options.cpus, stat->options.nr_cpus, error);
	if (!err)
		err = choose_events(stat, error);
	if (!err)
		err = choose_cgroups(stat, collector->run->tasks.cgroup_fd, error);
	return err ? err : row_outputs_open(&stat->outputs, &stat->options.output, error);
}

/* Why an event, whose counter the kernel refused with this code, is not counted. */
static const char *why_not(int code)
{
	switch (code) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENXIO:
	case -ENODEV:
		return "this machine has no such counter (a virtual machine?)";
	case -EACCES:
	case -EPERM:
		return "not permitted: run as root, with CAP_PERFMON, or lower sysctl "
		       "kernel.perf_event_paranoid";
	case -EINVAL:
		return "the PMU cannot count it for this target, with these modifiers or in this "
		       "group";
	case -EBUSY:
	case -ENOSPC:
		return "all its counters are in use";
	default:
		return strerror(-code);
	}
}

/* Chooses which events are shown; an error if the kernel refuses them all. */
static int judge_events(struct stat_run *stat, struct error *error)
{
	const struct counting_event *counted = counting_events(stat->counting);
	size_t nr_counted = 0, nr_optional = 0, i;

	for (i = 0; i < stat->events.nr; i++) {
		struct event *event = &stat->events.items[i];

		nr_counted += !counted[i].refused;
		nr_optional += stat->is_optional[i] && !counted[i].refused;
		if (counted[i].refused)
			stat->states[i] = stat->is_optional[i] ? COUNT_HIDDEN : COUNT_UNSUPPORTED;
		else if (counted[i].is_user_only && !event->attr.exclude_kernel)
			event_leave_kernel_out(event);
	}
	if (!nr_counted) {
		const int code = counted[0].refused;

		return error_set(error, code, "cannot count '%s': %s", stat->events.items[0].name,
				 why_not(code));
	}
	if (stat->options.preset && !nr_optional)
		return error_set(error, -ENOENT, "this CPU has no event of the preset '%s'",
				 stat->options.preset->name);
	return 0;
}

static int load(struct collector *collector, struct error *error)
{
	struct stat_run *stat = collector->context;
	const struct stat_options *options = &stat->options;
	const struct run *run = collector->run;
	const struct counting_config config = {
		.events = stat->events.items,
		.nr_events = stat->events.nr,
		.tasks = &run->tasks,
		.cgroups = stat->cgroups,
		.nr_cgroups = stat->nr_cgroups,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.by = options->by,
		.on_exec = run->child_pid && !run->config->everything,
	};

	counting_free(stat->counting); /* of the run before */
	stat->counting = counting_open(&config, error);
	return stat->counting ? judge_events(stat, error) : error->code;
}

static int start(struct collector *collector, struct error *error)
{
	struct stat_run *stat = collector->context;

	stat->read_ns = collector->run->clock.now(collector->run->clock.context);
	counting_start(stat->counting, stat->read_ns);
	return 0;
}

static int wait(struct collector *collector, uint64_t until_ns, struct pollfd *fds, size_t nr_fds,
		struct error *error)
{
	struct stat_run *stat = collector->context;
	const struct clock *clock = &collector->run->clock;
	const bool follows = counting_follows_cpus(stat->counting);
	const uint64_t look_ns = follows ? clock->now(clock->context) + FOLLOW_NS : UINT64_MAX;
	int err = clock->wait(clock->context, look_ns < until_ns ? look_ns : until_ns, fds, nr_fds);

	if (err)
		return error_set(error, err, "cannot wait: %s", strerror(-err));
	if (follows)
		counting_follow(stat->counting, clock->now(clock->context));
	return 0;
}

static int stop(struct collector *collector, struct error *error)
{
	struct stat_run *stat = collector->context;

	stat->stopped_ns = collector->run->clock.now(collector->run->clock.context);
	counting_follow(stat->counting, stat->stopped_ns);
	counting_stop(stat->counting);
	counting_add_absence(stat->counting, &stat->absence);
	return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Welford's algorithm. */
static void add_run(struct totals *totals, double value)
{
	const double difference = value - totals->mean;

	totals->mean += difference / (double)++totals->nr;
	totals->squares += difference * (value - totals->mean);
}

/* The standard error of the mean. */
static double error_of_mean(const struct totals *totals)
{
	const double nr = (double)totals->nr;

	return nr < 2 ? 0 : sqrt(totals->squares / (nr - 1) / nr);
}

/* Adds the counts of a run to the totals, which are the same as the counts if it is the only one. */
static int add_counts(struct stat_run *stat, struct error *error)
{
	const size_t nr_events = stat->events.nr, nr_rows = stat->nr_counted;
	size_t i, k;

	if (!stat->totals) {
		stat->nr_totals = nr_rows * nr_events;
		stat->totals = calloc(stat->nr_totals, sizeof(*stat->totals));
		if (!stat->totals)
			return error_no_memory(error, "");
	}
	for (i = 0; i < nr_rows; i++)
		for (k = 0; k < nr_events && i * nr_events + k < stat->nr_totals; k++) {
			struct totals *totals = &stat->totals[i * nr_events + k];
			const struct event_count *count = &stat->counted[i].counts[k];

			totals->enabled_ns += count->enabled_ns;
			totals->running_ns += count->running_ns;
			if (count->running_ns)
				add_run(totals, event_count_estimate(count));
		}
	return 0;
}

static char *make_title(const struct stat_run *stat)
{
	const struct run_config *tasks = &stat->options.tasks;
	cleanup_free char *text = NULL;
	size_t nr, i;
	FILE *out = open_memstream(&text, &nr);

	if (!out)
		return NULL;
	if (tasks->command && !tasks->everything) {
		(void)putc('\'', out);
		for (i = 0; tasks->command[i]; i++)
			(void)fprintf(out, "%s%s", i ? " " : "", tasks->command[i]);
		(void)putc('\'', out);
	} else if (tasks->nr_pids || tasks->nr_tids) {
		(void)fputs(tasks->nr_pids ? "process id '" : "thread id '", out);
		for (i = 0; i < tasks->nr_pids; i++)
			(void)fprintf(out, "%s%" PRIu32, i ? "," : "", tasks->pids[i]);
		for (i = 0; i < tasks->nr_tids; i++)
			(void)fprintf(out, "%s%" PRIu32, i || tasks->nr_pids ? "," : "",
				      tasks->tids[i]);
		(void)putc('\'', out);
	} else if (tasks->cgroup) {
		(void)fprintf(out, "cgroup '%s'", tasks->cgroup);
	} else {
		(void)fputs(stat->options.nr_cpus ? "CPU(s) " : "'system wide'", out);
		for (i = 0; i < stat->options.nr_cpus; i++)
			(void)fprintf(out, "%s%" PRIu32, i ? "," : "", stat->options.cpus[i]);
	}
	if (stat->seconds.nr > 1)
		(void)fprintf(out, " (%" PRIu64 " runs)", stat->seconds.nr);
	return fclose(out) == 0 ? take_pointer(&text) : NULL;
}

static int show(struct stat_run *stat, double since_start, struct error *error)
{
	static const char *const by[] = {
		[COUNTING_CPU] = "cpu",	      [COUNTING_CORE] = "core",
		[COUNTING_SOCKET] = "socket", [COUNTING_THREAD] = "thread",
		[COUNTING_CGROUP] = "cgroup",
	};
	const size_t nr_events = stat->events.nr, nr_rows = stat->nr_counted;
	cleanup_free struct counted *counted = calloc(nr_rows * nr_events, sizeof(*counted));
	cleanup_free struct counts_row *shown = calloc(nr_rows, sizeof(*shown));
	cleanup_free char *title = make_title(stat);
	const bool has_intervals = stat->options.tasks.interval_ns;
	const bool is_many =
		stat->options.by == COUNTING_CORE || stat->options.by == COUNTING_SOCKET;
	const struct counts counts = {
		.events = stat->events.items,
		.states = stat->states,
		.nr_events = nr_events,
		.rows = shown,
		.nr_rows = nr_rows,
		.by = by[stat->options.by],
		.title = has_intervals ? NULL : title,
		.has_heading = has_intervals && stat->nr_shown++ % HEADING_EVERY == 0,
		.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC,
		.seconds = stat->seconds.mean,
		.since_start = since_start,
		.user_seconds = stat->user_seconds.nr ? stat->user_seconds.mean : -1,
		.system_seconds = stat->system_seconds.mean,
		.nr_runs = stat->seconds.nr,
		.seconds_spread = error_of_mean(&stat->seconds),
	};
	cleanup(sheet_clear) struct sheet sheet = {0};
	size_t i, k;

	if (!counted || !shown || !title)
		return error_no_memory(error, "");
	for (i = 0; i < nr_rows; i++) {
		shown[i] = (struct counts_row){stat->counted[i].label,
					       is_many ? stat->counted[i].nr_cpus : 0,
					       &counted[i * nr_events]};
		for (k = 0; k < nr_events && i * nr_events + k < stat->nr_totals; k++) {
			const struct totals *totals = &stat->totals[i * nr_events + k];

			counted[i * nr_events + k] =
				(struct counted){totals->mean, totals->enabled_ns,
						 totals->running_ns, error_of_mean(totals)};
		}
	}
	counts_fill(&sheet, &counts);
	return row_outputs_write(&stat->outputs, &sheet, error);
}

static int end_interval(struct collector *collector, bool is_last, struct error *error)
{
	const struct run *run = collector->run;
	struct stat_run *stat = collector->context;
	const uint64_t now_ns = is_last ? stat->stopped_ns : run->clock.now(run->clock.context);
	/* A child begins after start(). */
	const uint64_t from_ns = run->config->interval_ns && stat->read_ns > run->began_ns
					 ? stat->read_ns
					 : run->began_ns;
	double user, system;
	int err;

	stat->counted = counting_read(stat->counting, &stat->nr_counted);
	stat->read_ns = now_ns;
	add_run(&stat->seconds, (double)(now_ns - from_ns) / (double)NS_PER_SEC);
	if (is_last && run->child_pid && child_times((pid_t)run->child_pid, &user, &system)) {
		add_run(&stat->user_seconds, user);
		add_run(&stat->system_seconds, system);
	}
	err = add_counts(stat, error);
	if (!err && run->repeats)
		return 0;
	if (!err && !stat->outputs.has_failed)
		err = show(stat, (double)(now_ns - run->began_ns) / (double)NS_PER_SEC, error);
	free(stat->totals);
	stat->totals = NULL;
	stat->seconds = stat->user_seconds = stat->system_seconds = (struct totals){0};
	return is_last ? row_outputs_commit(&stat->outputs, err, error) : err;
}

/* Says once for each reason which events are not counted. */
static void tell_refused(const struct stat_run *stat)
{
	const struct counting_event *counted = counting_events(stat->counting);
	size_t i, k;

	for (i = 0; i < stat->events.nr; i++) {
		cleanup_free char *names = NULL;

		for (k = 0; k < i && counted[k].refused != counted[i].refused; k++)
			;
		if (stat->states[i] != COUNT_UNSUPPORTED || k < i)
			continue;
		for (k = i; k < stat->events.nr; k++) {
			cleanup_free char *before = take_pointer(&names);

			if (stat->states[k] == COUNT_UNSUPPORTED &&
			    counted[k].refused == counted[i].refused)
				names = text_printf("%s%s%s", before ? before : "",
						    before ? ", " : "", stat->events.items[k].name);
			else
				names = take_pointer(&before);
		}
		complain("not counted: %s: %s", names ? names : "", why_not(counted[i].refused));
	}
}

static void tell_absence(const struct stat_run *stat)
{
	const struct counting_absence *absence = &stat->absence;

	if (absence->nr_cpus == 1)
		complain("CPU %u was offline at times: %.1f s without counts", absence->cpu,
			 (double)absence->away_ns / (double)NS_PER_SEC);
	if (absence->nr_cpus > 1)
		complain("%zu CPUs were offline at times: %.1f CPU seconds without counts",
			 absence->nr_cpus, (double)absence->away_ns / (double)NS_PER_SEC);
	if (absence->uncounted.code)
		complain("a CPU that came online is not counted: %s", absence->uncounted.text);
}

static int summarize(struct collector *collector, struct error *error)
{
	const struct run *run = collector->run;
	const struct stat_run *stat = collector->context;
	const struct counting_event *counted = counting_events(stat->counting);
	size_t i;

	if (!run->has_started || run->config->quiet || run->child_failed || run->repeats)
		return 0;
	tell_refused(stat);
	for (i = 0; i < stat->events.nr; i++)
		if (counted[i].is_ungrouped)
			complain("'%s' is counted alone: its group does not fit",
				 stat->events.items[i].name);
	if (counting_nr_missed(stat->counting))
		complain("%zu threads are not counted: they were created while the counters were "
			 "opened",
			 counting_nr_missed(stat->counting));
	tell_absence(stat);
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
};

static void clear(struct stat_run *stat)
{
	size_t i;

	counting_free(stat->counting);
	for (i = 0; i < stat->nr_cgroups; i++) {
		free(stat->cgroups[i].name);
		(void)close(stat->cgroups[i].fd);
	}
	free(stat->cgroups);
	free(stat->states);
	free(stat->is_optional);
	free(stat->totals);
	events_clear(&stat->events);
	row_outputs_clear(&stat->outputs);
	free(stat->options.cpus);
	task_options_clear(&stat->options.tasks);
}

int cmd_stat(int argc, char **argv)
{
	struct stat_run stat = {0};
	struct error error = {0};
	int status = 0;
	int err = parse(argc, argv, &stat.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err) {
		stat.collector = (struct collector){.ops = &ops, .context = &stat};
		status = run_collector(&stat.options.tasks, NULL, &stat.collector);
	}
	clear(&stat);
	return status;
}
