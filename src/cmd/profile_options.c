/*
 * Parsing of `stook profile`'s options: one table row per option, with the function that takes its
 * value. Letters and long names are those that perf's and bcc's users have in their fingers.
 */
#include "cmd/profile_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/wire.h"

#define MAX_CPUS 65536

static int take_cpus(void *context, const char *value, struct error *error)
{
	struct profile_options *options = context;

	free(options->cpus);
	options->cpus = NULL;
	if (number_parse_list(value, true, MAX_CPUS, MAX_CPUS, &options->cpus, &options->nr_cpus) <
	    0)
		return option_bad(error, "--cpu", value, "a list like 0,2-5");
	return 0;
}

static int take_frequency(void *context, const char *value, struct error *error)
{
	static const struct option_number frequency = {"--frequency", 1, 1000000,
						       "samples a second, 1 to 1000000"};
	struct profile_options *options = context;

	options->rate.period = 0;
	return option_take_number(&frequency, value, &options->rate.frequency, error);
}

static int take_period(void *context, const char *value, struct error *error)
{
	static const struct option_number period = {"--count", 1, INT64_MAX,
						    "events a sample, at least 1"};
	struct profile_options *options = context;

	options->rate.frequency = 0;
	return option_take_number(&period, value, &options->rate.period, error);
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
	OPTION_SWITCH('I', "idle", struct profile_options, include_idle, "idle CPUs too"),
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

int profile_options_parse(int argc, char **argv, struct profile_options *ret, struct error *error)
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

	*ret = (struct profile_options){.stacks.labels = LABEL_COMM, .event_is_default = true};
	ret->rate.frequency = 99;
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	return err ? err : check(ret, error);
}

void profile_options_clear(struct profile_options *options)
{
	task_options_clear(&options->tasks);
	stack_options_clear(&options->stacks);
	free(options->cpus);
}
