/* Questions to a store. */
#include "serve/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "profile/merge.h"
#include "view/diff/difference.h"
#include "view/diff/growth.h"
#include "view/label_totals.h"

#define NS_PER_HOUR (3600 * NS_PER_SEC)
#define NS_PER_DAY  (24 * NS_PER_HOUR)

/* --- labels ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum label label;
} fixed_labels[] = {
	{"comm", LABEL_COMM}, {"pid", LABEL_PID},	{"tid", LABEL_TID},
	{"cpu", LABEL_CPU},   {"cgroup", LABEL_CGROUP},
};

static int take_label(struct question_labels *labels, const char *name, struct error *error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed_labels); i++)
		if (!strcmp(fixed_labels[i].name, name)) {
			labels->labels |= fixed_labels[i].label;
			return 0;
		}
	if (!*name)
		return error_set(error, -EINVAL, "a label is empty");
	if (labels->nr_keys == QUESTION_MAX_KEYS)
		return error_set(error, -EINVAL, "more than %d labels", QUESTION_MAX_KEYS);
	labels->labels |= LABEL_SET;
	labels->keys[labels->nr_keys++] = name;
	return 0;
}

int question_labels_parse(struct question_labels *ret, const char *text, struct error *error)
{
	char *rest, *name;
	int err = 0;

	question_labels_clear(ret);
	if (!*text)
		return 0;
	ret->text = rest = strdup(text);
	if (!rest)
		return error_no_memory(error, "");
	while (!err && (name = strsep(&rest, ",")))
		err = take_label(ret, name, error);
	return err;
}

void question_labels_clear(struct question_labels *labels)
{
	free(labels->text);
	*labels = (struct question_labels){0};
}

static bool has_label(const struct profile *profile, enum label label)
{
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		const struct sample_labels *labels = &profile_sample(profile, i)->labels;

		if ((label == LABEL_COMM && labels->comm) ||
		    (label == LABEL_CGROUP && labels->cgroup) ||
		    (label == LABEL_PID && labels->pid) || (label == LABEL_TID && labels->tid) ||
		    (label == LABEL_CPU && labels->cpu))
			return true;
	}
	return false;
}

static bool has_key(const struct profile *profile, const char *key)
{
	struct set_label set[LABEL_SET_MAX];
	uint32_t i;
	size_t nr, k;

	for (i = 0; i < profile_nr_samples(profile); i++) {
		nr = profile_label_set(profile, profile_sample(profile, i)->labels.set, set);
		for (k = 0; k < nr; k++)
			if (!strcmp(profile_string(profile, set[k].key), key))
				return true;
	}
	return false;
}

int question_labels_check(const struct question_labels *labels, const struct profile *profile,
			  struct error *error)
{
	const char *missing = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed_labels) && !missing; i++)
		if (labels->labels & fixed_labels[i].label && fixed_labels[i].label != LABEL_CPU &&
		    !has_label(profile, fixed_labels[i].label))
			missing = fixed_labels[i].name;
	for (i = 0; i < labels->nr_keys && !missing; i++)
		if (!has_key(profile, labels->keys[i]))
			missing = labels->keys[i];
	return missing ? error_set(error, -ENODATA, "no sample has the label '%s'", missing) : 0;
}

/* --- times ------------------------------------------------------------------------------------ */

const char *question_range(char text[QUESTION_RANGE_BYTES], uint64_t from_ns, uint64_t to_ns)
{
	const size_t date = sizeof("2026-11-23 ") - 1;
	char from[MOMENT_BYTES], to[MOMENT_BYTES];

	(void)moment_text(from, from_ns);
	(void)moment_text(to, to_ns);
	(void)snprintf(text, QUESTION_RANGE_BYTES, "%s to %s", from,
		       strncmp(from, to, date) != 0 ? to : to + date);
	return text;
}

const char *question_length(char text[QUESTION_LENGTH_BYTES], uint64_t ns)
{
	uint64_t minutes = ns / (60 * NS_PER_SEC), hours = minutes / 60;

	if (!minutes)
		(void)snprintf(text, QUESTION_LENGTH_BYTES, "%.3gs", (double)ns / NS_PER_SEC);
	else if (hours >= 48)
		(void)snprintf(text, QUESTION_LENGTH_BYTES, "%" PRIu64 "d%" PRIu64 "h", hours / 24,
			       hours % 24);
	else if (hours)
		(void)snprintf(text, QUESTION_LENGTH_BYTES, "%" PRIu64 "h%" PRIu64 "m", hours,
			       minutes % 60);
	else
		(void)snprintf(text, QUESTION_LENGTH_BYTES, "%" PRIu64 "m%" PRIu64 "s", minutes,
			       (uint64_t)(ns / NS_PER_SEC % 60));
	return text;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Names the values that there are in the range, for an error. */
static void hint_values(struct store *store, const struct store_query *wanted, struct error *error)
{
	struct store_query query = {wanted->from_ns, wanted->to_ns, .no_stacks = true};
	struct store_answer answer;
	struct profile *profile = NULL;
	char names[200] = "";
	size_t nr = 0, i;

	if (store_query(store, &query, &profile, &answer, NULL) < 0)
		return;
	for (i = 0; i < profile_nr_values(profile) && nr < sizeof(names); i++)
		nr += (size_t)snprintf(names + nr, sizeof(names) - nr, "%s%s", i ? ", " : "",
				       profile_value_name(profile, i));
	error_hint(error, "there are: %s", names);
	profile_free(profile);
}

/*
 * A sample of time on a CPU stands for so many nanoseconds, on average: the governor of the agent may have changed the
 * rate. Tables need that for errors. Where samples were not counted, as by the agent itself, the longest period of the
 * epochs makes errors rather too large.
 */
static void set_period(struct profile *profile, uint64_t most_period_ns)
{
	struct profile_origin origin = *profile_origin(profile);
	int samples = profile_find_value(profile, "samples");
	uint64_t nr = samples > 0 ? profile_value_total(profile, (size_t)samples) : 0;
	uint64_t period = nr ? profile_total(profile) / nr : most_period_ns;
	int64_t unit = profile_add_string(profile, "nanoseconds");

	if (!period || unit < 0 || strcmp(profile_value_name(profile, 0), PROFILE_CPU_TIME) != 0)
		return;
	origin.unit = (uint32_t)unit;
	origin.period = period;
	profile_set_origin(profile, &origin);
}

int question_ask(struct store *store, const struct store_query *query,
		 const struct question_labels *labels, struct profile **ret,
		 struct store_answer *ret_answer, struct error *error)
{
	const char *names[QUESTION_MAX_KEYS + ARRAY_SIZE(fixed_labels)];
	struct store_query wanted = *query;
	size_t i;
	int err;

	wanted.labels = names;
	wanted.nr_labels = 0;
	for (i = 0; i < ARRAY_SIZE(fixed_labels); i++)
		if (labels->labels & fixed_labels[i].label)
			names[wanted.nr_labels++] = fixed_labels[i].name;
	for (i = 0; i < labels->nr_keys; i++)
		names[wanted.nr_labels++] = labels->keys[i];
	err = store_query(store, &wanted, ret, ret_answer, error);
	if (err == -EINVAL)
		hint_values(store, &wanted, error);
	if (!err)
		set_period(*ret, ret_answer->most_period_ns);
	return err;
}

int question_compare(struct profile *profile, const struct profile *before, struct error *error)
{
	struct value_type type = {.unit = profile_value_type(profile, 0).unit};
	struct profile_origin origin = *profile_origin(profile);
	int64_t string;
	int value, err;

	if (strcmp(profile_value_name(before, 0), profile_value_name(profile, 0)) != 0)
		return error_set(error, -EINVAL, "one time has no value '%s', the other no '%s'",
				 profile_value_name(profile, 0), profile_value_name(before, 0));
	string = profile_add_string(profile, DIFFERENCE_BEFORE);
	type.type = (uint32_t)string;
	value = string < 0 ? (int)string : profile_add_value_type(profile, &type);
	err = value < 0 ? value : profile_merge(profile, before, (size_t)value);
	/* The lower one of two rates: errors are rather too large. */
	if (profile_origin(before)->period > origin.period)
		origin.period = profile_origin(before)->period;
	origin.time_ns = origin.duration_ns = 0;
	profile_set_origin(profile, &origin);
	return err ? error_set(error, err, "cannot compare: %s", strerror(-err)) : 0;
}

/* --- growth ----------------------------------------------------------------------------------- */

/* Lengths of periods, and after how many of them the load repeats. */
static const struct {
	uint64_t length_ns;
	size_t cycle;
	const char *name;
} periods[] = {{NS_PER_DAY, 7, "days"}, {NS_PER_HOUR, 24, "hours"}};

/* Up to the last full hour: shorter blocks need not be read. */
int question_find_periods(struct question_periods *ret, struct store *store, uint64_t to_ns,
			  struct error *error)
{
	struct store_extent extent;
	uint64_t from_ns, nr;
	size_t i;
	int err = store_extent(store, &extent, error);

	if (err)
		return err;
	from_ns = extent.from_ns;
	if (to_ns > extent.to_ns)
		to_ns = extent.to_ns;
	to_ns -= to_ns % NS_PER_HOUR;
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		nr = to_ns > from_ns ? (to_ns - from_ns) / periods[i].length_ns : 0;
		if (nr < growth_least_periods(periods[i].cycle))
			continue;
		*ret = (struct question_periods){
			.from_ns = to_ns - nr * periods[i].length_ns,
			.to_ns = to_ns,
			.length_ns = periods[i].length_ns,
			.cycle = periods[i].cycle,
			.name = periods[i].name,
		};
		return 0;
	}
	(void)error_set(error, -ENODATA, "too little time to find regressions in");
	error_hint(error,
		   "two days are needed, and two weeks to tell growth from the days of the week");
	return -ENODATA;
}

/* --- what there is ---------------------------------------------------------------------------- */

enum { VALUE_NAME, VALUE_UNIT, VALUE_TOTAL, NR_VALUE_COLUMNS };

static const struct column value_columns[NR_VALUE_COLUMNS] = {
	[VALUE_NAME] = {"name", "VALUE", .flags = COLUMN_NAME},
	[VALUE_UNIT] = {"unit", "UNIT", .flags = COLUMN_NAME},
	[VALUE_TOTAL] = {"total", "TOTAL", UNIT_COUNT},
};

static void read_value(const void *context, size_t number, struct row *row)
{
	const struct profile *profile = context;

	row->cells[VALUE_NAME] = cell_text(profile_value_name(profile, number));
	row->cells[VALUE_UNIT] = cell_text(profile_value_unit(profile, number));
	row->cells[VALUE_TOTAL] = cell_count(profile_value_total(profile, number));
}

static void add_times(struct sheet *sheet, const struct store_answer *answer,
		      const struct store_extent *extent)
{
	static const struct column from = {"from", NULL}, to = {"to", NULL}, lost = {"lost", NULL},
				   measured = {"measured_seconds", NULL, .precise = 3},
				   epochs = {"epochs", NULL}, minutes = {"minutes", NULL},
				   hours = {"hours", NULL};
	char range[QUESTION_RANGE_BYTES], length[QUESTION_LENGTH_BYTES];
	char nr_epochs[NUMBER_COMMAS_BYTES], nr_minutes[NUMBER_COMMAS_BYTES],
		nr_hours[NUMBER_COMMAS_BYTES];

	sheet_add_figure(sheet, MEDIA_JSON, &from, cell_count(answer->from_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &to, cell_count(answer->to_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &measured,
			 cell_real((double)answer->measured_ns / NS_PER_SEC));
	sheet_add_figure(sheet, MEDIA_JSON, &lost, cell_count(answer->lost));
	sheet_add_figure(sheet, MEDIA_JSON, &epochs, cell_count(extent->nr_epochs));
	sheet_add_figure(sheet, MEDIA_JSON, &minutes, cell_count(extent->nr_minutes));
	sheet_add_figure(sheet, MEDIA_JSON, &hours, cell_count(extent->nr_hours));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "%s, %s measured",
			question_range(range, answer->from_ns, answer->to_ns),
			question_length(length, answer->measured_ns));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(sheet, "kept: %s epochs, %s minutes, %s hours",
			number_commas(nr_epochs, extent->nr_epochs),
			number_commas(nr_minutes, extent->nr_minutes),
			number_commas(nr_hours, extent->nr_hours));
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
}

int question_list(struct sheet *sheet, const struct profile *profile,
		  const struct store_answer *answer, const struct store_extent *extent, size_t most)
{
	const struct table values = {
		"values",   value_columns, NR_VALUE_COLUMNS, profile_nr_values(profile),
		read_value, profile,
	};

	add_times(sheet, answer, extent);
	sheet_add_table(sheet, MEDIA_ALL & ~(unsigned)MEDIA_CSV, &values);
	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	return label_totals_fill(sheet, profile, most);
}
