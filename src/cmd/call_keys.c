/*
 * See call_keys.h. The function is the last key, behind those that were asked for, so that a row's
 * first cells are what its table shows.
 */
#include "cmd/call_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/tally_totals.h"

static const char *const key_names[] = {"pid", "tid", "comm", "cpu", "cgroup"};

/* --- what is asked for ----------------------------------------------------------------------- */

static int find_name(const char *text, size_t nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(key_names); i++)
		if (strlen(key_names[i]) == nr && !strncmp(text, key_names[i], nr))
			return (int)i;
	return -1;
}

int call_keys_check(const char *by, struct error *error)
{
	unsigned seen = 0;
	const char *at = by;

	for (;;) {
		size_t nr = strcspn(at, ",");
		int name = find_name(at, nr);

		if (name < 0 || seen & 1U << name)
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
	struct tally_options options = {0};
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
	err = tally_places_find(&keys->places, &options, list, features, error);
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

/* --- reading --------------------------------------------------------------------------------- */

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
	struct tally_collection *collection = &keys->collection;
	struct tally_sheet sheet;
	int err;

	tally_collection_reset(collection);
	err = tallier_end_epoch(keys->tallier, &collection->counters, tally_collection_add,
				collection, error);
	if (err < 0)
		return err;
	tally_totals_add(&keys->total, &collection->counters);
	err = tally_collection_show(collection, &sheet);
	if (!err)
		err = make_rows(keys, counts, &sheet, interval);
	return err ? error_set(error, err, "cannot show the rows: %s", strerror(-err)) : 0;
}
