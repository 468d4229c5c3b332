/*
 * Makes the series of functions from a profile with time slices, and the table of what grew.
 *
 * A function is its name in a file of its name, so that a new version of a program continues the series of the old
 * one.
 */
#include "view/diff/growth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/text.h"
#include "view/named_stacks.h"
#include "view/table.h"

#define DEFAULT_ROWS  20
#define MINUTES_BYTES 16 /* of "2026-11-20 00:00": periods begin at full hours */

struct series {
	uint32_t service;      /* number in services */
	uint32_t name, module; /* numbers in texts */
};

/* Owned by the sheet. */
struct shown {
	const struct profile *profile;
	struct strings *texts, *services;
	struct series *series;
	size_t nr, capacity;
	struct number_index index;
	struct growth_table table;
	size_t cap_samples;
	struct growths growths;
	uint64_t first_ns, period_ns;
	double mean; /* samples of a period */
};

static void shown_free(void *context)
{
	struct shown *shown = context;

	strings_free(shown->texts);
	strings_free(shown->services);
	free(shown->series);
	number_index_clear(&shown->index);
	free(shown->table.samples);
	free(shown->table.services);
	growths_clear(&shown->growths);
	free(shown);
}

/* --- series ----------------------------------------------------------------------------------- */

/* Returns the number of the sample's service, or -ENOMEM. */
static int64_t find_service(struct shown *shown, const struct sample_labels *labels,
			    unsigned wanted)
{
	cleanup_free char *text = NULL;
	const struct profile *profile = shown->profile;
	struct set_label set[LABEL_SET_MAX];
	size_t nr = wanted & LABEL_SET ? profile_label_set(profile, labels->set, set) : 0;
	size_t length = 0, i;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return -ENOMEM;
	if (wanted & LABEL_COMM)
		(void)fputs(profile_string(profile, labels->comm), out);
	if (wanted & LABEL_CGROUP)
		(void)fprintf(out, "%s%s", ftell(out) ? " " : "",
			      profile_string(profile, labels->cgroup));
	if (wanted & LABEL_PID)
		(void)fprintf(out, "%spid %" PRId32, ftell(out) ? " " : "", labels->pid);
	for (i = 0; i < nr; i++)
		if (set[i].text)
			(void)fprintf(out, "%s%s", ftell(out) ? " " : "",
				      profile_string(profile, set[i].text));
	if (fclose(out) != 0)
		return -ENOMEM;
	return strings_add_bytes(shown->services, text, length);
}

/* Returns the number of the series, which is added if needed, or -ENOMEM. */
static int64_t find_series(struct shown *shown, const struct series *wanted)
{
	uint64_t hash = hash_add(hash_add(wanted->service, wanted->name), wanted->module);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&shown->index, hash, &probe, &number))
		if (!memcmp(&shown->series[number], wanted, sizeof(*wanted)))
			return number;
	if (number_index_reserve(&shown->index) < 0 ||
	    ARRAY_ADD(shown->series, shown->nr, shown->capacity, *wanted) < 0)
		return -ENOMEM;
	number_index_add(&shown->index, hash, (uint32_t)(shown->nr - 1));
	return (int64_t)shown->nr - 1;
}

/* Fills in the function that was running. */
static int find_function(struct shown *shown, const struct sample *sample, struct series *ret)
{
	const struct profile *profile = shown->profile;
	const uint32_t number = profile_sample_frames(profile, sample)[0];
	const struct frame *frame = profile_frame(profile, number);
	const struct code_line *lines = profile_lines(profile, frame);
	const char *name = profile_string(profile, lines && frame->nr_lines ? lines[0].function
									    : frame->function);
	int64_t name_number = strings_add(
		shown->texts, *name ? name : named_stacks_no_name(profile, frame->module));
	int64_t module = strings_add(shown->texts, profile_module_name(profile, frame->module));

	if (name_number < 0 || module < 0)
		return -ENOMEM;
	ret->name = (uint32_t)name_number;
	ret->module = (uint32_t)module;
	return 0;
}

/* How many samples an amount of 1 is. */
static double samples_per_amount(const struct profile *profile)
{
	int samples = profile_find_value(profile, "samples");
	uint64_t amount = profile_sample_amount(profile), total = profile_total(profile);

	if (samples > 0 && total)
		return (double)profile_value_total(profile, (size_t)samples) / (double)total;
	return amount  ? 1 / (double)amount
	       : total ? (double)profile_nr_samples(profile) / (double)total
		       : 0;
}

/* Periods without any sample have no slice, and slices may come in any order. */
static void find_periods(struct shown *shown)
{
	uint64_t last_ns = 0;
	size_t i;

	for (i = 1; i <= profile_nr_slices(shown->profile); i++) {
		const struct time_slice slice = profile_slice(shown->profile, (uint32_t)i);

		if (i == 1 || slice.start_ns < shown->first_ns)
			shown->first_ns = slice.start_ns;
		if (slice.start_ns > last_ns)
			last_ns = slice.start_ns;
		shown->period_ns = slice.end_ns - slice.start_ns;
	}
	shown->table.nr_periods =
		shown->period_ns ? (last_ns - shown->first_ns) / shown->period_ns + 1 : 0;
}

static size_t period_of(const struct shown *shown, const struct sample *sample)
{
	const struct time_slice slice = profile_slice(shown->profile, sample->labels.slice);

	return (slice.start_ns - shown->first_ns) / shown->period_ns;
}

static int add_sample(struct shown *shown, const struct sample *sample, unsigned labels,
		      double each)
{
	struct growth_table *table = &shown->table;
	const size_t nr = table->nr_periods, had = shown->cap_samples;
	int64_t service = find_service(shown, &sample->labels, labels), number;
	struct series series = {.service = (uint32_t)service};

	if (service < 0 || find_function(shown, sample, &series) < 0)
		return -ENOMEM;
	number = find_series(shown, &series);
	if (number < 0 ||
	    ARRAY_RESERVE(table->samples, shown->cap_samples, ((size_t)number + 1) * nr) < 0)
		return -ENOMEM;
	if (shown->cap_samples > had)
		memset(table->samples + had, 0,
		       (shown->cap_samples - had) * sizeof(*table->samples));
	table->samples[(size_t)number * nr + period_of(shown, sample)] +=
		(double)sample->count * each;
	shown->mean += (double)sample->count * each / (double)nr;
	return 0;
}

static int fill_table(struct shown *shown, const struct growth_style *style)
{
	const struct profile *profile = shown->profile;
	struct growth_table *table = &shown->table;
	double each = samples_per_amount(profile);
	int err = 0;
	uint32_t i;

	table->cycle = style->cycle ? style->cycle : 1;
	find_periods(shown);
	for (i = 0; i < profile_nr_samples(profile) && !err; i++) {
		const struct sample *sample = profile_sample(profile, i);

		if (sample->count && sample->nr_frames && sample->labels.slice)
			err = add_sample(shown, sample, style->labels, each);
	}
	table->nr_rows = shown->nr;
	table->nr_services = strings_nr(shown->services);
	table->services = calloc(shown->nr + 1, sizeof(*table->services));
	if (err || !table->services)
		return -ENOMEM;
	for (i = 0; i < shown->nr; i++)
		table->services[i] = shown->series[i].service;
	return growths_find(&shown->growths, table, style->confidence);
}

static uint64_t period_start(const struct shown *shown, const struct growth *growth)
{
	return shown->first_ns + growth->since * shown->period_ns;
}

static void leave_older_out(struct shown *shown, uint64_t since_ns)
{
	struct growths *growths = &shown->growths;
	size_t nr = 0, i;

	for (i = 0; i < growths->nr; i++)
		if (period_start(shown, &growths->rows[i]) + shown->period_ns > since_ns)
			growths->rows[nr++] = growths->rows[i];
	growths->nr = nr;
}

/* --- the table -------------------------------------------------------------------------------- */

enum {
	GROWTH,
	FACTOR,
	ERROR,
	SINCE,
	SINCE_TIME,
	COST,
	SIGMA,
	FUNCTION,
	MODULE,
	SERVICE,
	NR_COLUMNS
};

static const struct column columns[NR_COLUMNS] = {
	[GROWTH] = {NULL, "GROWTH, %", UNIT_PERCENT, COLUMN_SIGNED | COLUMN_ERROR, .decimals = 1},
	[FACTOR] = {"factor", NULL, .precise = 6},
	[ERROR] = {"error", NULL, .precise = 6},
	[SINCE] = {"since", "SINCE", .flags = COLUMN_NUMBER},
	[SINCE_TIME] = {"since_time", NULL},
	[COST] = {"cost", "COST", UNIT_PERCENT, .decimals = 2, .precise = 6},
	[SIGMA] = {"sigma", "SIGMA", .decimals = 2, .precise = 2},
	[FUNCTION] = {"name", "FUNCTION", .flags = COLUMN_NAME | COLUMN_MAIN},
	[MODULE] = {"module", "MODULE", .flags = COLUMN_NAME},
	[SERVICE] = {"service", "SERVICE", .flags = COLUMN_NAME},
};

static void read_row(const void *context, size_t number, struct row *row)
{
	const struct shown *shown = context;
	const struct growth *growth = &shown->growths.rows[number];
	const struct series *series = &shown->series[growth->row];
	const uint64_t start_ns = period_start(shown, growth);

	(void)moment_text(row->scratch, start_ns);
	row->scratch[MINUTES_BYTES] = '\0';
	row->cells[GROWTH] = cell_real(100 * (growth->factor - 1));
	row->cells[GROWTH].error = 100 * growth->error;
	row->cells[FACTOR] = cell_real(growth->factor);
	row->cells[ERROR] = cell_real(growth->error);
	row->cells[SINCE] = cell_text(row->scratch);
	row->cells[SINCE_TIME] = cell_count(start_ns / 1000000000);
	row->cells[COST] = cell_real(100 * growth->more / shown->mean);
	row->cells[SIGMA] = cell_real(growth->sigma);
	row->cells[FUNCTION] = cell_text(strings_get(shown->texts, series->name));
	row->cells[MODULE] = cell_text(strings_get(shown->texts, series->module));
	row->cells[SERVICE] = cell_text(strings_get(shown->services, series->service));
}

static void add_summary(struct sheet *sheet, const struct shown *shown, uint64_t since_ns)
{
	const struct growths *growths = &shown->growths;
	char tested[NUMBER_COMMAS_BYTES], few[NUMBER_COMMAS_BYTES], since[MOMENT_BYTES] = "";

	sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	sheet_add_words(
		sheet,
		"%zu of %s functions grew%s%s; %s have too few samples, or were not there long "
		"enough, to be tested.",
		growths->nr, number_commas(tested, growths->nr_tested), since_ns ? " since " : "",
		since_ns ? moment_text(since, since_ns) : "", number_commas(few, growths->nr_few));
}

int growth_sheet_fill(struct sheet *sheet, const struct profile *profile,
		      const struct growth_style *style)
{
	static const struct column tested = {"tested", NULL, UNIT_COUNT},
				   few = {"not_tested", NULL, UNIT_COUNT},
				   least = {"least_sigma", NULL, .precise = 2};
	struct shown *shown = calloc(1, sizeof(*shown));
	struct table table = {"rows", columns, NR_COLUMNS, .read_row = read_row, .context = shown};
	size_t most = style->max_rows ? style->max_rows : DEFAULT_ROWS;
	int err;

	if (!shown || sheet_keep(sheet, shown, shown_free) < 0)
		return -ENOMEM;
	shown->profile = profile;
	shown->texts = strings_new();
	shown->services = strings_new();
	if (!shown->texts || !shown->services)
		return -ENOMEM;
	err = fill_table(shown, style);
	if (err)
		return err;
	leave_older_out(shown, style->since_ns);
	sheet_add_figure(sheet, MEDIA_JSON, &tested, cell_count(shown->growths.nr_tested));
	sheet_add_figure(sheet, MEDIA_JSON, &few, cell_count(shown->growths.nr_few));
	sheet_add_figure(sheet, MEDIA_JSON, &least, cell_real(shown->growths.least_sigma));
	table.nr_rows = shown->growths.nr;
	sheet_add_table(sheet, MEDIA_PROGRAMS, &table);
	table.nr_rows = shown->growths.nr < most ? shown->growths.nr : most;
	if (table.nr_rows) {
		sheet_add_table(sheet, MEDIA_PEOPLE, &table);
		sheet_add_line(sheet, MEDIA_PEOPLE, LINE_PLAIN);
	}
	add_summary(sheet, shown, style->since_ns);
	return sheet_status(sheet);
}
