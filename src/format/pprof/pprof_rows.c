/*
 * Every sample gets one number to be sorted by, made of the ranks of its labels and of its stack, so
 * that contents are compared once for each different one and not once for each sample.
 */
#include "format/pprof/pprof_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/pprof/pprof_stack_order.h"
#include "profile/profile.h"

/* --- samples ---------------------------------------------------------------------------------- */

static int collect(struct pprof_rows *rows)
{
	size_t nr = profile_nr_samples(rows->profile);
	uint32_t i;

	rows->samples = calloc(nr + 1, sizeof(*rows->samples));
	if (!rows->samples)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		int64_t label_row;

		if (!pprof_values_any(rows->profile, i))
			continue;
		label_row = pprof_label_rows_add(&rows->labels, profile_sample(rows->profile, i));
		if (label_row < 0)
			return -ENOMEM;
		rows->samples[rows->nr++] =
			(struct pprof_row_sample){.sample = i, .label_row = (uint32_t)label_row};
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t one = ((const struct pprof_row_sample *)a)->key;
	uint64_t other = ((const struct pprof_row_sample *)b)->key;

	return (one > other) - (one < other);
}

static int sort(struct pprof_rows *rows, const struct pprof_code *code)
{
	cleanup_free uint32_t *label_ranks = pprof_label_rows_order(&rows->labels);
	cleanup_free uint32_t *stack_ranks = pprof_stack_order(code);
	size_t i;

	if (!label_ranks || !stack_ranks)
		return -ENOMEM;
	for (i = 0; i < rows->nr; i++) {
		struct pprof_row_sample *row = &rows->samples[i];
		uint32_t stack = profile_sample(rows->profile, row->sample)->stack;

		row->key = (uint64_t)label_ranks[row->label_row] << 32 | stack_ranks[stack];
	}
	qsort(rows->samples, rows->nr, sizeof(*rows->samples), compare_keys);
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_values(const struct pprof_rows *rows, uint32_t sample, struct pprof_row *row)
{
	size_t i;

	for (i = 0; i < rows->values->nr; i++) {
		const struct pprof_value *value = &rows->values->values[i];

		row->values[i] +=
			profile_value(rows->profile, sample, value->number) * value->factor;
	}
}

bool pprof_rows_next(const struct pprof_rows *rows, size_t *position, struct pprof_row *ret)
{
	const struct pprof_row_sample *first = &rows->samples[*position];
	const struct sample *sample;

	if (*position == rows->nr)
		return false;
	sample = profile_sample(rows->profile, first->sample);
	*ret = (struct pprof_row){
		.what = pprof_label_rows_get(&rows->labels, first->label_row),
		.sample = sample,
		.frames = profile_sample_frames(rows->profile, sample),
	};
	for (; *position < rows->nr && rows->samples[*position].key == first->key; ++*position)
		add_values(rows, rows->samples[*position].sample, ret);
	return true;
}

size_t pprof_row_places(const struct pprof_row *row)
{
	return (size_t)row->sample->nr_frames + row->what.missed_user + row->what.missed_kernel;
}

uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i)
{
	if (row->what.missed_kernel && !i)
		return code->missed_kernel;
	i -= row->what.missed_kernel;
	return i < row->sample->nr_frames ? code->place_of_frame[row->frames[i]]
					  : code->missed_user;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The places of missed stacks are there whether they are needed or not. */
static void number_locations(struct pprof_code *code, const struct pprof_rows *rows)
{
	uint32_t nr = 0, i;

	for (i = 0; i < rows->labels.table.nr; i++) {
		struct pprof_row_labels labels = pprof_label_rows_get(&rows->labels, i);

		code->places[code->missed_user].is_used |= labels.missed_user;
		code->places[code->missed_kernel].is_used |= labels.missed_kernel;
	}
	for (i = 0; i < code->nr_places; i++)
		if (code->places[i].is_used)
			code->places[i].id = ++nr;
}

int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct format_options *options, const struct pprof_values *values,
		    struct pprof_code *code)
{
	*rows = (struct pprof_rows){
		.profile = profile,
		.values = values,
		.labels = {.profile = profile, .options = options, .code = code},
	};
	if (collect(rows) < 0 || sort(rows, code) < 0)
		return -ENOMEM;
	number_locations(code, rows);
	return 0;
}

void pprof_rows_clear(struct pprof_rows *rows)
{
	pprof_label_rows_clear(&rows->labels);
	free(rows->samples);
	*rows = (struct pprof_rows){0};
}
