/*
 * Each further value is a column of its own, as long as the last sample that has some of it. What
 * concerns samples with all of their values is here, too: profile_samples.c knows of counts only.
 */
#include "profile/profile_values.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile_state.h"

static bool same_type(const struct value_type *a, const struct value_type *b)
{
	return a->type == b->type && a->unit == b->unit;
}

int profile_add_value_type(struct profile *profile, const struct value_type *type)
{
	size_t i;

	for (i = 0; i < profile->nr_columns; i++)
		if (same_type(&profile->columns[i].type, type))
			return (int)i + 1;
	if (profile->nr_columns == ARRAY_SIZE(profile->columns))
		return -E2BIG;
	profile->columns[profile->nr_columns] = (struct value_column){.type = *type};
	return (int)++profile->nr_columns;
}

size_t profile_nr_values(const struct profile *profile)
{
	return profile->nr_columns + 1;
}

struct value_type profile_value_type(const struct profile *profile, size_t number)
{
	struct value_type type =
		number ? profile->columns[number - 1].type : profile->origin.counted;

	if (!type.type)
		type.type = profile->samples_string;
	if (!type.unit)
		type.unit = profile->count_string;
	return type;
}

struct value_type profile_counted(const struct profile *profile, const struct value_type *type)
{
	struct value_type counted = *type;

	if (counted.unit != profile->count_string)
		return counted;
	if (counted.type == profile->samples_string)
		return (struct value_type){0};
	if (!strcmp(profile_string(profile, counted.type), "hits"))
		counted.unit = 0;
	return counted;
}

int profile_add_value(struct profile *profile, uint32_t sample, size_t number, uint64_t amount)
{
	struct value_column *column;

	if (!number) {
		profile_add_count(profile, sample, amount);
		return 0;
	}
	column = &profile->columns[number - 1];
	if (sample >= column->nr) {
		if (array_reserve(&column->amounts, &column->cap, (size_t)sample + 1,
				  sizeof(*column->amounts)) < 0)
			return -ENOMEM;
		memset(column->amounts + column->nr, 0,
		       (sample + 1 - column->nr) * sizeof(*column->amounts));
		column->nr = (size_t)sample + 1;
	}
	column->amounts[sample] += amount;
	column->total += amount;
	return 0;
}

void profile_clear_value(struct profile *profile, size_t number)
{
	struct value_column *column = &profile->columns[number - 1];

	column->nr = 0;
	column->total = 0;
}

uint64_t profile_value(const struct profile *profile, uint32_t sample, size_t number)
{
	const struct value_column *column;

	if (!number)
		return profile->samples[sample].count;
	column = &profile->columns[number - 1];
	return sample < column->nr ? column->amounts[sample] : 0;
}

uint64_t profile_value_total(const struct profile *profile, size_t number)
{
	return number ? profile->columns[number - 1].total : profile->total;
}

bool profile_value_has_room(const struct profile *profile, size_t number, uint64_t more)
{
	uint64_t total = profile_value_total(profile, number);

	return total <= INT64_MAX && more <= INT64_MAX - total;
}

/* --- with the count ---------------------------------------------------------------------------
 */

void profile_drop_sample(struct profile *profile, uint32_t sample)
{
	uint64_t count = profile->samples[sample].count;
	size_t i;

	profile->samples[sample].count = 0;
	profile->total -= count;
	if (profile->samples[sample].stack == profile->other_stack)
		profile->other_count -= count;
	for (i = 0; i < profile->nr_columns; i++) {
		struct value_column *column = &profile->columns[i];

		if (sample >= column->nr)
			continue;
		column->total -= column->amounts[sample];
		column->amounts[sample] = 0;
	}
}

void profile_reset_samples(struct profile *profile)
{
	size_t i;

	for (i = 1; i <= profile->nr_columns; i++)
		profile_clear_value(profile, i);
	stack_table_reset(&profile->stacks);
	number_index_reset(&profile->sample_index);
	number_index_reset(&profile->slice_index);
	profile->nr_slices = 0;
	stack_table_reset(&profile->label_sets);
	profile->nr_samples = 0;
	profile->total = 0;
	profile->other_stack = -1;
	profile->other_count = 0;
}

/* Room in the column for each sample there is. 0 or -ENOMEM. */
static int fill_column(struct profile *profile, size_t number)
{
	size_t nr = profile->nr_samples;

	return nr ? profile_add_value(profile, (uint32_t)nr - 1, number, 0) : 0;
}

int profile_choose_value(struct profile *profile, size_t number)
{
	struct value_type was = profile_value_type(profile, 0);
	struct value_type type;
	struct value_column *column;
	uint64_t total = profile->total;
	size_t i;

	if (!number)
		return 0;
	column = &profile->columns[number - 1];
	type = profile_value_type(profile, number);
	if (fill_column(profile, number) < 0)
		return -ENOMEM;
	for (i = 0; i < profile->nr_samples; i++) {
		uint64_t count = profile->samples[i].count;

		profile->samples[i].count = column->amounts[i];
		column->amounts[i] = count;
	}
	profile->total = column->total;
	column->total = total;
	column->type = was;
	profile->origin.counted = profile_counted(profile, &type);
	return 0;
}

int profile_find_value(const struct profile *profile, const char *type)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (!strcmp(profile_string(profile, profile_value_type(profile, i).type), type))
			return (int)i;
	return -ENOENT;
}
