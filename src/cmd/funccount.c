/*
 * stook funccount: counts the calls of all matching functions.
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
 * On a terminal this looks like bcc's funccount. Only the table goes to stdout, the rest to stderr.
 * The table is printed before the probes are detached, which may take seconds.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cmd/funccount_test.h"
#include "cmd/outputs.h"
#include "cmd/probe_operands.h"
#include "cmd/tally_collection.h"
#include "collect/counter.h"
#include "collect/tallier.h"
#include "run/complain.h"
#include "run/probe_search.h"
#include "run/probes.h"
#include "run/run.h"
#include "view/hits.h"

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

static const char *const key_names[] = {"pid", "tid", "comm", "cpu", "cgroup"};

int call_keys_check(const char *by, struct error *error)
{
	unsigned seen = 0;
	const char *at = by;

	for (;;) {
		size_t nr = strcspn(at, ",");
		size_t name = option_find_name(at, nr, key_names, ARRAY_SIZE(key_names));

		if (name == ARRAY_SIZE(key_names) || seen & 1U << name)
			return error_set(
				error, -EINVAL,
				"bad value '%s' for --by: a list of pid,tid,comm,cpu,cgroup, "
				"each once",
				by);
		seen |= 1U << name;
		if (!at[nr])
			return 0;
		at += nr + 1;
	}
}

static int take_by(void *context, const char *value, struct error *error)
{
	struct funccount_options *options = context;

	options->by = value;
	return call_keys_check(value, error);
}

static const struct option_row rows[] = {
	{0, "by", "KEY,…", take_by, "a row per function and pid, tid, comm, cpu, cgroup"},
	OPTION_NUMBER(0, "max-rows", "N", struct funccount_options, max_rows, 1, ROWS_MAX,
		      "a number from 1 to 1048576", "limit for the rows of --by (default 32768)"),
	OPTION_NUMBER(0, "top", "N", struct funccount_options, top, 1, INT_MAX,
		      "a number of functions, at least 1",
		      "print only the N functions with the most calls"),
	{0, "sort", "KEY", take_sort, "sort by count (default), name or rate, largest last"},
	OPTION_SWITCH(0, "rate", struct funccount_options, rate,
		      "add a column of calls per second"),
	OPTION_SWITCH('T', "timestamp", struct funccount_options, timestamp,
		      "print the time of day above each table"),
};

#define USAGE                                                                              \
	"usage: stook funccount [OPTIONS] PATTERN… [SECS] [-- CMD ARG…]\n"             \
	"\n"                                                                               \
	"Counts the calls of all matching functions and prints a table. Patterns:\n"       \
	"  tcp_send*                   kernel functions\n"                                 \
	"  redis-server:(call*|*Read*) functions of a program on PATH, a path, or a PID\n" \
	"  c:malloc                    functions of a library\n"                           \
	"  r:c:malloc                  returns instead of calls\n"                         \
	"  t:sched:sched_*             tracepoints\n"                                      \
	"  u:LIB:PROVIDER:PROBE        static probes (USDT)\n"                             \
	"  !c:mem*                     excludes matches\n"

#define EXAMPLES                                                                               \
	"\nexamples:\n"                                                                        \
	"  stook funccount 'vfs_*'                      until Ctrl-C\n"                        \
	"  stook funccount -Ti 5 'tcp_*'                a table every five seconds\n"          \
	"  stook funccount 'redis-server:(call*|*Read*)' -p $(pgrep -d, redis-server) -d 60\n" \
	"  stook funccount --by pid,comm c:malloc 10    by caller\n"                           \
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
	if (!err)
		err = row_output_options_check(&ret->output, ret->probes.list, error);
	ret->probes.list_format = row_output_format(&ret->output);
	return err;
}

/* --- rows of functions ----------------------------------------------------------------------- */

/*
 * Counters are never cleared; an interval is the difference to the last reading. The sum of the
 * intervals therefore equals the total, whatever is counted during reading. A row is a probe;
 * static probes (USDT) of the same name share a row.
 */

static const enum call_state states[] = {
	[PROBE_WAITING] = CALL_WAITING,
	[PROBE_ATTACHED] = CALL_COUNTED,
	[PROBE_REFUSED] = CALL_REFUSED,
	[PROBE_CUT] = CALL_CUT,
};

static int add_row(struct call_counts *counts, const struct probe *probe)
{
	counts->rows[counts->nr_rows] = (struct call_row){
		.label = probe_label(probe),
		.name = probe->name,
		.detail = probe->detail,
		.kind = probe_kind_name(probe->kind),
		.file = probe_is_user(probe) ? counts->list->files[probe->file].path : NULL,
		.is_return = probe->is_return,
	};
	return counts->rows[counts->nr_rows++].label ? 0 : -ENOMEM;
}

int call_counts_init(struct call_counts *counts, const struct probe_list *list,
		     const struct hits *hits, uint64_t now_ns, struct error *error)
{
	size_t i;
	int err = 0;

	*counts = (struct call_counts){.list = list, .hits = hits, .read_ns = now_ns};
	counts->rows = calloc(list->nr_probes + 1, sizeof(*counts->rows));
	counts->shown = calloc(list->nr_probes + 1, sizeof(*counts->shown));
	counts->row_of = calloc(list->nr_probes + 1, sizeof(*counts->row_of));
	counts->totals = calloc(list->nr_probes + 1, sizeof(*counts->totals));
	if (!counts->rows || !counts->shown || !counts->row_of || !counts->totals)
		err = -ENOMEM;
	for (i = 0; i < list->nr_probes && !err; i++) {
		uint32_t first = probe_first_of_name(list, (uint32_t)i);

		counts->row_of[i] = first < i ? counts->row_of[first] : (uint32_t)counts->nr_rows;
		if (first == i)
			err = add_row(counts, &list->probes[i]);
	}
	return err ? error_set(error, err, "out of memory") : 0;
}

void call_counts_clear(struct call_counts *counts)
{
	size_t i;

	for (i = 0; i < counts->nr_rows; i++)
		free((char *)counts->rows[i].label);
	free(counts->rows);
	free(counts->shown);
	free(counts->row_of);
	free(counts->totals);
	*counts = (struct call_counts){0};
}

/* Returns how long the probe was attached between the last reading and now. */
static double seconds_attached(const struct call_counts *counts, const struct probe_status *status,
			       uint64_t now_ns)
{
	uint64_t from_ns = counts->read_ns, to_ns = now_ns;

	if (status && status->attached_ns > from_ns)
		from_ns = status->attached_ns;
	if (status && status->state == PROBE_CUT && status->cut_ns < to_ns)
		to_ns = status->cut_ns;
	return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SEC : 0;
}

/* A row of several probes has the worst state of them. */
static void add_state(struct call_row *row, const struct probe_status *status)
{
	enum call_state state = states[status->state];

	if (state == CALL_CUT)
		row->cut_per_second += status->cut_rate;
	if (state == CALL_REFUSED)
		row->why = status->why;
	if (state > row->state)
		row->state = state;
}

static void add_probe(struct call_counts *counts, uint32_t number, uint64_t total,
		      const struct probe_status *status, uint64_t now_ns)
{
	struct call_row *row = &counts->rows[counts->row_of[number]];
	uint64_t count = total - counts->totals[number];
	double seconds = seconds_attached(counts, status, now_ns);

	counts->totals[number] = total;
	row->count += count;
	if (seconds > row->seconds)
		row->seconds = seconds;
	if (seconds > 0)
		row->per_second += (double)count / seconds;
	if (status)
		add_state(row, status);
}

struct call_interval call_counts_read(struct call_counts *counts, const struct probing *probing,
				      uint64_t now_ns)
{
	struct call_interval interval = {
		.rows = counts->shown,
		.nr = counts->nr_rows,
		.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC,
		.seconds = (double)(now_ns - counts->read_ns) / (double)NS_PER_SEC,
		.missed = UINT64_MAX,
	};
	size_t i;

	for (i = 0; i < counts->nr_rows; i++) {
		struct call_row *row = &counts->rows[i];

		row->count = 0;
		row->seconds = row->per_second = row->cut_per_second = 0;
		row->state = CALL_COUNTED;
		row->why = NULL;
	}
	for (i = 0; i < counts->list->nr_probes; i++)
		add_probe(counts, (uint32_t)i, hits_of_probe(counts->hits, (uint32_t)i).counted,
			  probing ? probing_status(probing, (uint32_t)i) : NULL, now_ns);
	counts->read_ns = now_ns;
	memcpy(counts->shown, counts->rows, counts->nr_rows * sizeof(*counts->rows));
	return interval;
}

/* --- rows of functions and keys -------------------------------------------------------------- */

/*
 * Rows come from the tallier (collect/tallier.h); one of its epochs is an interval. The function's
 * counters provide the other columns. The function is the last key, after the requested keys, so
 * that the leading keys of a row are the ones to show.
 */

struct call_keys {
	struct tally_places places;
	struct tallier *tallier;
	struct tally_collection collection;
	struct row_keys shown;	     /* all keys except the last, the function */
	struct tally_counters total; /* sum of all intervals */
	struct call_row *rows;	     /* of the last interval */
};

/* Compiles and loads. The run's list must outlive *keys, which must not move. 0 or -errno. */
static int call_keys_init(struct call_keys *keys, const char *by, size_t max_rows,
			  struct probe_list *list, struct probe_features *features,
			  const struct wanted_tasks *tasks, struct error *error)
{
	cleanup_free char *all = NULL;
	struct tally_query_options options = {0};
	struct tallier_config config = {
		.list = list,
		.features = features,
		.tasks = tasks,
		.plan = &keys->places.query.program.plan,
		.max_rows = max_rows,
	};
	int err;

	*keys = (struct call_keys){0};
	if (asprintf(&all, "%s,func", by) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	options.by = all;
	err = tally_places_find(&keys->places, &options, false, list, features, error);
	if (err)
		return err;
	config.probes = keys->places.probes;
	config.fetches = keys->places.fetches;
	keys->tallier = tallier_load(&config, error);
	if (!keys->tallier)
		return error->code;
	tally_collection_init(&keys->collection, &keys->places.query, list);
	keys->shown = keys->collection.keys;
	keys->shown.nr--;
	return 0;
}

static void call_keys_clear(struct call_keys *keys)
{
	tallier_free(keys->tallier);
	tally_collection_clear(&keys->collection);
	tally_places_clear(&keys->places);
	free(keys->rows);
	*keys = (struct call_keys){0};
}

static struct call_row make_row(const struct call_row *function, const struct tally_line *line,
				size_t nr_keys)
{
	struct call_row row = *function;

	row.count = line->count;
	row.per_second = row.seconds > 0 ? (double)line->count / row.seconds : 0;
	row.keys = line->keys;
	row.nr_keys = nr_keys;
	return row;
}

/* Rows of the interval must be in the order of *counts. */
static int make_rows(struct call_keys *keys, const struct call_counts *counts,
		     const struct tally_interval *tallied, struct call_interval *interval)
{
	size_t nr_keys = keys->shown.nr, nr = 0, i;
	cleanup_free bool *is_called = calloc(interval->nr + 1, sizeof(*is_called));

	free(keys->rows);
	keys->rows = calloc(tallied->nr_lines + interval->nr + 1, sizeof(*keys->rows));
	if (!is_called || !keys->rows)
		return -ENOMEM;
	for (i = 0; i < tallied->nr_lines; i++) {
		uint64_t number = tally_collection_word(&keys->collection, i, nr_keys);
		uint32_t row;

		if (number >= counts->list->nr_probes)
			return -EIO;
		row = counts->row_of[number];
		is_called[row] = true;
		keys->rows[nr++] = make_row(&interval->rows[row], &tallied->lines[i], nr_keys);
	}
	/* A function without calls has a row, too, for the state of its probe. */
	for (i = 0; i < interval->nr; i++) {
		if (is_called[i])
			continue;
		keys->rows[nr] = interval->rows[i];
		keys->rows[nr].count = 0;
		keys->rows[nr++].per_second = 0;
	}
	interval->nr = nr;
	interval->rows = keys->rows;
	interval->keys = &keys->shown;
	interval->lost = tally_totals_lost(&keys->collection.counters);
	return 0;
}

/*
 * Reads the calls since the last reading. Replaces the interval's rows, one per function, by rows
 * per function and key, which are valid until the next reading. Returns 0 or a negative errno.
 */
static int call_keys_read(struct call_keys *keys, const struct call_counts *counts,
			  struct call_interval *interval, struct error *error)
{
	struct tally_interval tallied;
	int err = tally_collection_read(&keys->collection, keys->tallier, &keys->total, &tallied,
					error);

	if (err)
		return err;
	err = make_rows(keys, counts, &tallied, interval);
	return err ? error_set(error, err, "cannot show the rows: %s", strerror(-err)) : 0;
}

/* --- results --------------------------------------------------------------------------------- */

struct funccount {
	struct funccount_options options;
	struct probes probes;
	struct counter *counter; /* without --by */
	struct call_keys keys;	 /* with --by */
	struct call_counts counts;
	struct row_outputs outputs;
};

/* Prints the calls since the last reading. */
static int show(void *context, struct error *error)
{
	struct funccount *funccount = context;
	const struct funccount_options *options = &funccount->options;
	const struct call_style style = {.rate = options->rate, .timestamp = options->timestamp};
	struct call_interval interval =
		call_counts_read(&funccount->counts, funccount->probes.probing, clock_now_ns());
	cleanup(sheet_clear) struct sheet sheet = {0};
	int err = 0;

	if (options->by)
		err = call_keys_read(&funccount->keys, &funccount->counts, &interval, error);
	if (err)
		return err;
	interval.missed = probing_missed(funccount->probes.probing);
	call_interval_choose(&interval, options->order, options->top);
	calls_sheet_fill(&sheet, &interval, &style);
	return row_outputs_write(&funccount->outputs, &sheet, error);
}

static int show_interval(void *context, bool is_last, struct error *error)
{
	struct funccount *funccount = context;
	struct row_outputs *outputs = &funccount->outputs;
	int err = outputs->has_failed ? 0 : show(funccount, error);

	if (!is_last)
		return err;
	err = row_outputs_commit(outputs, err, error);
	if (!funccount->options.tasks.quiet)
		fputs("\nDetaching...\n", stderr);
	return err;
}

/* --- the run --------------------------------------------------------------------------------- */

static int prepare(void *context, struct error *error)
{
	struct funccount *funccount = context;

	return row_outputs_open(&funccount->outputs, &funccount->options.output, error);
}

static int load(void *context, const struct probe_programs **ret_programs,
		const struct hits **ret_hits, struct error *error)
{
	struct funccount *funccount = context;
	const struct funccount_options *options = &funccount->options;
	const struct wanted_tasks *tasks = &funccount->probes.collector.run->tasks;
	struct probe_search *search = &funccount->probes.search;

	if (options->by) {
		int err = call_keys_init(&funccount->keys, options->by, options->max_rows,
					 &search->list, &search->features, tasks, error);
		if (err)
			return err;
		*ret_programs = tallier_programs(funccount->keys.tallier);
		*ret_hits = tallier_hits(funccount->keys.tallier);
	} else {
		funccount->counter = counter_load(&search->list, &search->features, tasks,
						  funccount->probes.budget_share > 0, error);
		if (!funccount->counter)
			return error->code;
		*ret_programs = counter_programs(funccount->counter);
		*ret_hits = counter_hits(funccount->counter);
	}
	return call_counts_init(&funccount->counts, &search->list, *ret_hits, clock_now_ns(),
				error);
}

/* Prints the same line as bcc's funccount. */
static void begin(void *context)
{
	const struct funccount *funccount = context;
	const struct probe_options *probes = &funccount->options.probes;
	size_t i;

	if (funccount->options.tasks.quiet)
		return;
	fprintf(stderr, "Tracing %zu functions for \"", probes_nr(&funccount->probes));
	for (i = 0; i < probes->nr_patterns; i++)
		fprintf(stderr, "%s%s", i ? " " : "", probes->patterns[i]);
	fputs("\"... Hit Ctrl-C to end.\n", stderr);
}

static void tell(void *context)
{
	const struct funccount *funccount = context;

	tally_totals_report_lost(&funccount->keys.total);
}

static const struct probe_command command = {
	.prepare = prepare,
	.load = load,
	.begin = begin,
	.show = show_interval,
	.tell = tell,
};

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
		probes_init(&funccount.probes, &funccount.options.probes, &command, &funccount);
		status = run_collector(&funccount.options.tasks, NULL, &funccount.probes.collector);
		call_counts_clear(&funccount.counts);
		probes_detach(&funccount.probes);
		counter_free(funccount.counter);
		call_keys_clear(&funccount.keys);
		probes_clear(&funccount.probes);
		row_outputs_clear(&funccount.outputs);
	}
	task_options_clear(&funccount.options.tasks);
	probe_options_clear(&funccount.options.probes);
	return status;
}
