/*
 * stook tally: counts hits by key, with sums and histograms of a value.
 *
 *	$ stook tally c:malloc --value arg1 --by comm -p $(pgrep redis-server) 10
 *	Tallying hits of 1 probe... Hit Ctrl-C to end.
 *
 *	COMM            COUNT       SUM       MIN       AVG       MAX
 *	redis-server    20514   1048102         8      51.1     16384
 *	stook: tallied 20,514 hits
 *
 * The table goes to stdout, everything else to stderr. An interval is an epoch of the kernel side:
 * it begins without rows.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cmd/options/probe_options.h"
#include "cmd/options/task_options.h"
#include "cmd/outputs.h"
#include "cmd/probe_operands.h"
#include "cmd/tally_collection.h"
#include "collect/tallier.h"
#include "probe/expression/tally_query.h"
#include "run/complain.h"
#include "run/probes.h"
#include "run/run.h"
#include "view/hits.h"

#define TALLY_ROWS_DEFAULT  8192
#define TALLY_CALLS_DEFAULT 32768

struct tally_options {
	struct probe_options probes;
	struct run_config tasks;
	struct tally_query_options query; /* without members that depend on the probes */
	enum tally_order order;
	size_t top; /* 0: all rows */
	size_t max_rows, max_calls;
	bool timestamp;
	struct row_output_options output;
};

/* --- the command line ------------------------------------------------------------------------ */

#define ROWS_MAX (1U << 20)

static int take_sort(void *context, const char *value, struct error *error)
{
	static const char *const names[] = {
		[TALLY_BY_COUNT] = "count", [TALLY_BY_KEY] = "key", [TALLY_BY_SUM] = "sum",
		[TALLY_BY_MIN] = "min",	    [TALLY_BY_AVG] = "avg", [TALLY_BY_MAX] = "max",
	};
	struct tally_options *options = context;
	int order = option_take_choice("--sort", value, names, ARRAY_SIZE(names), error);

	if (order < 0)
		return order;
	options->order = (enum tally_order)order;
	return 0;
}

static int take_limit(const char *option, const char *value, size_t *ret, struct error *error)
{
	const struct option_number limit = {option, 1, ROWS_MAX, "a number from 1 to 1048576"};

	return option_take_number(&limit, value, ret, error);
}

static int take_max_rows(void *context, const char *value, struct error *error)
{
	struct tally_options *options = context;

	return take_limit("--max-rows", value, &options->max_rows, error);
}

static int take_max_calls(void *context, const char *value, struct error *error)
{
	struct tally_options *options = context;

	return take_limit("--max-calls", value, &options->max_calls, error);
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "by", "KEY,…", struct tally_options, query.by,
		    "key: func (default), comm, pid, tid, cpu, …, or any expression"),
	OPTION_TEXT(0, "value", "EXPR", struct tally_options, query.value,
		    "value to sum up: arg2, retval, latency, args.bytes, …"),
	OPTION_TEXT(0, "where", "EXPR", struct tally_options, query.where,
		    "only hits for which this is true: 'arg2 > 4K'"),
	OPTION_SWITCH(0, "hist", struct tally_options, query.log2,
		      "print a histogram of the value for each key, by powers of two"),
	OPTION_TEXT(0, "linear", "MIN,MAX,STEP", struct tally_options, query.linear,
		    "print a histogram with steps of equal size"),
	OPTION_NUMBER(0, "top", "N", struct tally_options, top, 1, INT_MAX,
		      "a number of rows, at least 1", "print only the N largest rows"),
	{0, "sort", "WHAT", take_sort,
	 "sort by count (default), key, sum, min, avg or max, largest last"},
	{0, "max-rows", "N", take_max_rows, "limit for different keys (default 8192)"},
	{0, "max-calls", "N", take_max_calls, "limit for calls in progress (default 32768)"},
	OPTION_SWITCH('T', "timestamp", struct tally_options, timestamp,
		      "print the time of day above each table"),
};

#define USAGE                                                                               \
	"usage: stook tally [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"                  \
	"\n"                                                                                \
	"Counts hits of functions, tracepoints and static probes by key, and sums up a\n"   \
	"value. Patterns are the same as for 'stook funccount'. Keys and values:\n"         \
	"  arg1 … arg6, retval         of functions; arg1 … arg12 of static probes\n"   \
	"  args.FIELD                  of tracepoints\n"                                    \
	"  latency                     nanoseconds from call to return\n"                   \
	"  str(arg1)                   the string at an address\n"                          \
	"  func comm pid tid uid cpu cgroup\n"                                              \
	"and expressions of C: (int)arg1, arg2 >> 12, arg3 & 0xff; hex(…) prints a key\n" \
	"in hexadecimal.\n"

#define EXAMPLES                                                                           \
	"\nexamples:\n"                                                                    \
	"  stook tally c:malloc --value arg1 --by comm --hist 10\n"                        \
	"  stook tally vfs_read --value latency --by comm --top 10 -i 1\n"                 \
	"  stook tally t:block:block_rq_issue --by args.dev --value args.bytes\n"          \
	"  stook tally c:open --by 'str(arg1)' --where '(int)retval < 0' -- ls /nowhere\n" \
	"  stook tally c:write --value arg3 --where 'arg1 == 1 && arg3 > 4K' -p 4711"

static int check(const struct tally_options *options, struct error *error)
{
	struct tally_query query;
	int err = probe_options_check(&options->probes, "which functions?", "vfs_read or c:malloc",
				      error);

	/* The query is compiled again for the probes that are found. */
	if (!err)
		err = tally_query_compile(&options->query, &query, error);
	if (!err && !options->query.value && options->order > TALLY_BY_KEY)
		err = error_set(error, -EINVAL, "--sort by a value needs --value");
	return err ? err : row_output_options_check(&options->output, options->probes.list, error);
}

static int tally_options_parse(int argc, char **argv, struct tally_options *ret,
			       struct error *error)
{
	const struct option_group groups[] = {
		{rows, ARRAY_SIZE(rows), ret},
		row_output_options_group(&ret->output),
		probe_options_group(&ret->probes),
		task_options_group(&ret->tasks),
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

	*ret = (struct tally_options){
		.probes = PROBE_OPTIONS_INIT,
		.max_rows = TALLY_ROWS_DEFAULT,
		.max_calls = TALLY_CALLS_DEFAULT,
	};
	err = option_table_parse(&table, argc, argv, error);
	if (!err)
		err = task_options_finish(&ret->tasks, argc, argv, error);
	ret->probes.list_format = row_output_format(&ret->output);
	return err ? err : check(ret, error);
}

/* Measured cost of reading operands, evaluating them and adding to a row. */
#define ROW_NS 300

struct tally {
	struct tally_options options;
	struct probes probes;
	struct tally_places places;
	struct tallier *tallier;
	struct tally_collection collection;
	struct tally_counters total; /* sum of all intervals */
	struct row_outputs outputs;
	uint64_t shown_ns; /* end of the last interval */
};

/* --- results --------------------------------------------------------------------------------- */

/* Prints the hits since the last time. */
static int show(void *context, struct error *error)
{
	struct tally *tally = context;
	uint64_t now_ns = clock_now_ns();
	struct tally_interval interval;
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err = tally_collection_read(&tally->collection, tally->tallier, &tally->total,
					&interval, error);

	if (err)
		return err;
	interval.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC;
	interval.seconds = (double)(now_ns - tally->shown_ns) / (double)NS_PER_SEC;
	tally->shown_ns = now_ns;
	tally_interval_choose(&interval, tally->options.order, tally->options.top);
	tally_sheet_fill(&sheet, &interval, tally->options.timestamp);
	return row_outputs_write(&tally->outputs, &sheet, error);
}

static int show_interval(void *context, bool is_last, struct error *error)
{
	struct tally *tally = context;
	struct row_outputs *outputs = &tally->outputs;
	int err = outputs->has_failed ? 0 : show(tally, error);

	return is_last ? row_outputs_commit(outputs, err, error) : err;
}

/* --- the summary ------------------------------------------------------------------------------ */

static void tell(void *context)
{
	const struct tally *tally = context;
	const struct tally_counters *total = &tally->total;
	uint64_t open = total->calls - total->returns - total->abandoned;
	char numbers[3][NUMBER_COMMAS_BYTES];

	if (tally->options.query.where)
		complain("tallied %s hits, excluded %s by --where",
			 number_commas(numbers[0], total->tallied),
			 number_commas(numbers[1], total->excluded));
	else
		complain("tallied %s hits", number_commas(numbers[0], total->tallied));
	if (total->calls)
		complain("%s calls: %s had not returned, %s will never return (longjmp, "
			 "missed returns)",
			 number_commas(numbers[0], total->calls), number_commas(numbers[1], open),
			 number_commas(numbers[2], total->abandoned));
	tally_totals_report_lost(total);
}

/* --- the run --------------------------------------------------------------------------------- */

static int prepare(void *context, struct error *error)
{
	struct tally *tally = context;
	const struct tally_options *options = &tally->options;
	struct probe_search *search = &tally->probes.search;
	int err = tally_places_find(&tally->places, &options->query, options->probes.force_returns,
				    &search->list, &search->features, error);

	tally->probes.may_cut = !tally->places.pairs.are_paired;
	return err ? err : row_outputs_open(&tally->outputs, &options->output, error);
}

static int load(void *context, const struct probe_programs **ret_programs,
		const struct hits **ret_hits, struct error *error)
{
	struct tally *tally = context;
	const struct tally_options *options = &tally->options;
	const struct probe_search *search = &tally->probes.search;
	const struct tallier_config config = {
		.list = &search->list,
		.features = &search->features,
		.tasks = &tally->probes.collector.run->tasks,
		.plan = &tally->places.query.program.plan,
		.probes = tally->places.probes,
		.fetches = tally->places.fetches,
		.max_rows = options->max_rows,
		.max_calls = options->max_calls,
	};

	tally->tallier = tallier_load(&config, error);
	if (!tally->tallier)
		return error->code;
	tally_collection_init(&tally->collection, &tally->places.query, &search->list);
	*ret_programs = tallier_programs(tally->tallier);
	*ret_hits = tallier_hits(tally->tallier);
	return 0;
}

static void begin(void *context)
{
	struct tally *tally = context;
	size_t nr = probes_nr(&tally->probes);

	tally->shown_ns = clock_now_ns();
	if (!tally->options.tasks.quiet)
		fprintf(stderr, "Tallying hits of %zu probe%s... Hit Ctrl-C to end.\n", nr,
			nr == 1 ? "" : "s");
}

static const struct probe_command command = {
	.prepare = prepare,
	.load = load,
	.begin = begin,
	.show = show_interval,
	.tell = tell,
};

int cmd_tally(int argc, char **argv)
{
	struct tally tally = {0};
	struct error error = {0};
	int status = 0;
	int err = tally_options_parse(argc, argv, &tally.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = run_usage_status(argv);
	} else if (!err) {
		probes_init(&tally.probes, &tally.options.probes, &command, &tally);
		tally.probes.work_ns = ROW_NS;
		status = run_collector(&tally.options.tasks, NULL, &tally.probes.collector);
		probes_detach(&tally.probes);
		tallier_free(tally.tallier);
		tally_collection_clear(&tally.collection);
		tally_places_clear(&tally.places);
		probes_clear(&tally.probes);
		row_outputs_clear(&tally.outputs);
	}
	task_options_clear(&tally.options.tasks);
	probe_options_clear(&tally.options.probes);
	return status;
}
