/*
 * stook tally: hits by key, with sums and histograms of a value.
 *
 *	$ stook tally c:malloc --value arg1 --by comm -p $(pgrep redis-server) 10
 *	Tallying hits of 1 probe... Hit Ctrl-C to end.
 *
 *	COMM            COUNT       SUM       MIN       AVG       MAX
 *	redis-server    20514   1048102         8      51.1     16384
 *	stook: tallied 20,514 hits
 *
 * The table goes to stdout, the rest is talk. An interval is an epoch of the kernel side: it begins
 * with no rows.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/complain.h"
#include "cmd/row_outputs.h"
#include "cmd/run/exit_status.h"
#include "cmd/run/probe_run.h"
#include "cmd/tally_options.h"
#include "cmd/tally_places.h"
#include "cmd/tally_sheet.h"
#include "cmd/tally_totals.h"
#include "collect/tallier.h"
#include "format/text/columns.h"

/* What fetching, evaluating and adding to a row takes, as measured. */
#define ROW_NS 300

struct tally {
	struct tally_options options;
	struct probe_run run;
	struct tally_places places;
	struct tallier *tallier;
	struct tally_collection collection;
	struct tally_counters total; /* of all intervals */
	struct row_outputs outputs;
	uint64_t shown_ns; /* up to when */
};

/* --- results --------------------------------------------------------------------------------- */

struct shown {
	const struct tally_sheet *sheet;
	bool has_time;
};

static void write_rows(const void *context, enum row_format format, bool is_first, FILE *out)
{
	const struct shown *shown = context;

	switch (format) {
	case ROWS_TABLE:
		tally_rows_write_table(shown->sheet, shown->has_time, out);
		break;
	case ROWS_JSON:
		tally_rows_write_json(shown->sheet, out);
		break;
	case ROWS_CSV:
		if (is_first)
			tally_rows_write_csv_head(shown->sheet, out);
		tally_rows_write_csv(shown->sheet, out);
		break;
	}
}

/* What came since the last time, everywhere. */
static int show(void *context, struct error *error)
{
	struct tally *tally = context;
	struct tally_collection *collection = &tally->collection;
	uint64_t now_ns = clock_now_ns();
	struct tally_sheet sheet;
	struct shown shown = {&sheet, tally->options.timestamp};
	int err;

	tally_collection_reset(collection);
	err = tallier_end_epoch(tally->tallier, &collection->counters, tally_collection_add,
				collection, error);
	if (err < 0)
		return err;
	if (tally_collection_show(collection, &sheet) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	tally_totals_add(&tally->total, &collection->counters);
	sheet.time = (double)clock_read_ns(CLOCK_REALTIME) / (double)NS_PER_SEC;
	sheet.seconds = (double)(now_ns - tally->shown_ns) / (double)NS_PER_SEC;
	tally->shown_ns = now_ns;
	tally_rows_choose(&sheet, tally->options.order, tally->options.top);
	return row_outputs_write(&tally->outputs, write_rows, &shown, error);
}

/* --- the verdict ------------------------------------------------------------------------------- */

static void tell_pairs(const struct tally_counters *total)
{
	char numbers[3][COLUMNS_NUMBER_BYTES];
	uint64_t open = total->calls - total->returns - total->abandoned;

	if (total->calls)
		complain("of %s calls %s had not returned, %s never will (longjmp, "
			 "missed returns)",
			 columns_number(numbers[0], total->calls), columns_number(numbers[1], open),
			 columns_number(numbers[2], total->abandoned));
}

static void tell(const struct tally *tally)
{
	const struct tally_counters *total = &tally->total;
	char numbers[2][COLUMNS_NUMBER_BYTES];

	if (tally->options.where)
		complain("tallied %s hits, left out %s by --where",
			 columns_number(numbers[0], total->tallied),
			 columns_number(numbers[1], total->excluded));
	else
		complain("tallied %s hits", columns_number(numbers[0], total->tallied));
	tell_pairs(total);
	tally_totals_tell_lost(total);
}

/* --- the run --------------------------------------------------------------------------------- */

static int load(struct tally *tally, struct error *error)
{
	struct probe_run *run = &tally->run;
	const struct tallier_config config = {
		.list = &run->search.list,
		.features = &run->search.features,
		.tasks = &run->run.tasks,
		.plan = &tally->places.query.program.plan,
		.probes = tally->places.probes,
		.fetches = tally->places.fetches,
		.max_rows = tally->options.max_rows,
		.max_calls = tally->options.max_calls,
	};

	tally->tallier = tallier_load(&config, error);
	return tally->tallier ? 0 : error->code;
}

static int prepare(struct tally *tally, struct error *error)
{
	const struct tally_options *options = &tally->options;
	struct probe_run *run = &tally->run;
	int err = probe_run_prepare(run, &options->probes, &options->tasks, error);

	if (!err)
		err = tally_places_find(&tally->places, options, &run->search.list,
					&run->search.features, error);
	if (!err)
		err = probe_run_decide(run, !tally->places.pairs.are_paired, error);
	run->work_ns = ROW_NS;
	if (!err)
		err = row_outputs_open(&tally->outputs, &options->output, error);
	if (!err)
		err = load(tally, error);
	if (err)
		return err;
	tally_collection_init(&tally->collection, &tally->places.query, &run->search.list);
	err = probe_run_attach(run, tallier_programs(tally->tallier), tallier_hits(tally->tallier),
			       error);
	tally->shown_ns = clock_now_ns();
	return err;
}

static void say_tallying(const struct tally *tally)
{
	size_t nr =
		tally->run.search.list.nr_probes - probing_nr(tally->run.probing, PROBE_REFUSED);

	if (!tally->options.tasks.quiet)
		fprintf(stderr, "Tallying hits of %zu probe%s... Hit Ctrl-C to end.\n", nr,
			nr == 1 ? "" : "s");
}

static int run(struct tally *tally)
{
	struct probe_run *run = &tally->run;
	int err;

	say_tallying(tally);
	err = probe_run_go(run, show, tally, &tally->outputs);
	probe_run_detach(run);
	if (!tally->options.tasks.quiet && !run->run.child_failed)
		tell(tally);
	probe_run_tell(run);
	return err;
}

static int run_all(struct tally *tally)
{
	struct error error = {0};
	int err = prepare(tally, &error);

	if (err < 0 && err != -EPIPE)
		complain_error(&error);
	return err ? err : run(tally);
}

int cmd_tally(int argc, char **argv)
{
	struct tally tally = {0};
	struct error error = {0};
	int status = 0;
	int err = tally_options_parse(argc, argv, &tally.options, &error);

	if (err < 0) {
		complain_error(&error);
		status = exit_status_of_usage(argv);
	} else if (!err) {
		log_to(tally.options.tasks.verbose ? stderr : NULL);
		err = run_all(&tally);
		status = run_status(&tally.run.run, err < 0 && err != -EPIPE ? err : 0);
		probe_run_free_probes(&tally.run);
		tallier_free(tally.tallier);
		tally_collection_clear(&tally.collection);
		tally_places_clear(&tally.places);
		probe_run_clear(&tally.run);
		row_outputs_clear(&tally.outputs);
	}
	tally_options_clear(&tally.options);
	return status;
}
