/*
 * stook profile: samples stacks and prints where time goes.
 *
 *	$ stook profile -F 999 -p $(pgrep -d, redis-server) -f 10 >redis.folded
 *	stook: cpu-clock at 999 Hz on 2 CPUs for 10.0 s
 *	samples  19,976 fired = 9,812 shown + 14 idle + 10,150 filtered + 0 lost
 *	…
 *
 * The run is shared with other commands (run/stacks.h); this file chooses the event.
 */
#include "cmd/commands.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
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

struct profile_options {
	struct run_config tasks;
	struct stack_options stacks;
	struct stack_source
		source; /* CPUs, rate, idle CPUs; what it says of the event comes later */
	struct event event;
	bool event_is_default; /* cycles, or cpu-clock where there is no such counter */
};

/* --- the command line ------------------------------------------------------------------------ */

#define MAX_CPUS 65536

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct stack_source *source = &((struct profile_options *)context)->source;

	free(source->cpus);
	source->cpus = NULL;
	if (number_parse_list(value, true, MAX_CPUS, MAX_CPUS, &source->cpus, &source->nr_cpus) < 0)
		return option_bad(error, "--cpu", value, "a list like 0,2-5");
	return 0;
}

static int take_frequency(void *context, const char *value, struct error *error)
{
	static const struct option_number frequency = {"--frequency", 1, 1000000,
						       "samples a second, 1 to 1000000"};
	struct profile_options *options = context;

	options->source.rate.period = 0;
	return option_take_number(&frequency, value, &options->source.rate.frequency, error);
}

static int take_period(void *context, const char *value, struct error *error)
{
	static const struct option_number period = {"--count", 1, INT64_MAX,
						    "events a sample, at least 1"};
	struct profile_options *options = context;

	options->source.rate.frequency = 0;
	return option_take_number(&period, value, &options->source.rate.period, error);
}

static int take_event(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	options->event_is_default = false;
	return event_parse(value, &options->event, error);
}

/* A word that is no option: a number of seconds, if it looks like one. */
static int take_word(void *context, const char *word, struct error *error)
{
	struct profile_options *options = context;

	if (isdigit((unsigned char)word[0]) || word[0] == '.')
		return task_options_take_duration(&options->tasks, word, error);
	(void)error_set(error, -EINVAL, "unexpected word '%s'", word);
	error_hint(error, "a command to profile goes behind '--': stook profile -- %s", word);
	return -EINVAL;
}

static const struct option_row rows[] = {
	{'C', "cpu", "LIST", take_cpus, "only these CPUs: 0,2-5"},
	{'F', "frequency", "HZ", take_frequency, "samples a second on each CPU (default 99)"},
	{'c', "count", "PERIOD", take_period, "a sample every so many events"},
	{'e', "event", "EVENT", take_event,
	 "what to sample on: cycles, cpu-clock, page-faults, r1c2, cycles:u, …"},
	OPTION_SWITCH('I', "idle", struct profile_options, source.include_idle, "idle CPUs too"),
};

#define USAGE                                                                                \
	"usage: stook profile [OPTIONS] [SECS] [-- CMD ARG…]\n"                            \
	"\n"                                                                                 \
	"Samples the stacks of what runs and prints where time goes: a report, or with -f\n" \
	"folded stacks. With -- CMD, starts it, profiles it and its children, and ends with it.\n"

#define EXAMPLES                                                                        \
	"\nexamples:\n"                                                                 \
	"  stook profile 10                       the whole machine, for ten seconds\n" \
	"  stook profile -F 999 -p $(pgrep -d, redis-server) -f 30 > redis.folded\n"    \
	"  stook profile -o build.folded -- make -j8"

static int check(const struct profile_options *options, struct error *error)
{
	int err = stack_options_check(&options->stacks, error);

	if (err)
		return err;
	if (options->event.exclude_kernel && options->stacks.no_user)
		return error_set(error, -EINVAL, "-K asks for kernel stacks, '%s' excludes them",
				 options->event.name);
	return 0;
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
					.event_is_default = true};
	ret->source.rate.frequency = 99;
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	return err ? err : check(ret, error);
}

static void profile_options_clear(struct profile_options *options)
{
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
	if (!options->event_is_default)
		return;
	(void)event_parse("cycles", &options->event, NULL);
	if (sampling_is_supported(&options->event, cpu))
		return;
	(void)event_parse("cpu-clock", &options->event, NULL);
	if (!options->tasks.quiet)
		complain("no hardware counter here (a virtual machine?): sampling cpu-clock");
}

/* The kernel fires a clock no more often; it would take this period and not tell. */
#define MIN_CLOCK_PERIOD_NS 10000

static void check_period(struct profile_options *options)
{
	if (options->source.rate.frequency || !event_is_clock(&options->event) ||
	    options->source.rate.period >= MIN_CLOCK_PERIOD_NS)
		return;
	options->source.rate.period = MIN_CLOCK_PERIOD_NS;
	if (!options->tasks.quiet)
		complain("the kernel samples %s every %d ns at most: taken instead",
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
	/* What each sample stands for, of a clock; counters' periods vary with their frequency. */
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
	} else if (!err) {
		stacks_init(&run.stacks, &run.options.stacks, &command, &run);
		status = run_collector(&run.options.tasks, NULL, &run.stacks.collector);
		stacks_clear(&run.stacks);
	}
	profile_options_clear(&run.options);
	return status;
}
