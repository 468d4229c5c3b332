/* Sums the main value by label and text. A sample without a label counts for none of its texts. */
#include "view/label_totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"
#include "view/table.h"

#define DEFAULT_MOST 5

struct label_total {
	uint32_t key, text; /* numbers in texts */
	uint64_t amount;
	size_t nr_texts; /* of the key; only in the heaviest row of a key, else 0 */
};

/* Owned by the sheet. */
struct shown {
	const struct profile *profile;
	struct strings *texts;
	struct label_total *rows; /* by key, heaviest first */
	size_t nr, capacity;
	struct number_index index;
	uint32_t *for_people; /* numbers of rows */
	size_t nr_for_people;
};

static void shown_free(void *context)
{
	struct shown *shown = context;

	strings_free(shown->texts);
	free(shown->rows);
	free(shown->for_people);
	number_index_clear(&shown->index);
	free(shown);
}

static int add_text(struct shown *shown, const char *key, const char *text, uint64_t amount)
{
	int64_t key_number = strings_add(shown->texts, key);
	int64_t text_number = strings_add(shown->texts, text);
	struct label_total total = {(uint32_t)key_number, (uint32_t)text_number, amount, 0};
	uint64_t hash = hash_add(total.key, total.text);
	size_t probe = 0;
	uint32_t number;

	if (key_number < 0 || text_number < 0)
		return -ENOMEM;
	while (number_index_next(&shown->index, hash, &probe, &number))
		if (shown->rows[number].key == total.key &&
		    shown->rows[number].text == total.text) {
			shown->rows[number].amount += amount;
			return 0;
		}
	if (number_index_reserve(&shown->index) < 0 ||
	    ARRAY_ADD(shown->rows, shown->nr, shown->capacity, total) < 0)
		return -ENOMEM;
	number_index_add(&shown->index, hash, (uint32_t)(shown->nr - 1));
	return 0;
}

static int add_number(struct shown *shown, const char *key, int64_t number, uint64_t amount)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	return add_text(shown, key, text, amount);
}

static int add_sample(struct shown *shown, const struct sample *sample)
{
	const struct profile *profile = shown->profile;
	const struct sample_labels *labels = &sample->labels;
	const struct {
		const char *key;
		uint32_t string;
		int64_t number;
	} fixed[] = {
		{"comm", labels->comm, 0},   {"cgroup", labels->cgroup, 0},
		{"probe", labels->probe, 0}, {"pid", 0, labels->pid},
		{"tid", 0, labels->tid},     {"cpu", 0, labels->cpu},
	};
	struct set_label set[LABEL_SET_MAX];
	size_t nr = profile_label_set(profile, labels->set, set), i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(fixed) && !err; i++)
		if (fixed[i].string)
			err = add_text(shown, fixed[i].key,
				       profile_string(profile, fixed[i].string), sample->count);
		else if (fixed[i].number)
			err = add_number(shown, fixed[i].key, fixed[i].number, sample->count);
	for (i = 0; i < nr && !err; i++) {
		const char *key = profile_string(profile, set[i].key);

		err = set[i].text ? add_text(shown, key, profile_string(profile, set[i].text),
					     sample->count)
				  : add_number(shown, key, set[i].number, sample->count);
	}
	return err;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct shown *shown = context;
	const struct label_total *first = a, *second = b;

	return strcmp(strings_get(shown->texts, first->key),
		      strings_get(shown->texts, second->key))
		       ?: COMPARE(second->amount, first->amount)
		       ?: strcmp(strings_get(shown->texts, first->text),
				 strings_get(shown->texts, second->text));
}

/* Counts the texts of each key, and chooses the rows for people. */
static int choose_rows(struct shown *shown, size_t most)
{
	size_t first = 0, i;

	shown->for_people = calloc(shown->nr + 1, sizeof(*shown->for_people));
	if (!shown->for_people)
		return -ENOMEM;
	for (i = 0; i < shown->nr; i++) {
		if (shown->rows[i].key != shown->rows[first].key)
			first = i;
		shown->rows[first].nr_texts++;
		if (i - first < most)
			shown->for_people[shown->nr_for_people++] = (uint32_t)i;
	}
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

enum { LABEL, TEXTS, TEXT, AMOUNT, SHARE, NR_COLUMNS };

static const struct column columns[NR_COLUMNS] = {
	[LABEL] = {"label", "LABEL", .flags = COLUMN_NAME},
	[TEXTS] = {NULL, "TEXTS", UNIT_COUNT},
	[TEXT] = {"text", "HEAVIEST", .flags = COLUMN_NAME | COLUMN_MAIN},
	[AMOUNT] = {"amount", NULL},
	[SHARE] = {NULL, "SHARE", UNIT_PERCENT, .decimals = 1},
};

static void fill_row(const struct shown *shown, const struct label_total *total, bool repeats,
		     struct row *row)
{
	const uint64_t all = profile_total(shown->profile);

	if (total->nr_texts || repeats)
		row->cells[LABEL] = cell_text(strings_get(shown->texts, total->key));
	if (total->nr_texts)
		row->cells[TEXTS] = cell_count(total->nr_texts);
	row->cells[TEXT] = cell_text(strings_get(shown->texts, total->text));
	row->cells[AMOUNT] = cell_count(total->amount);
	row->cells[SHARE] = cell_real(all ? 100 * (double)total->amount / (double)all : 0);
}

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;

	fill_row(shown, &shown->rows[number], true, row);
}

static void read_row_for_people(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;

	fill_row(shown, &shown->rows[shown->for_people[number]], false, row);
}

int label_totals_fill(struct sheet *sheet, const struct profile *profile, size_t most)
{
	struct shown *shown = calloc(1, sizeof(*shown));
	struct table table = {"labels", columns, NR_COLUMNS, .context = shown};
	uint32_t i;
	int err = 0;

	if (!shown || sheet_keep(sheet, shown, shown_free) < 0)
		return -ENOMEM;
	shown->profile = profile;
	shown->texts = strings_new();
	if (!shown->texts)
		return -ENOMEM;
	for (i = 0; i < profile_nr_samples(profile) && !err; i++)
		if (profile_sample(profile, i)->count)
			err = add_sample(shown, profile_sample(profile, i));
	if (err)
		return err;
	if (shown->nr)
		qsort_r(shown->rows, shown->nr, sizeof(*shown->rows), compare, shown);
	err = choose_rows(shown, most ? most : DEFAULT_MOST);
	if (err)
		return err;
	table.nr_rows = shown->nr;
	table.read_row = read_row;
	sheet_add_table(sheet, MEDIA_PROGRAMS, &table);
	table.nr_rows = shown->nr_for_people;
	table.read_row = read_row_for_people;
	sheet_add_table(sheet, MEDIA_PEOPLE, &table);
	return sheet_status(sheet);
}
