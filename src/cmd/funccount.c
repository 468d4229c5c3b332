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
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/call_counts.h"
#include "cmd/call_keys.h"
#include "cmd/complain.h"
#include "cmd/funccount_options.h"
#include "cmd/row_outputs.h"
#include "cmd/run/exit_status.h"
#include "cmd/run/probe_run.h"
#include "cmd/tally_totals.h"
#include "collect/counter.h"
#include "format/text/call_rows.h"
#include "format/text/call_table.h"

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

/* What came since the last time. */
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

/* In bcc's words. */
static void say_tracing(const struct funccount *funccount)
{
	const struct probe_options *probes = &funccount->options.probes;
	size_t i;

	if (funccount->options.tasks.quiet)
		return;
	fprintf(stderr, "Tracing %zu functions for \"",
		funccount->run.search.list.nr_probes -
			probing_nr(funccount->run.probing, PROBE_REFUSED));
	for (i = 0; i < probes->nr_patterns; i++)
		fprintf(stderr, "%s%s", i ? " " : "", probes->patterns[i]);
	fputs("\"... Hit Ctrl-C to end.\n", stderr);
}

static int load(struct funccount *funccount, struct error *error)
{
	const struct funccount_options *options = &funccount->options;
	struct probe_search *search = &funccount->run.search;
	const struct wanted_tasks *tasks = &funccount->run.run.tasks;

	if (options->by)
		return call_keys_init(&funccount->keys, options->by, options->max_rows,
				      &search->list, &search->features, tasks, error);
	funccount->counter = counter_load(&search->list, &search->features, tasks,
					  funccount->run.budget_share > 0, error);
	return funccount->counter ? 0 : error->code;
}

static const struct probe_programs *programs_of(const struct funccount *funccount)
{
	return funccount->options.by ? tallier_programs(funccount->keys.tallier)
				     : counter_programs(funccount->counter);
}

static int prepare(struct funccount *funccount, struct error *error)
{
	const struct funccount_options *options = &funccount->options;
	struct probe_run *run = &funccount->run;
	int err = probe_run_prepare(run, &options->probes, &options->tasks, error);

	if (!err)
		err = probe_run_decide(run, true, error);
	if (!err)
		err = row_outputs_open(&funccount->outputs, &options->output, error);
	if (!err)
		err = load(funccount, error);
	if (err)
		return err;
	err = call_counts_init(&funccount->counts, &run->search.list, clock_now_ns(), error);
	return err ? err : probe_run_attach(run, programs_of(funccount), hits_of(funccount), error);
}

static int count(struct funccount *funccount)
{
	struct probe_run *run = &funccount->run;
	bool talks;
	int err;

	say_tracing(funccount);
	err = probe_run_go(run, show, funccount, &funccount->outputs);
	talks = !funccount->options.tasks.quiet && !run->run.child_failed;
	if (talks)
		fputs("\nDetaching...\n", stderr);
	probe_run_detach(run);
	if (talks)
		tally_totals_tell_lost(&funccount->keys.total);
	probe_run_tell(run);
	return err;
}

static int run_all(struct funccount *funccount)
{
	struct error error = {0};
	int err = prepare(funccount, &error);

	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	return err ? err : count(funccount);
}

int cmd_funccount(int argc, char **argv)
{
	struct funccount funccount = {0};
	struct error error = {0};
	int status = 0;
	int err = funccount_options_parse(argc, argv, &funccount.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = exit_status_of_usage(argv);
	} else if (!err) {
		log_to(funccount.options.tasks.verbose ? stderr : NULL);
		err = run_all(&funccount);
		status = run_status(&funccount.run.run, err < 0 && err != -EPIPE ? err : 0);
		call_counts_clear(&funccount.counts);
		probe_run_free_probes(&funccount.run);
		counter_free(funccount.counter);
		call_keys_clear(&funccount.keys);
		probe_run_clear(&funccount.run);
		row_outputs_clear(&funccount.outputs);
	}
	funccount_options_clear(&funccount.options);
	return status;
}
