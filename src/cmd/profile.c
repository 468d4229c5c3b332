/*
 * stook profile: samples stacks and prints where time goes.
 *
 *	$ stook profile -F 999 -p $(pgrep -d, redis-server) -f 10 >redis.folded
 *	stook: cpu-clock at 999 Hz on 2 CPUs for 10.0 s
 *	samples  19,976 fired = 9,812 shown + 14 idle + 10,150 filtered + 0 lost
 *	…
 *
 * The run is shared with other commands (run/stacks.h); this file chooses the event. Tracepoints are
 * handled by stackcount.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bpf/wire.h"
#include "run/complain.h"
#include "cmd/options/naming_options.h"
#include "cmd/options/output_options.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/stack_options.h"
#include "cmd/options/task_options.h"
#include "run/run.h"
#include "run/stacks.h"
#include "collect/sampler.h"
#include "event/event.h"
#include "kernel/perf_open.h"
#include "probe/find/pattern.h"

struct profile_options {
	struct run_config tasks;
	struct stack_options stacks;
	struct stack_source source; /* CPUs, idle CPUs; members about the events are set later */
	struct sampling_rate rate;  /* of events that name no other one */
	/* None: default, cycles, or cpu-clock without a hardware counter. */
	struct sampled_event events[WIRE_MAX_EVENTS];
	size_t nr_events;
	struct event numerator; /* of --ratio; the only event is the denominator */
	bool has_ratio;
	struct probe_options tracepoints; /* instead of events; owns its patterns */
	bool off_cpu;			  /* instead of events */
	bool wall;			  /* beside samples of a clock */
	bool locks;			  /* instead of events: waits for locks */
	struct sampler_waits waits;
	uint64_t min_us, max_us; /* 0: no limit */
};

/* --- the command line ------------------------------------------------------------------------ */

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct stack_source *source = &((struct profile_options *)context)->source;

	return option_take_cpus(value, &source->cpus, &source->nr_cpus, error);
}

static int take_frequency(void *context, const char *value, struct error *error)
{
	static const struct option_number frequency = {"--frequency", 1, 1000000,
						       "samples per second, 1 to 1000000"};
	struct profile_options *options = context;

	options->rate.period = 0;
	return option_take_number(&frequency, value, &options->rate.frequency, error);
}

static int take_period(void *context, const char *value, struct error *error)
{
	static const struct option_number period = {"--count", 1, INT64_MAX,
						    "events per sample, at least 1"};
	struct profile_options *options = context;

	options->rate.frequency = 0;
	return option_take_number(&period, value, &options->rate.period, error);
}

static int refuse_mixture(const char *first, const char *second, struct error *error)
{
	(void)error_set(error, -EINVAL,
			"one run samples events or tracepoints, not both '%s' and '%s'", first,
			second);
	error_hint(error,
		   "start two runs, even at the same time: -e %s -o 1.pb.gz and -e %s -o "
		   "2.pb.gz",
		   first, second);
	return -EINVAL;
}

/* `sched:sched_switch` as the pattern t:sched:sched_switch. */
static int add_tracepoint(struct probe_options *tracepoints, const char *name, struct error *error)
{
	bool has_prefix = text_starts_with(name, "t:") || text_starts_with(name, "tracepoint:");
	char *text = text_printf("%s%s", has_prefix ? "" : "t:", name);
	struct pattern pattern;
	int err;

	if (!text)
		return error_no_memory(error, "");
	err = pattern_parse(text, false, &pattern, error);
	if (!err)
		pattern_clear(&pattern);
	if (!err && tracepoints->nr_patterns == PROBE_PATTERNS_MAX)
		err = error_set(error, -E2BIG, "more than %d tracepoints", PROBE_PATTERNS_MAX);
	if (err) {
		free(text);
		return err;
	}
	tracepoints->patterns[tracepoints->nr_patterns++] = text;
	return 0;
}

#define RATIO_CLOCK "--ratio A/B samples event B: leave out -e"

static int add_event(struct profile_options *options, const char *name, struct error *error)
{
	const struct probe_options *tracepoints = &options->tracepoints;
	bool is_tracepoint = event_is_tracepoint(name);
	struct event event;
	size_t i;
	int err;

	if (options->has_ratio)
		return error_set(error, -EINVAL, "%s", RATIO_CLOCK);
	if (options->nr_events && is_tracepoint)
		return refuse_mixture(options->events[0].event.name, name, error);
	if (tracepoints->nr_patterns && !is_tracepoint)
		return refuse_mixture(tracepoints->patterns[0] + strlen("t:"), name, error);
	if (is_tracepoint)
		return add_tracepoint(&options->tracepoints, name, error);
	if (name[0] == '{') {
		(void)error_set(error, -EINVAL, "events are sampled one by one, not as group '%s'",
				name);
		error_hint(error,
			   "-e A,B makes each event a value of the profile; --ratio B/A counts B "
			   "beside each sample of A, in one group");
		return -EINVAL;
	}
	err = event_parse(name, &event, error);
	if (err)
		return err;
	if (event.reads_group || event.is_weak)
		return error_set(error, -EINVAL, "modifier '%c' of '%s' is for groups",
				 event.reads_group ? 'S' : 'W', name);
	for (i = 0; i < options->nr_events; i++)
		if (!strcmp(options->events[i].event.name, event.name))
			return 0;
	if (options->nr_events == WIRE_MAX_EVENTS)
		return error_set(error, -E2BIG, "more than %d events", WIRE_MAX_EVENTS);
	options->events[options->nr_events++].event = event;
	return 0;
}

/* Events are separated by commas, or each has its own -e. */
static int take_event(void *context, const char *value, struct error *error)
{
	cleanup_free char *names = strdup(value);
	char *rest = names, *name;
	int err = 0;

	if (!names)
		return error_no_memory(error, "");
	while (!err && (name = event_split(&rest)))
		err = add_event(context, name, error);
	return err;
}

/* Splits A/B at the first slash that leaves an event on both sides: their own names may have slashes, too. */
static int take_ratio(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;
	struct event *below = &options->events[0].event;
	cleanup_free char *above = strdup(value);
	struct error first = {0};
	char *slash;

	if (!above)
		return error_no_memory(error, "");
	if (options->nr_events && !options->has_ratio)
		return error_set(error, -EINVAL, "%s", RATIO_CLOCK);
	for (slash = strchr(above, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct error why = {0};
		int err;

		*slash = '\0';
		err = event_parse(above, &options->numerator, &why);
		if (!err)
			err = event_parse(slash + 1, below, &why);
		if (!err && !strcmp(options->numerator.name, below->name))
			return error_set(error, -EINVAL, "--ratio %s is always 1", value);
		if (!err) {
			options->nr_events = 1;
			options->has_ratio = true;
			return 0;
		}
		if (!first.code)
			first = why;
		*slash = '/';
	}
	if (first.code) {
		*error = first;
		return first.code;
	}
	return option_bad(error, "--ratio", value, "two events: instructions/cycles");
}

static int take_filter(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	if (!options->nr_events)
		return probe_options_take_filter(&options->tracepoints, value, error);
	return error_set(error, -EINVAL, "--filter is for tracepoints, not for '%s'",
			 options->events[options->nr_events - 1].event.name);
}

static int take_states(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
#define X(id, name) [WIRE_##id] = (name),
		WIRE_STATES(X)
#undef X
	};
	struct profile_options *options = context;
	cleanup_free char *list = strdup(value);
	char *rest = list, *name;

	if (!list)
		return error_no_memory(error, "");
	options->waits.states = 0;
	while ((name = strsep(&rest, ","))) {
		int state = option_take_choice("--state", name, names, ARRAY_SIZE(names), error);

		if (state < 0)
			return state;
		options->waits.states |= 1U << state;
	}
	return 0;
}

static int take_budget(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	return budget_option_take("--budget", value, &options->tracepoints.budget, error);
}

static int take_word(void *context, const char *word, struct error *error)
{
	struct profile_options *options = context;

	return task_options_take_word(&options->tasks, "profile", word, error);
}

static const struct option_row rows[] = {
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	{'F', "frequency", "HZ", take_frequency, "samples per second on each CPU (default 99)"},
	{'c', "count", "PERIOD", take_period, "one sample per PERIOD events"},
	{'e', "event", "EVENT", take_event,
	 "events to sample: cycles, cpu-clock, page-faults, r1c2, cycles:u, sched:sched_switch, "
	 "cpu/event=0x3c,umask=1/pp, mem:0x4040a0/8:w, …"},
	{0, "ratio", "A/B", take_ratio,
	 "sample event B, and count A beside it: instructions/cycles, cache-misses/instructions, "
	 "page-faults/cpu-clock"},
	{0, "filter", "FILTER", take_filter,
	 "behind a tracepoint: only its hits of which this is true: 'prev_prio < 100'"},
	OPTION_SWITCH('I', "idle", struct profile_options, source.include_idle,
		      "include idle CPUs"),
	OPTION_SWITCH(0, "off-cpu", struct profile_options, off_cpu,
		      "time in which threads do not run, in nanoseconds, instead of samples"),
	OPTION_SWITCH(0, "wall", struct profile_options, wall,
		      "time in which threads run, by samples, and in which they do not"),
	OPTION_SWITCH(
		0, "locks", struct profile_options, locks,
		"time in which threads wait for locks of the kernel, by kind, and for futexes"),
	{0, "state", "STATE,…", take_states,
	 "with --off-cpu or --wall, only time runnable, sleeping, blocked, idle, stopped, running"},
	{0, "budget", "SHARE", take_budget,
	 "limit for the cost of --off-cpu, --wall or a tracepoint per CPU, such as 2%, or off"},
	OPTION_NUMBER(0, "min-us", "N", struct profile_options, min_us, 0, UINT64_MAX / 1000,
		      "microseconds",
		      "with --off-cpu, --wall or --locks, only waits of at least N microseconds"),
	OPTION_NUMBER(0, "max-us", "N", struct profile_options, max_us, 1, UINT64_MAX / 1000,
		      "microseconds, at least 1",
		      "with --off-cpu, --wall or --locks, only waits of at most N microseconds"),
	OPTION_SWITCH(0, "io-wait", struct profile_options, waits.only_io,
		      "with --off-cpu or --wall, only waits for I/O, as in the kernel's iowait"),
	OPTION_SWITCH(
		0, "wakers", struct profile_options, waits.has_wakers,
		"with --off-cpu or --wall, the stack of who ended each wait above the waiting one"),
};

#define USAGE                                                                                  \
	"usage: stook profile [OPTIONS] [SECS] [-- CMD ARG…]\n"                              \
	"\n"                                                                                   \
	"Samples stacks and prints where CPU time goes: a report, or with -f folded stacks.\n" \
	"With -- CMD, starts CMD, profiles it and its children, and ends with it.\n"

#define EXAMPLES                                                                        \
	"\nexamples:\n"                                                                 \
	"  stook profile 10                       the whole machine, for ten seconds\n" \
	"  stook profile -F 999 -p $(pgrep -d, redis-server) -f 30 > redis.folded\n"    \
	"  stook profile -o build.folded -- make -j8"

/* Hits of tracepoints are counted like in `stook stackcount`: by probes, on all CPUs. */
static int check_tracepoints(const struct profile_options *options, struct error *error)
{
	const struct stack_source *source = &options->source;
	const char *name = options->tracepoints.patterns[0] + strlen("t:");

	if (options->rate.frequency) {
		(void)error_set(error, -EINVAL, "-F with '%s': a tracepoint has no frequency",
				name);
		error_hint(error, "-c N records one hit in N");
		return -EINVAL;
	}
	if (options->rate.period > UINT32_MAX)
		return error_set(error, -EINVAL, "-c for a tracepoint is at most %u", UINT32_MAX);
	if (source->nr_cpus) {
		(void)error_set(error, -EINVAL, "-C with '%s': tracepoints cover all CPUs", name);
		error_hint(error, "--by cpu distinguishes CPUs");
		return -EINVAL;
	}
	return 0;
}

#define ALL_STATES ((1U << WIRE_NR_STATES) - 1)

/* Every switch of a thread, or wait for a lock, is followed, so there is no rate, and no CPU that is left out. */
static const char *refused_off_cpu(const struct profile_options *options)
{
	const struct stack_source *source = &options->source;

	if (options->has_ratio)
		return "--ratio";
	if (options->nr_events || options->tracepoints.nr_patterns)
		return "-e";
	if (source->nr_cpus)
		return "-C";
	if (source->include_idle)
		return "-I";
	if (options->wall)
		return NULL;
	if (options->rate.frequency)
		return "-F";
	return options->rate.period ? "-c" : NULL;
}

/* Options for waits of threads off their CPU, which waits for locks do not have. */
static const char *refused_locks(const struct profile_options *options)
{
	if (options->waits.states != ALL_STATES)
		return "--state";
	if (options->waits.only_io)
		return "--io-wait";
	if (options->waits.has_wakers)
		return "--wakers";
	return options->tracepoints.budget != BUDGET_UNSET ? "--budget" : NULL;
}

static int check_lengths(const struct profile_options *options, struct error *error)
{
	if (options->max_us && options->max_us < options->min_us)
		return error_set(error, -EINVAL, "--max-us is less than --min-us");
	return 0;
}

static int check_locks(const struct profile_options *options, struct error *error)
{
	const char *other = refused_off_cpu(options);

	if (options->off_cpu || options->wall) {
		(void)error_set(error, -EINVAL, "--locks with %s: one run shows one of them",
				options->wall ? "--wall" : "--off-cpu");
		error_hint(error, "start two runs, even at the same time");
		return -EINVAL;
	}
	if (other)
		return error_set(error, -EINVAL,
				 "%s with --locks: it follows every wait, on all CPUs", other);
	other = refused_locks(options);
	if (other)
		return error_set(error, -EINVAL, "%s is for --off-cpu and --wall, not for --locks",
				 other);
	return check_lengths(options, error);
}

static int check_off_cpu(const struct profile_options *options, struct error *error)
{
	const char *name = options->wall ? "--wall" : "--off-cpu";
	const char *other;

	if (options->locks)
		return check_locks(options, error);
	if (options->off_cpu && options->wall)
		return error_set(error, -EINVAL, "--off-cpu is a part of --wall: ask for one");
	if (options->waits.has_wakers && options->tracepoints.budget > 0)
		return error_set(
			error, -EINVAL,
			"--wakers needs every wait, --budget leaves some out: ask for one");
	if (!options->off_cpu && !options->wall) {
		if (options->tracepoints.budget != BUDGET_UNSET &&
		    !options->tracepoints.nr_patterns)
			return error_set(
				error, -EINVAL,
				"--budget needs --off-cpu, --wall or a tracepoint: -F limits "
				"the cost of samples");
		if (options->waits.states != ALL_STATES || options->waits.has_wakers ||
		    options->waits.only_io)
			return error_set(
				error, -EINVAL,
				"--state, --io-wait and --wakers need --off-cpu or --wall");
		if (options->min_us || options->max_us)
			return error_set(error, -EINVAL,
					 "--min-us and --max-us need --off-cpu, --wall or --locks");
		return 0;
	}
	other = refused_off_cpu(options);
	if (other)
		return error_set(error, -EINVAL, "%s with %s: it follows every switch, on all CPUs",
				 name, other);
	if (options->off_cpu && options->waits.states == 1U << WIRE_RUNNING)
		return error_set(error, -EINVAL, "--off-cpu has no time running: --wall has");
	return check_lengths(options, error);
}

static int check(const struct profile_options *options, struct error *error)
{
	int err = stack_options_check(&options->stacks, error);
	size_t i;

	if (!err)
		err = check_off_cpu(options, error);

	if (!err && options->tracepoints.nr_patterns)
		err = check_tracepoints(options, error);
	if (err)
		return err;
	if (options->stacks.labels & LABEL_PROBE && !options->tracepoints.nr_patterns) {
		(void)error_set(error, -EINVAL, "--by probe: samples of an event have no probe");
		error_hint(error, "-e with tracepoints, or 'stook stackcount' with any probes");
		return -EINVAL;
	}
	for (i = 0; i < options->nr_events && options->stacks.no_user; i++)
		if (options->events[i].event.attr.exclude_kernel)
			return error_set(error, -EINVAL,
					 "-K asks for kernel stacks, '%s' excludes them",
					 options->events[i].event.name);
	return 0;
}

#define DEFAULT_FREQUENCY 99

/*
 * An event may have a rate of its own, as a term. Accesses to an address are rare: by default each is sampled. The
 * kernel does not sample a clock more often, but accepts shorter periods silently.
 */
#define MIN_CLOCK_PERIOD_NS 10000

static void choose_rate(const struct profile_options *options, struct sampled_event *sampled)
{
	const struct perf_event_attr *attr = &sampled->event.attr;
	struct sampling_rate *rate = &sampled->rate;

	*rate = options->rate;
	if (attr->freq)
		*rate = (struct sampling_rate){.frequency = attr->sample_freq};
	else if (attr->sample_period)
		*rate = (struct sampling_rate){.period = attr->sample_period};
	else if (!rate->frequency && !rate->period && attr->type == PERF_TYPE_BREAKPOINT)
		rate->period = 1;
	else if (!rate->frequency && !rate->period)
		rate->frequency = DEFAULT_FREQUENCY;
	if (rate->frequency || !event_is_clock(&sampled->event) ||
	    rate->period >= MIN_CLOCK_PERIOD_NS)
		return;
	rate->period = MIN_CLOCK_PERIOD_NS;
	if (!options->tasks.quiet)
		complain("the kernel samples %s at most every %d ns: using that period",
			 sampled->event.name, MIN_CLOCK_PERIOD_NS);
}

static int profile_options_parse(int argc, char **argv, struct profile_options *ret,
				 struct error *error)
{
	const struct option_group groups[] = {
		task_options_group(&ret->tasks),
		{rows, ARRAY_SIZE(rows), ret},
		stack_options_group(&ret->stacks),
		output_options_group(&ret->stacks.output),
		naming_options_group(&ret->stacks.naming),
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

	*ret = (struct profile_options){.stacks.labels = LABEL_COMM,
					.stacks.kept_labels = LABEL_PID | LABEL_TID,
					.waits.states = ALL_STATES,
					.tracepoints = PROBE_OPTIONS_INIT};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	if (!err)
		err = check(ret, error);
	if (ret->locks)
		ret->waits.states = WIRE_LOCK_STATES;
	ret->waits.for_locks = ret->locks;
	ret->waits.min_ns = ret->min_us * NS_PER_US;
	ret->waits.max_ns = ret->max_us * NS_PER_US;
	if (ret->tracepoints.budget > 0)
		ret->waits.budget_share = ret->tracepoints.budget;
	ret->waits.is_whole =
		ret->waits.has_wakers && !ret->tasks.interval_ns && !ret->stacks.slice_ns;
	return err;
}

static void profile_options_clear(struct profile_options *options)
{
	size_t i;

	for (i = 0; i < options->tracepoints.nr_patterns; i++)
		free((char *)options->tracepoints.patterns[i]);
	task_options_clear(&options->tasks);
	stack_options_clear(&options->stacks);
	free(options->source.cpus);
	for (i = 0; i < options->nr_events; i++)
		free(options->events[i].cpus);
}

struct profile_run {
	struct profile_options options;
	struct stacks stacks;
};

/* If it is not permitted to sample, or there are too many files, cpu-clock cannot be sampled either. */
static void choose_event(struct profile_options *options, uint32_t cpu)
{
	struct event *event = &options->events[0].event;
	struct error why;
	int err;

	if (options->nr_events)
		return;
	options->nr_events = 1;
	(void)event_parse(options->wall ? "cpu-clock" : "cycles", event, NULL);
	if (options->wall)
		return;
	err = sampling_try(event, cpu, &why);
	if (!perf_is_missing(err) && err != -EBUSY)
		return;
	(void)event_parse("cpu-clock", event, NULL);
	if (options->tasks.quiet)
		return;
	if (err == -EBUSY || err == -EINVAL)
		complain("%s: sampling cpu-clock", why.text);
	else
		complain("no hardware counter here (a virtual machine?): sampling cpu-clock");
}

/*
 * Modifier P: the highest precise level that the kernel accepts. p, pp and ppp: this level, or the highest below. Imprecise
 * samples are an answer to P only.
 */
static void choose_precision(const struct profile_options *options, struct event *event,
			     uint32_t cpu)
{
	struct perf_event_attr *attr = &event->attr;
	const unsigned asked = event->is_most_precise ? 3 : attr->precise_ip;

	for (attr->precise_ip = asked; attr->precise_ip; attr->precise_ip--)
		if (!perf_is_missing(sampling_try(event, cpu, NULL)))
			break;
	if (!attr->precise_ip && !event->is_most_precise)
		attr->precise_ip = asked;
	if (options->tasks.quiet)
		return;
	if (event->is_most_precise)
		complain("%s: precise level %u", event->name, (unsigned)attr->precise_ip);
	else if (attr->precise_ip < asked)
		complain("%s: precise level %u, the highest here", event->name,
			 (unsigned)attr->precise_ip);
}

/* An event of one kind of cores is sampled on these. */
static int choose_cpus(struct sampled_event *sampled, const struct cpus *online,
		       struct error *error)
{
	const struct event *event = &sampled->event;
	size_t i, k, nr = 0;

	if (!event->cpus[0])
		return 0;
	if (option_take_cpus(event->cpus, &sampled->cpus, &sampled->nr_cpus, error) < 0)
		return error_set(error, -EINVAL, "'%s' has a bad list of CPUs: '%s'", event->pmu,
				 event->cpus);
	for (i = 0; i < sampled->nr_cpus; i++)
		for (k = 0; k < online->nr; k++)
			if (online->numbers[k] == sampled->cpus[i])
				sampled->cpus[nr++] = sampled->cpus[i];
	sampled->nr_cpus = nr;
	if (!nr)
		return error_set(error, -ENODEV, "none of the CPUs of '%s' is online: %s",
				 event->pmu, event->cpus);
	return 0;
}

/* Counts are nanoseconds. */
static void choose_off_cpu(const struct profile_options *options, struct stack_source *ret)
{
	*ret = (struct stack_source){
		.waits = &options->waits,
		.unit = options->waits.has_wakers ? "events" : "switches",
		.event_name = "off-cpu",
		.period_unit = "nanoseconds",
		.period = 1,
		.is_sum = true,
	};
	(void)snprintf(ret->what, sizeof(ret->what), "time off CPU");
}

static void choose_locks(const struct profile_options *options, struct stack_source *ret)
{
	choose_off_cpu(options, ret);
	ret->unit = "events";
	ret->event_name = "locks";
	(void)snprintf(ret->what, sizeof(ret->what), "waits for locks");
}

/* The same, beside samples of a clock. */
static void choose_wall(const struct profile_options *options, struct stack_source *ret)
{
	choose_off_cpu(options, ret);
	ret->events = options->events;
	ret->nr_events = options->nr_events;
	ret->unit = "events";
	ret->event_name = "wall";
	(void)snprintf(ret->what, sizeof(ret->what), "time off and on CPU, %.*s",
		       (int)sizeof(ret->what) - 32, options->source.what);
}

/* "cycles at 99 Hz, page-faults every 100" */
static void describe(const struct profile_options *options, struct stack_source *source)
{
	size_t nr = 0, i;

	for (i = 0; i < options->nr_events && nr < sizeof(source->what); i++) {
		const struct sampled_event *sampled = &options->events[i];
		const struct sampling_rate *rate = &sampled->rate;
		char *at = source->what + nr;
		const size_t room = sizeof(source->what) - nr;

		if (rate->frequency)
			nr += (size_t)snprintf(at, room, "%s%s at %" PRIu64 " Hz", i ? ", " : "",
					       sampled->event.name, rate->frequency);
		else
			nr += (size_t)snprintf(at, room, "%s%s every %" PRIu64 "%s", i ? ", " : "",
					       sampled->event.name, rate->period,
					       event_is_clock(&sampled->event) ? " ns" : "");
	}
	if (options->has_ratio && nr < sizeof(source->what))
		(void)snprintf(source->what + nr, sizeof(source->what) - nr, ", with %s",
			       options->numerator.name);
}

/* Chooses the CPUs, rates and precise levels of the events. */
static int choose_events(struct profile_options *options, const struct cpus *online,
			 struct error *error)
{
	struct stack_source *source = &options->source;
	size_t i;
	int err = 0;

	choose_event(options, online->numbers[0]);
	for (i = 0; i < options->nr_events && !err; i++) {
		struct sampled_event *sampled = &options->events[i];

		if (!source->nr_cpus)
			err = choose_cpus(sampled, online, error);
		if (err)
			break;
		choose_precision(options, &sampled->event,
				 sampled->cpus	   ? sampled->cpus[0]
				 : source->nr_cpus ? source->cpus[0]
						   : online->numbers[0]);
		choose_rate(options, sampled);
		/* The samples of a clock count as one each: all have the same period. In a ratio, they are time. */
		source->by_period |= !event_is_clock(&sampled->event) || options->has_ratio;
	}
	describe(options, source);
	return err;
}

static int choose(void *context, struct stack_source *ret, struct error *error)
{
	struct profile_run *run = context;
	struct profile_options *options = &run->options;
	struct stack_source *source = &options->source;
	const struct sampled_event *first = &options->events[0];
	int err = cpus_check(&run->stacks.online, source->cpus, source->nr_cpus, error);

	if (err)
		return err;
	if (options->off_cpu) {
		choose_off_cpu(options, ret);
		return 0;
	}
	if (options->locks) {
		choose_locks(options, ret);
		return 0;
	}
	err = choose_events(options, &run->stacks.online, error);
	if (err)
		return err;
	if (options->wall) {
		choose_wall(options, ret);
		return 0;
	}
	source->events = options->events;
	source->nr_events = options->nr_events;
	source->numerator = options->has_ratio ? &options->numerator : NULL;
	source->unit = "samples";
	source->is_sum = source->by_period;
	source->event_name = first->event.name;
	source->period_unit = event_value_unit(&first->event);
	/* The period of a clock is fixed; a counter's period varies with its frequency. */
	source->period = first->rate.period;
	if (first->rate.frequency)
		source->period =
			event_is_clock(&first->event) ? NS_PER_SEC / first->rate.frequency : 0;
	*ret = *source;
	return 0;
}

static const struct stack_command command = {.choose = choose};

int cmd_profile(int argc, char **argv)
{
	struct profile_run run = {0};
	struct error error = {0};
	int err = profile_options_parse(argc, argv, &run.options, &error);
	int status = 0;

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err && run.options.tracepoints.nr_patterns) {
		status =
			stackcount_run(&run.options.tasks, &run.options.stacks,
				       &run.options.tracepoints, (uint32_t)run.options.rate.period);
	} else if (!err) {
		stacks_init(&run.stacks, &run.options.stacks, &command, &run);
		status = run_collector(&run.options.tasks, NULL, &run.stacks.collector);
		stacks_clear(&run.stacks);
	}
	profile_options_clear(&run.options);
	return status;
}
