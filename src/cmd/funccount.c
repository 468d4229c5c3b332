/*
 * stook funccount: counts the calls of all functions that match.
 *
 *	$ stook funccount 'redis-server:(call*|*Read*|*Write*)' -p $(pgrep redis-server) -d 10
 *	Tracing 64 functions for "redis-server:(call*|*Read*|*Write*)"... Hit Ctrl-C to end.
 *
 *	FUNC                                    COUNT
 *	call                                      334
 *	postponeClientRead                        514
 *
 *	Detaching...
 *
 * With --by each row is a function and a key; these are counted by the programs of `stook tally`.
 *
 * On a terminal that is what bcc's funccount prints. The table alone goes to stdout, the rest is
 * talk. It is shown before the probes are let go, which may take its time.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "cmd/call_counts.h"
#include "cmd/complain.h"
#include "cmd/funccount_test.h"
#include "cmd/outputs.h"
#include "cmd/run/probe_run.h"
#include "cmd/run/run.h"
#include "cmd/tally_collection.h"
#include "collect/counter.h"
#include "format/text/call_rows.h"
#include "format/text/call_table.h"

/* --- the command line ------------------------------------------------------------------------ */

#define ROWS_MAX (1U << 20)

static int take_sort(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[CALL_BY_COUNT] = "count", [CALL_BY_NAME] = "name", [CALL_BY_RATE] = "rate"};
	struct funccount_options *options = context;
	int order = option_take_choice("--sort", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->order = (enum call_order)order;
	return 0;
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct funccount_options *options = context;

	options->by = value;
	return call_keys_check(value, error);
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by, "a row for each function and pid, tid, comm, cpu, cgroup"},
	OPTION_NUMBER(0, "max-rows", "N", struct funccount_options, max_rows, 1, ROWS_MAX,
		      "a number from 1 to 1048576", "how many rows of --by there may be (32768)"),
	OPTION_NUMBER(0, "top", "N", struct funccount_options, top, 1, INT_MAX,
		      "a number of functions, at least 1",
		      "only the N functions with the most calls"),
	{0, "sort", "KEY", take_sort, "by count (default), name or rate, largest last"},
	OPTION_SWITCH(0, "rate", struct funccount_options, rate, "a column of calls a second"),
	OPTION_SWITCH('T', "timestamp", struct funccount_options, timestamp,
		      "the time of day above each table"),
};

#define USAGE                                                                              \
	"usage: stook funccount [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"             \
	"\n"                                                                               \
	"Counts the calls of all functions that match, and prints a table. Patterns:\n"    \
	"  tcp_send*                   kernel functions\n"                                 \
	"  redis-server:(call*|*Read*) functions of a program on PATH, a path, or a PID\n" \
	"  c:malloc                    those of a library\n"                               \
	"  r:c:malloc                  returns instead of calls\n"                         \
	"  t:sched:sched_*             tracepoints\n"                                      \
	"  u:LIB:PROVIDER:PROBE        static probes (USDT)\n"                             \
	"  !c:mem*                     leaves out\n"

#define EXAMPLES                                                                               \
	"\nexamples:\n"                                                                        \
	"  stook funccount 'vfs_*'                      until Ctrl-C\n"                        \
	"  stook funccount -Ti 5 'tcp_*'                a table every five seconds\n"          \
	"  stook funccount 'redis-server:(call*|*Read*)' -p $(pgrep -d, redis-server) -d 60\n" \
	"  stook funccount --by pid,comm c:malloc 10    who calls it\n"                        \
	"  stook funccount --top 20 'c:*alloc*' -- ls -l /usr/bin"

int funccount_options_parse(int argc, char **argv, struct funccount_options *ret,
			    struct error *error)
{
	const struct option_group groups[] = {
		probe_options_group(&ret->probes),
		task_options_group(&ret->tasks),
		{rows, ARRAY_SIZE(rows), ret},
		row_output_options_group(&ret->output),
	};
	struct probe_words words = {&ret->probes, &ret->tasks};
	const struct option_table table = {
		.groups = groups,
		.nr_groups = ARRAY_SIZE(groups),
		.take_word = probe_options_take_word,
		.context = &words,
		.usage = USAGE,
		.examples = EXAMPLES,
	};
	int err;

	*ret = (struct funccount_options){.probes = PROBE_OPTIONS_INIT,
					  .max_rows = FUNCCOUNT_ROWS_DEFAULT};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	if (!err)
		err = probe_options_check(&ret->probes, "which functions?", "'vfs_*' or c:malloc",
					  error);
	return err ? err : row_output_options_check(&ret->output, ret->probes.list, error);
}

struct funccount {
	struct funccount_options options;
	struct probe_run run;
	struct counter *counter; /* either this … */
	struct call_keys keys;	 /* … or, with --by, that */
	struct call_counts counts;
	struct row_outputs outputs;
};

/* --- results --------------------------------------------------------------------------------- */

struct shown {
	const struct funccount_options *options;
	struct call_interval interval;
};

static void write_rows(const void *context, enum row_format format, bool is_first, FILE *out)
{
	const struct shown *shown = context;
	const struct call_table_options table = {
		.rate = shown->options->rate,
		.timestamp = shown->options->timestamp,
	};

	if (format == ROWS_CSV && is_first)
		call_rows_write_csv_head(&shown->interval, out);
	if (format == ROWS_JSON)
		call_rows_write_json(&shown->interval, out);
	else if (format == ROWS_CSV)
		call_rows_write_csv(&shown->interval, out);
	else
		call_table_write(&shown->interval, &table, out);
}

static const struct hits *hits_of(const struct funccount *funccount)
{
	return funccount->options.by ? tallier_hits(funccount->keys.tallier)
				     : counter_hits(funccount->counter);
}

/* Shows the calls since the last time. */
static int show(void *context, struct error *error)
{
	struct funccount *funccount = context;
	const struct funccount_options *options = &funccount->options;
	struct shown shown = {
		.options = options,
		.interval = call_counts_read(&funccount->counts, hits_of(funccount),
					     funccount->run.probing, clock_now_ns()),
	};
	struct call_interval *interval = &shown.interval;
	int err = 0;

	if (options->by)
		err = call_keys_read(&funccount->keys, &funccount->counts, interval, error);
	if (err)
		return err;
	interval->missed = probing_missed(funccount->run.probing);
	interval->nr = call_rows_choose(interval->rows, interval->nr, options->order, options->top);
	return row_outputs_write(&funccount->outputs, write_rows, &shown, error);
}

/* --- the run --------------------------------------------------------------------------------- */

static int prepare(struct funccount *funccount, struct error *error)
{
	const struct funccount_options *options = &funccount->options;
	struct probe_run *run = &funccount->run;
	struct probe_search *search = &run->search;
	const struct probe_programs *programs;
	int err = probe_run_prepare(run, &options->probes, &options->tasks, error);

	if (!err)
		err = probe_run_decide(run, true, error);
	if (!err)
		err = row_outputs_open(&funccount->outputs, &options->output, error);
	if (err)
		return err;
	if (options->by) {
		err = call_keys_init(&funccount->keys, options->by, options->max_rows,
				     &search->list, &search->features, &run->run.tasks, error);
		if (err)
			return err;
		programs = tallier_programs(funccount->keys.tallier);
	} else {
		funccount->counter = counter_load(&search->list, &search->features, &run->run.tasks,
						  run->budget_share > 0, error);
		if (!funccount->counter)
			return error->code;
		programs = counter_programs(funccount->counter);
	}
	err = call_counts_init(&funccount->counts, &search->list, clock_now_ns(), error);
	return err ? err : probe_run_attach(run, programs, hits_of(funccount), error);
}

static int run(struct funccount *funccount)
{
	const struct funccount_options *options = &funccount->options;
	struct probe_run *run = &funccount->run;
	bool talks = !options->tasks.quiet;
	struct error error = {0};
	int err = prepare(funccount, &error);
	size_t i;

	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	if (err)
		return err;
	/* In bcc's words. */
	if (talks) {
		fprintf(stderr, "Tracing %zu functions for \"",
			run->search.list.nr_probes - probing_nr(run->probing, PROBE_REFUSED));
		for (i = 0; i < options->probes.nr_patterns; i++)
			fprintf(stderr, "%s%s", i ? " " : "", options->probes.patterns[i]);
		fputs("\"... Hit Ctrl-C to end.\n", stderr);
	}
	err = probe_run_go(run, show, funccount, &funccount->outputs);
	talks &= !run->run.child_failed;
	if (talks)
		fputs("\nDetaching...\n", stderr);
	probe_run_detach(run);
	if (talks)
		tally_totals_tell_lost(&funccount->keys.total);
	probe_run_tell(run);
	return err;
}

int cmd_funccount(int argc, char **argv)
{
	struct funccount funccount = {0};
	struct error error = {0};
	int status = 0;
	int err = funccount_options_parse(argc, argv, &funccount.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err) {
		log_to(funccount.options.tasks.verbose ? stderr : NULL);
		err = run(&funccount);
		status = run_status(&funccount.run.run, err < 0 && err != -EPIPE ? err : 0);
		call_counts_clear(&funccount.counts);
		probe_run_free_probes(&funccount.run);
		counter_free(funccount.counter);
		call_keys_clear(&funccount.keys);
		probe_run_clear(&funccount.run);
		row_outputs_clear(&funccount.outputs);
	}
	task_options_clear(&funccount.options.tasks);
	return status;
}
