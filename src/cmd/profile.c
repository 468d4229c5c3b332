/*
 * stook profile: samples stacks and prints where time goes.
 *
 *	$ stook profile -F 999 -p $(pgrep -d, redis-server) -f 10 >redis.folded
 *	stook: cpu-clock at 999 Hz on 2 CPUs for 10.0 s
 *	samples  19,976 fired = 9,812 shown + 14 idle + 10,150 filtered + 0 lost
 *	…
 *
 * What there is beside the run that it shares with others (stack_run.h) is the event.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/complain.h"
#include "cmd/profile_options.h"
#include "cmd/run/exit_status.h"
#include "cmd/run/stack_run.h"

static int check_cpus(const struct profile_options *options, const struct stack_run *run,
		      struct error *error)
{
	size_t i, k;

	for (i = 0; i < options->nr_cpus; i++) {
		for (k = 0; k < run->nr_online_cpus; k++)
			if (run->online_cpus[k] == options->cpus[i])
				break;
		if (k == run->nr_online_cpus)
			return error_set(error, -ENODEV, "no such CPU, or not online: %u",
					 options->cpus[i]);
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
	if (options->rate.frequency || !event_is_clock(&options->event) ||
	    options->rate.period >= MIN_CLOCK_PERIOD_NS)
		return;
	options->rate.period = MIN_CLOCK_PERIOD_NS;
	if (!options->tasks.quiet)
		complain("the kernel samples %s every %d ns at most: taken instead",
			 options->event.name, MIN_CLOCK_PERIOD_NS);
}

/* What each sample stands for, of a clock; counters' periods vary with their frequency. */
static uint64_t period_of(const struct profile_options *options)
{
	if (!options->rate.frequency)
		return options->rate.period;
	return event_is_clock(&options->event) ? NS_PER_SEC / options->rate.frequency : 0;
}

/* "cpu-clock at 99 Hz" */
static void describe(const struct profile_options *options, struct stack_source *source)
{
	if (options->rate.frequency)
		(void)snprintf(source->what, sizeof(source->what), "%s at %" PRIu64 " Hz",
			       options->event.name, options->rate.frequency);
	else
		(void)snprintf(source->what, sizeof(source->what), "%s every %" PRIu64 "%s",
			       options->event.name, options->rate.period,
			       event_is_clock(&options->event) ? " ns" : "");
}

static int open_run(struct stack_run *run, struct profile_options *options, struct error *error)
{
	struct stack_source source = {
		.event = &options->event,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.include_idle = options->include_idle,
		.unit = "samples",
		.event_name = options->event.name,
	};

	choose_event(options, run->online_cpus[0]);
	check_period(options);
	describe(options, &source);
	source.rate = options->rate;
	source.period = period_of(options);
	source.period_unit = event_is_clock(&options->event) ? "nanoseconds" : "count";
	return stack_run_open(run, &source, error);
}

static int profile(struct profile_options *options, uint64_t exec_ns)
{
	struct stack_run run = STACK_RUN_INIT;
	struct error error = {0};
	int status, err;

	run.exec_ns = exec_ns;
	err = stack_run_prepare(&run, &options->stacks, &options->tasks, &error);
	if (!err)
		err = check_cpus(options, &run, &error);
	if (!err)
		err = open_run(&run, options, &error);
	if (err)
		complain_error(&error);
	else
		err = stack_run_go(&run);
	status = stack_run_status(&run, err);
	stack_run_clear(&run);
	return status;
}

int cmd_profile(int argc, char **argv)
{
	uint64_t exec_ns = clock_now_ns();
	struct profile_options options;
	struct error error = {0};
	int err = profile_options_parse(argc, argv, &options, &error);
	int status = 0;

	if (err < 0) {
		complain_error(&error);
		status = exit_status_of_usage(argv);
	}
	if (!err) {
		log_to(options.tasks.verbose ? stderr : NULL);
		status = profile(&options, exec_ns);
	}
	profile_options_clear(&options);
	return status;
}
