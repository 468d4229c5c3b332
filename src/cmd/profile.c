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

#include <ctype.h>
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
#include "cmd/options/stack_options.h"
#include "cmd/options/task_options.h"
#include "run/run.h"
#include "run/stacks.h"
#include "collect/sampler.h"
#include "event/event.h"
#include "probe/find/pattern.h"

struct profile_options {
	struct run_config tasks;
	struct stack_options stacks;
	struct stack_source
		source;	    /* CPUs, rate, idle CPUs; members about the event are set later */
	struct event event; /* name "": default, cycles, or cpu-clock without a hardware counter */
	struct probe_options tracepoints; /* instead of event; owns its patterns */
};

/* --- the command line ------------------------------------------------------------------------ */

#define MAX_CPUS 65536

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct stack_source *source = &((struct profile_options *)context)->source;

	free(source->cpus);
	source->cpus = NULL;
	if (number_parse_list(value, true, MAX_CPUS, MAX_CPUS, &source->cpus, &source->nr_cpus) < 0)
		return option_bad(error, "--cpu", value, "a list such as 0,2-5");
	return 0;
}

static int take_frequency(void *context, const char *value, struct error *error)
{
	static const struct option_number frequency = {"--frequency", 1, 1000000,
						       "samples per second, 1 to 1000000"};
	struct profile_options *options = context;

	options->source.rate.period = 0;
	return option_take_number(&frequency, value, &options->source.rate.frequency, error);
}

static int take_period(void *context, const char *value, struct error *error)
{
	static const struct option_number period = {"--count", 1, INT64_MAX,
						    "events per sample, at least 1"};
	struct profile_options *options = context;

	options->source.rate.frequency = 0;
	return option_take_number(&period, value, &options->source.rate.period, error);
}

static int refuse_several(const char *first, const char *second, struct error *error)
{
	(void)error_set(error, -EINVAL, "one run samples one event, not both '%s' and '%s'", first,
			second);
	error_hint(error,
		   "start two runs, even at the same time: -e %s -o 1.pb.gz and -e %s -o "
		   "2.pb.gz; only tracepoints can be combined",
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

static int add_event(struct profile_options *options, const char *name, struct error *error)
{
	const struct probe_options *tracepoints = &options->tracepoints;
	bool is_tracepoint = event_is_tracepoint(name);
	const char *before = NULL;

	if (options->event.name[0])
		before = options->event.name;
	else if (tracepoints->nr_patterns && !is_tracepoint)
		before = tracepoints->patterns[0] + strlen("t:");
	if (before && strcmp(before, name) != 0)
		return refuse_several(before, name, error);
	return is_tracepoint ? add_tracepoint(&options->tracepoints, name, error)
			     : event_parse(name, &options->event, error);
}

/* Events are separated by commas, or each has its own -e. */
static int take_event(void *context, const char *value, struct error *error)
{
	cleanup_free char *names = strdup(value);
	char *rest = names, *name;
	int err = 0;

	if (!names)
		return error_no_memory(error, "");
	while (!err && (name = strsep(&rest, ",")))
		err = add_event(context, name, error);
	return err;
}

/* Takes an operand: the duration, if it looks like a number. */
static int take_word(void *context, const char *word, struct error *error)
{
	struct profile_options *options = context;

	if (isdigit((unsigned char)word[0]) || word[0] == '.')
		return task_options_take_duration(&options->tasks, word, error);
	(void)error_set(error, -EINVAL, "unexpected argument '%s'", word);
	error_hint(error, "put a command to profile after '--': stook profile -- %s", word);
	return -EINVAL;
}

static const struct option_row rows[] = {
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	{'F', "frequency", "HZ", take_frequency, "samples per second on each CPU (default 99)"},
	{'c', "count", "PERIOD", take_period, "one sample per PERIOD events"},
	{'e', "event", "EVENT", take_event,
	 "event to sample: cycles, cpu-clock, page-faults, r1c2, cycles:u, sched:sched_switch, "
	 "mem:0x4040a0/8:w, …"},
	OPTION_SWITCH('I', "idle", struct profile_options, source.include_idle,
		      "include idle CPUs"),
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

	if (source->rate.frequency) {
		(void)error_set(error, -EINVAL, "-F with '%s': a tracepoint has no frequency",
				name);
		error_hint(error, "-c N records one hit in N");
		return -EINVAL;
	}
	if (source->rate.period > UINT32_MAX)
		return error_set(error, -EINVAL, "-c for a tracepoint is at most %u", UINT32_MAX);
	if (source->nr_cpus) {
		(void)error_set(error, -EINVAL, "-C with '%s': tracepoints cover all CPUs", name);
		error_hint(error, "--by cpu distinguishes CPUs");
		return -EINVAL;
	}
	return 0;
}

static int check(const struct profile_options *options, struct error *error)
{
	int err = stack_options_check(&options->stacks, error);

	if (!err && options->tracepoints.nr_patterns)
		err = check_tracepoints(options, error);
	if (err)
		return err;
	if (options->stacks.labels & LABEL_PROBE && !options->tracepoints.nr_patterns) {
		(void)error_set(error, -EINVAL, "--by probe: samples of an event have no probe");
		error_hint(error, "-e with tracepoints, or 'stook stackcount' with any probes");
		return -EINVAL;
	}
	if (options->event.exclude_kernel && options->stacks.no_user)
		return error_set(error, -EINVAL, "-K asks for kernel stacks, '%s' excludes them",
				 options->event.name);
	return 0;
}

#define DEFAULT_FREQUENCY 99

/* Accesses to an address are rare: by default each is sampled. */
static void choose_rate(const struct event *event, struct sampling_rate *rate)
{
	if (rate->frequency || rate->period)
		return;
	if (event->type == PERF_TYPE_BREAKPOINT)
		rate->period = 1;
	else
		rate->frequency = DEFAULT_FREQUENCY;
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
					.tracepoints = PROBE_OPTIONS_INIT};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	if (!err)
		err = check(ret, error);
	choose_rate(&ret->event, &ret->source.rate);
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
}

struct profile_run {
	struct profile_options options;
	struct stacks stacks;
};

static int check_cpus(const struct stack_source *source, const struct stacks *stacks,
		      struct error *error)
{
	size_t i, k;

	for (i = 0; i < source->nr_cpus; i++) {
		for (k = 0; k < stacks->nr_online_cpus; k++)
			if (stacks->online_cpus[k] == source->cpus[i])
				break;
		if (k == stacks->nr_online_cpus)
			return error_set(error, -ENODEV, "no such CPU, or not online: %u",
					 source->cpus[i]);
	}
	return 0;
}

static void choose_event(struct profile_options *options, uint32_t cpu)
{
	if (options->event.name[0])
		return;
	(void)event_parse("cycles", &options->event, NULL);
	if (sampling_is_supported(&options->event, cpu))
		return;
	(void)event_parse("cpu-clock", &options->event, NULL);
	if (!options->tasks.quiet)
		complain("no hardware counter here (a virtual machine?): sampling cpu-clock");
}

/* The kernel does not sample a clock more often, but accepts shorter periods silently. */
#define MIN_CLOCK_PERIOD_NS 10000

static void check_period(struct profile_options *options)
{
	if (options->source.rate.frequency || !event_is_clock(&options->event) ||
	    options->source.rate.period >= MIN_CLOCK_PERIOD_NS)
		return;
	options->source.rate.period = MIN_CLOCK_PERIOD_NS;
	if (!options->tasks.quiet)
		complain("the kernel samples %s at most every %d ns: using that period",
			 options->event.name, MIN_CLOCK_PERIOD_NS);
}

static int choose(void *context, struct stack_source *ret, struct error *error)
{
	struct profile_run *run = context;
	struct profile_options *options = &run->options;
	struct stack_source *source = &options->source;
	const struct event *event = &options->event;
	int err = check_cpus(source, &run->stacks, error);
	bool is_clock;

	if (err)
		return err;
	choose_event(options, run->stacks.online_cpus[0]);
	check_period(options);
	is_clock = event_is_clock(event);
	if (source->rate.frequency)
		(void)snprintf(source->what, sizeof(source->what), "%s at %" PRIu64 " Hz",
			       event->name, source->rate.frequency);
	else
		(void)snprintf(source->what, sizeof(source->what), "%s every %" PRIu64 "%s",
			       event->name, source->rate.period, is_clock ? " ns" : "");
	/* The period of a clock is fixed; a counter's period varies with its frequency. */
	source->period = source->rate.period;
	if (source->rate.frequency)
		source->period = is_clock ? NS_PER_SEC / source->rate.frequency : 0;
	source->event = event;
	source->unit = "samples";
	source->event_name = event->name;
	source->period_unit = is_clock ? "nanoseconds" : "count";
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
		status = stackcount_run(&run.options.tasks, &run.options.stacks,
					&run.options.tracepoints,
					(uint32_t)run.options.source.rate.period);
	} else if (!err) {
		stacks_init(&run.stacks, &run.options.stacks, &command, &run);
		status = run_collector(&run.options.tasks, NULL, &run.stacks.collector);
		stacks_clear(&run.stacks);
	}
	profile_options_clear(&run.options);
	return status;
}
