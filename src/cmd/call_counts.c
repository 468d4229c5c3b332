/*
 * From counters to rows of functions, and with --by to rows of functions and keys. With --by the
 * function is the last key, behind those that were asked for, so that a row's first cells are what
 * its table shows.
 */
#include "cmd/call_counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/options/option_table.h"
#include "cmd/probe_search.h"

static const char *const kind_names[] = {
	[PROBE_USER] = "function",
	[PROBE_USDT] = "usdt",
	[PROBE_KERNEL] = "kernel",
	[PROBE_TRACEPOINT] = "tracepoint",
};

static const enum call_state states[] = {
	[PROBE_WAITING] = CALL_WAITING,
	[PROBE_ATTACHED] = CALL_COUNTED,
	[PROBE_REFUSED] = CALL_REFUSED,
	[PROBE_CUT] = CALL_CUT,
};

/* --- rows ------------------------------------------------------------------------------------ */

static int add_row(struct call_counts *counts, const struct probe *probe)
{
	counts->rows[counts->nr_rows] = (struct call_row){
		.label = probe_label(probe),
		.name = probe->name,
		.detail = probe->detail,
		.kind = kind_names[probe->kind],
		.file = probe_is_user(probe) ? counts->list->files[probe->file].path : NULL,
		.is_return = probe->is_return,
	};
	return counts->rows[counts->nr_rows++].label ? 0 : -ENOMEM;
}

int call_counts_init(struct call_counts *counts, const struct probe_list *list, uint64_t now_ns,
		     struct error *error)
{
	size_t i;
	int err = 0;

	*counts = (struct call_counts){.list = list, .read_ns = now_ns};
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

/* --- reading --------------------------------------------------------------------------------- */

/* How long the probe was attached between the last reading and now. */
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

/* A row of several probes has the state of the one that is worst off. */
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

struct call_interval call_counts_read(struct call_counts *counts, const struct hits *hits,
				      const struct probing *probing, uint64_t now_ns)
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
		add_probe(counts, (uint32_t)i, hits_of_probe(hits, (uint32_t)i).counted,
			  probing ? probing_status(probing, (uint32_t)i) : NULL, now_ns);
	counts->read_ns = now_ns;
	memcpy(counts->shown, counts->rows, counts->nr_rows * sizeof(*counts->rows));
	return interval;
}

/* --- keys: what is asked for ----------------------------------------------------------------- */

static const char *const key_names[] = {"pid", "tid", "comm", "cpu", "cgroup"};

int call_keys_check(const char *by, struct error *error)
{
	unsigned seen = 0;
	const char *at = by;

	for (;;) {
		size_t nr = strcspn(at, ",");
		size_t name = option_find_name(at, nr, key_names, ARRAY_SIZE(key_names));

		if (name == ARRAY_SIZE(key_names) || seen & 1U << name)
			return error_set(error, -EINVAL,
					 "bad value '%s' for --by: any of pid,tid,comm,cpu,cgroup, "
					 "each once",
					 by);
		seen |= 1U << name;
		if (!at[nr])
			return 0;
		at += nr + 1;
	}
}

int call_keys_init(struct call_keys *keys, const char *by, size_t max_rows, struct probe_list *list,
		   struct probe_features *features, const struct wanted_tasks *tasks,
		   struct error *error)
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
	return 0;
}

void call_keys_clear(struct call_keys *keys)
{
	tallier_free(keys->tallier);
	tally_collection_clear(&keys->collection);
	tally_places_clear(&keys->places);
	free(keys->rows);
	*keys = (struct call_keys){0};
}

/* --- keys: reading --------------------------------------------------------------------------- */

static struct call_row make_row(const struct call_row *function, const struct tally_line *line,
				size_t nr_cells)
{
	struct call_row row = *function;

	row.count = line->count;
	row.per_second = row.seconds > 0 ? (double)line->count / row.seconds : 0;
	row.cells = line->cells;
	row.nr_cells = nr_cells;
	return row;
}

/* A function without calls still has what became of its probe to tell. */
static size_t add_without_calls(struct call_row *rows, size_t nr,
				const struct call_interval *interval, const bool *is_called)
{
	size_t i;

	for (i = 0; i < interval->nr; i++) {
		if (is_called[i])
			continue;
		rows[nr] = interval->rows[i];
		rows[nr].count = 0;
		rows[nr++].per_second = 0;
	}
	return nr;
}

/* The interval's rows are in the order of call_counts.h. */
static int make_rows(struct call_keys *keys, const struct call_counts *counts,
		     const struct tally_sheet *sheet, struct call_interval *interval)
{
	size_t nr_keys = sheet->nr_keys - 1, nr = 0, i;
	cleanup_free bool *is_called = calloc(interval->nr + 1, sizeof(*is_called));

	free(keys->rows);
	keys->rows = calloc(sheet->nr_lines + interval->nr + 1, sizeof(*keys->rows));
	if (!is_called || !keys->rows)
		return -ENOMEM;
	for (i = 0; i < sheet->nr_lines; i++) {
		uint64_t number = tally_collection_word(&keys->collection, i, nr_keys);
		uint32_t row;

		if (number >= counts->list->nr_probes)
			return -EIO;
		row = counts->row_of[number];
		is_called[row] = true;
		keys->rows[nr++] = make_row(&interval->rows[row], &sheet->lines[i], nr_keys);
	}
	interval->nr = add_without_calls(keys->rows, nr, interval, is_called);
	interval->rows = keys->rows;
	interval->keys = sheet->keys;
	interval->nr_keys = nr_keys;
	interval->lost = tally_totals_lost(&keys->collection.counters);
	return 0;
}

int call_keys_read(struct call_keys *keys, const struct call_counts *counts,
		   struct call_interval *interval, struct error *error)
{
	struct tally_sheet sheet;
	int err = tally_collection_read(&keys->collection, keys->tallier, &keys->total, &sheet,
					error);

	if (err)
		return err;
	err = make_rows(keys, counts, &sheet, interval);
	return err ? error_set(error, err, "cannot show the rows: %s", strerror(-err)) : 0;
}
