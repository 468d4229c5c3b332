/*
 * Converts the tallier's rows of words into cells: labels of functions, names of cgroups, texts,
 * numbers.
 */
#include "cmd/tally_collection.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/cgroup.h"
#include "run/complain.h"
#include "run/probe_search.h"

/* In the order of struct tally_counters. */
static const char *const figure_names[] = {"accounting.entries",  "accounting.calls",
					   "accounting.returns",  "accounting.abandoned",
					   "accounting.excluded", "accounting.tallied",
#define X(id, name, sentence) "accounting.lost_" name,
					   TALLY_LOSS_REASONS(X)
#undef X
};

#define NR_FIGURES ARRAY_SIZE(figure_names)

_Static_assert(NR_FIGURES == sizeof(struct tally_counters) / sizeof(uint64_t),
	       "a name for each counter");
_Static_assert(ROW_KEYS_MAX >= TALLY_KEYS_MAX && ROW_KEY_NAME_BYTES >= TALLY_KEY_NAME_BYTES,
	       "each key has a column, with its whole name");

/* Returns the unit of a histogram's ranges; NULL if it has none. */
static const char *histogram_unit(const struct tally_query *query)
{
	const struct tally_plan *plan = &query->program.plan;

	if (!query->value_is_time || plan->histogram == TALLY_NO_HISTOGRAM)
		return NULL;
	return plan->divisor == NS_PER_US ? "us" : "ns";
}

void tally_collection_init(struct tally_collection *collection, const struct tally_query *query,
			   const struct probe_list *list)
{
	const struct tally_plan *plan = &query->program.plan;
	const char *unit;
	uint32_t i;

	*collection = (struct tally_collection){
		.query = query,
		.list = list,
		.cgroup_root_fd = -1,
	};
	for (i = 0; i < query->nr_keys; i++) {
		const struct tally_key *key = &query->keys[i];

		row_keys_add(&collection->keys, key->name,
			     key->kind == TALLY_KEY_NUMBER || key->kind == TALLY_KEY_UNSIGNED ||
				     key->kind == TALLY_KEY_TIME);
		if (key->kind == TALLY_KEY_CGROUP && collection->cgroup_root_fd < 0)
			collection->cgroup_root_fd = cgroup_open_root(NULL);
	}
	for (i = 0; i < plan->nr_buckets; i++)
		(void)tally_bucket_range(plan, i, &collection->ranges[i].from,
					 &collection->ranges[i].to);
	unit = histogram_unit(query);
	(void)snprintf(collection->title, sizeof(collection->title), unit ? "%s (%s)" : "%s",
		       query->value, unit);
}

/* Frees the rows before those of the next interval are read. */
static void reset(struct tally_collection *collection)
{
	size_t i;

	for (i = 0; i < collection->nr_cells; i++)
		if (collection->cells[i].kind == CELL_TEXT)
			free((char *)collection->cells[i].text);
	free(collection->cells);
	free(collection->lines);
	collection->cells = NULL;
	collection->lines = NULL;
	collection->nr_cells = 0;
	collection->nr = 0;
}

void tally_collection_clear(struct tally_collection *collection)
{
	if (!collection->query)
		return;
	reset(collection);
	if (collection->cgroup_root_fd >= 0)
		(void)close(collection->cgroup_root_fd);
	free(collection->words);
	*collection = (struct tally_collection){0};
}

/* --- collecting ------------------------------------------------------------------------------ */

static size_t key_words(const struct tally_collection *collection)
{
	return tally_key_bytes(&collection->query->program.plan) / sizeof(uint64_t);
}

static size_t all_words(const struct tally_collection *collection)
{
	return key_words(collection) +
	       tally_row_bytes(&collection->query->program.plan) / sizeof(uint64_t);
}

/* For tallier_end_epoch(). Skips keys that were inserted but got no hit. */
static int add_row(void *context, const uint64_t *key, const struct tally_row *row)
{
	struct tally_collection *collection = context;
	const struct tally_plan *plan = &collection->query->program.plan;
	size_t nr = all_words(collection);
	uint64_t *to;

	if (!row->count)
		return 0;
	if (array_reserve(&collection->words, &collection->capacity, collection->nr + 1,
			  nr * sizeof(*to)) < 0)
		return -ENOMEM;
	to = collection->words + collection->nr++ * nr;
	memcpy(to, key, tally_key_bytes(plan));
	memcpy(to + key_words(collection), row, tally_row_bytes(plan));
	return 0;
}

uint64_t tally_collection_word(const struct tally_collection *collection, size_t line, size_t key)
{
	const uint64_t *words = collection->words + line * all_words(collection);

	return words[1 + collection->query->keys[key].first];
}

/* --- cells ----------------------------------------------------------------------------------- */

/* For queries that need returns, the probe of a return is shown as its function. */
static char *function_text(const struct tally_collection *collection, uint64_t number)
{
	struct probe probe;

	if (number >= collection->list->nr_probes)
		return strdup("[unknown]");
	probe = collection->list->probes[number];
	if (collection->query->needs_return)
		probe.is_return = false;
	return probe_label(&probe);
}

static char *cgroup_text(const struct tally_collection *collection, uint64_t id)
{
	char *path = collection->cgroup_root_fd >= 0 ? cgroup_path(collection->cgroup_root_fd, id)
						     : NULL;

	return path ? path : strdup("[cgroup gone]");
}

/* A text that fills its space was truncated: … is appended. */
static char *key_text(const struct tally_key *key, const uint64_t *words)
{
	const char *text = (const char *)words;
	size_t room = key->nr * sizeof(*words), nr = strnlen(text, room);
	char *copy;

	if (nr + 1 < TALLY_TEXT_BYTES)
		return strndup(text, nr);
	return asprintf(&copy, "%.*s…", (int)nr, text) < 0 ? NULL : copy;
}

static int fill_cell(const struct tally_collection *collection, const struct tally_key *key,
		     const uint64_t *words, struct cell *cell)
{
	const uint64_t *own = words + 1 + key->first;
	char *text = NULL;

	if (words[0] >> key->first & 1)
		return 0; /* unreadable: an empty cell */
	switch (key->kind) {
	case TALLY_KEY_NUMBER:
	case TALLY_KEY_TIME:
		*cell = cell_integer((int64_t)*own);
		return 0;
	case TALLY_KEY_UNSIGNED:
		*cell = cell_count(*own);
		return 0;
	case TALLY_KEY_FUNCTION:
		text = function_text(collection, *own);
		break;
	case TALLY_KEY_TEXT:
		text = key_text(key, own);
		break;
	case TALLY_KEY_CGROUP:
		text = cgroup_text(collection, *own);
		break;
	case TALLY_KEY_HEX:
		if (asprintf(&text, "0x%" PRIx64, *own) < 0)
			text = NULL;
		break;
	}
	*cell = cell_text(text);
	return text ? 0 : -ENOMEM;
}

static int fill_line(const struct tally_collection *collection, const uint64_t *words,
		     struct tally_line *line, struct cell *cells)
{
	const struct tally_query *query = collection->query;
	const struct tally_plan *plan = &query->program.plan;
	const struct tally_row *row = (const struct tally_row *)(words + key_words(collection));
	size_t i;
	int err = 0;

	*line = (struct tally_line){.keys = cells, .count = row->count};
	if (plan->value != TALLY_NO_WORD) {
		line->sum = row->sum;
		line->least = row->least;
		line->most = row->most;
		line->histogram =
			(struct histogram){collection->ranges, (const uint64_t *)row->buckets,
					   plan->nr_buckets, collection->title};
	}
	for (i = 0; i < query->nr_keys && !err; i++)
		err = fill_cell(collection, &query->keys[i], words, &cells[i]);
	return err;
}

/* --- the interval ---------------------------------------------------------------------------- */

static int make_interval(struct tally_collection *collection, struct tally_interval *ret)
{
	const struct tally_query *query = collection->query;
	size_t i;
	int err = 0;

	collection->lines = calloc(collection->nr + 1, sizeof(*collection->lines));
	collection->cells = calloc(collection->nr * query->nr_keys + 1, sizeof(*collection->cells));
	if (!collection->lines || !collection->cells)
		return -ENOMEM;
	collection->nr_cells = collection->nr * query->nr_keys;
	for (i = 0; i < collection->nr && !err; i++)
		err = fill_line(collection, collection->words + i * all_words(collection),
				&collection->lines[i], &collection->cells[i * query->nr_keys]);
	*ret = (struct tally_interval){
		.keys = &collection->keys,
		.value = *query->value ? query->value : NULL,
		.is_time = query->value_is_time,
		.has_histogram = query->program.plan.nr_buckets > 0,
		.unit = histogram_unit(query),
		.lines = collection->lines,
		.nr_lines = collection->nr,
		.figure_names = figure_names,
		.figures = (const uint64_t *)&collection->counters,
		.nr_figures = NR_FIGURES,
	};
	return err;
}

int tally_collection_read(struct tally_collection *collection, struct tallier *tallier,
			  struct tally_counters *total, struct tally_interval *ret,
			  struct error *error)
{
	int err;

	reset(collection);
	err = tallier_end_epoch(tallier, &collection->counters, add_row, collection, error);
	if (err < 0)
		return err;
	if (make_interval(collection, ret) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	add_words(total, &collection->counters, sizeof(*total));
	return 0;
}

/* --- totals ---------------------------------------------------------------------------------- */

static const char *const loss_sentences[] = {
#define X(id, name, sentence) sentence,
	TALLY_LOSS_REASONS(X)
#undef X
};

uint64_t tally_totals_lost(const struct tally_counters *counters)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters->lost); i++)
		sum += counters->lost[i];
	return sum;
}

void tally_totals_report_lost(const struct tally_counters *total)
{
	char number[NUMBER_COMMAS_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loss_sentences); i++)
		if (total->lost[i])
			complain("lost %s hits: %s", number_commas(number, total->lost[i]),
				 loss_sentences[i]);
}
