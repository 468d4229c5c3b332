/*
 * The values of samples: types, amounts and totals, and values derived from others.
 *
 * The main value is a field of each sample. Each further value is a column that ends at the last
 * sample with a non-zero amount. The number of events (samples * period) is not stored unless a
 * file has it: profile_values() derives it for writers, and profile_choose_samples() recognizes it
 * for readers.
 */
#include "profile/profile_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* --- types ------------------------------------------------------------------------------------ */

static struct value_type with_defaults(const struct profile *profile, struct value_type type)
{
	return (struct value_type){
		.type = type.type ? type.type : profile->samples_string,
		.unit = type.unit ? type.unit : profile->count_string,
	};
}

void profile_set_main_type(struct profile *profile, struct value_type type)
{
	profile->main_type = with_defaults(profile, type);
}

int profile_make_value_type(struct profile *profile, const char *type, const char *unit,
			    struct value_type *ret)
{
	int64_t type_string = profile_add_string(profile, type);
	int64_t unit_string = profile_add_string(profile, unit);

	if (type_string < 0 || unit_string < 0)
		return -ENOMEM;
	*ret = (struct value_type){(uint32_t)type_string, (uint32_t)unit_string};
	return 0;
}

size_t profile_nr_values(const struct profile *profile)
{
	return profile->nr_columns + 1;
}

struct value_type profile_value_type(const struct profile *profile, size_t number)
{
	return number ? profile->columns[number - 1].type : profile->main_type;
}

const char *profile_value_name(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).type);
}

const char *profile_value_unit(const struct profile *profile, size_t number)
{
	return profile_string(profile, profile_value_type(profile, number).unit);
}

int profile_add_value_type(struct profile *profile, const struct value_type *wanted)
{
	const struct value_type type = with_defaults(profile, *wanted);
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++) {
		struct value_type known = profile_value_type(profile, i);

		if (known.type == type.type && known.unit == type.unit)
			return (int)i;
	}
	if (profile->nr_columns == ARRAY_SIZE(profile->columns))
		return -E2BIG;
	profile->columns[profile->nr_columns] = (struct value_column){.type = type};
	return (int)++profile->nr_columns;
}

int profile_find_value(const struct profile *profile, const char *type)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (!strcmp(profile_value_name(profile, i), type))
			return (int)i;
	return -ENOENT;
}

static bool counts_samples(const struct profile *profile, size_t number)
{
	struct value_type type = profile_value_type(profile, number);

	return type.type == profile->samples_string && type.unit == profile->count_string;
}

bool profile_is_sum(const struct profile *profile)
{
	return !counts_samples(profile, 0) && (profile->main_type.unit != profile->count_string ||
					       strcmp(profile_value_name(profile, 0), "hits") != 0);
}

/* --- amounts ---------------------------------------------------------------------------------- */

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

bool profile_has_value(const struct profile *profile, uint32_t sample)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (profile_value(profile, sample, i))
			return true;
	return false;
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

int profile_choose_value(struct profile *profile, size_t number)
{
	struct value_type was = profile->main_type;
	struct value_column *column;
	uint64_t total = profile->total;
	size_t i;

	if (!number)
		return 0;
	column = &profile->columns[number - 1];
	/* Extends the column to all samples. */
	if (profile->nr_samples &&
	    profile_add_value(profile, (uint32_t)profile->nr_samples - 1, number, 0) < 0)
		return -ENOMEM;
	for (i = 0; i < profile->nr_samples; i++) {
		uint64_t count = profile->samples[i].count;

		profile->samples[i].count = column->amounts[i];
		column->amounts[i] = count;
	}
	profile->total = column->total;
	profile->main_type = column->type;
	column->total = total;
	column->type = was;
	return 0;
}

/* --- the period ------------------------------------------------------------------------------- */

/* The unit of the event that was sampled. */
static const char *event_unit(const struct profile *profile)
{
	uint32_t unit = profile->origin.unit;

	return profile_string(profile, unit ? unit : profile->count_string);
}

bool profile_has_clock_event(const struct profile *profile)
{
	const char *event = profile_string(profile, profile->origin.event);

	return (!strcmp(event, "cpu-clock") || !strcmp(event, "task-clock")) &&
	       !strcmp(event_unit(profile), "nanoseconds");
}

uint64_t profile_sample_amount(const struct profile *profile)
{
	const struct profile_origin *origin = &profile->origin;

	if (!profile_is_sum(profile))
		return 1;
	return origin->unit == profile->main_type.unit ? origin->period : 0;
}

/* True if a value of this name counts the event. */
static bool is_of_event(const struct profile *profile, const char *name)
{
	const char *event = profile_string(profile, profile->origin.event);

	return !strcmp(name, *event ? event : PROFILE_SOME_EVENTS) ||
	       (profile_has_clock_event(profile) && !strcmp(name, PROFILE_CPU_TIME));
}

/* Returns how many values have the event's name. *ret: the first one in its unit, or -ENOENT. */
static size_t find_events(const struct profile *profile, int *ret)
{
	size_t nr = 0, i;

	*ret = -ENOENT;
	for (i = 0; i < profile_nr_values(profile); i++) {
		if (!is_of_event(profile, profile_value_name(profile, i)))
			continue;
		nr++;
		if (*ret < 0 && !strcmp(profile_value_unit(profile, i), event_unit(profile)))
			*ret = (int)i;
	}
	return nr;
}

/* True if for every sample, value `number` equals value `of` times the period. */
static bool follows_from(const struct profile *profile, size_t number, size_t of)
{
	uint64_t product;
	uint32_t i;

	for (i = 0; i < profile->nr_samples; i++)
		if (__builtin_mul_overflow(profile_value(profile, i, of), profile->origin.period,
					   &product) ||
		    product != profile_value(profile, i, number))
			return false;
	return true;
}

size_t profile_values(const struct profile *profile, struct profile_value ret[PROFILE_MAX_VALUES])
{
	uint64_t period = profile->origin.period, total;
	size_t nr = profile_nr_values(profile), nr_events, i;
	int event;

	for (i = 0; i < nr; i++)
		ret[i] = (struct profile_value){
			.type = profile_value_name(profile, i),
			.unit = profile_value_unit(profile, i),
			.number = i,
			.factor = 1,
		};
	if (!period || profile_is_sum(profile) ||
	    __builtin_mul_overflow(profile->total, period, &total) || total > INT64_MAX)
		return nr;
	nr_events = find_events(profile, &event);
	if (event > 0 && follows_from(profile, (size_t)event, 0)) {
		ret[event].is_event = true;
	} else if (!nr_events && nr < PROFILE_MAX_VALUES) {
		ret[nr] = (struct profile_value){
			.type = profile_string(profile, profile->origin.event),
			.unit = event_unit(profile),
			.factor = period,
			.is_event = true,
		};
		if (!*ret[nr].type)
			ret[nr].type = PROFILE_SOME_EVENTS;
		nr++;
	}
	return nr;
}

int profile_choose_samples(struct profile *profile)
{
	int event;
	size_t i;

	/* With several values of the event's name, readers of files could not distinguish them. */
	if (!profile->origin.period || find_events(profile, &event) != 1 || event)
		return 0;
	for (i = 1; i < profile_nr_values(profile); i++)
		if (counts_samples(profile, i) && follows_from(profile, 0, i))
			return profile_choose_value(profile, i);
	return 0;
}

/* --- fractions -------------------------------------------------------------------------------- */

#define WEIGHT	 "weight"
#define PARTS_OF "1/1" /* followed by one zero per decimal */

struct value_scale value_scale(unsigned decimals)
{
	struct value_scale scale = {.decimals = decimals, .factor = 1};

	for (; decimals; decimals--)
		scale.factor *= 10;
	return scale;
}

int profile_set_scale(struct profile *profile, struct value_scale scale)
{
	struct value_type type;
	char unit[32];

	(void)snprintf(unit, sizeof(unit), "1/%" PRIu64, scale.factor);
	if (profile_make_value_type(profile, WEIGHT, unit, &type) < 0)
		return -ENOMEM;
	profile_set_main_type(profile, type);
	return 0;
}

struct value_scale profile_scale(const struct profile *profile)
{
	const char *unit = profile_value_unit(profile, 0);
	size_t nr = strlen(PARTS_OF), zeros;

	if (!text_starts_with(unit, PARTS_OF) ||
	    strcmp(profile_value_name(profile, 0), WEIGHT) != 0)
		return value_scale(0);
	zeros = strspn(unit + nr, "0");
	return value_scale(unit[nr + zeros] || zeros > VALUE_MAX_DECIMALS ? 0 : (unsigned)zeros);
}

const char *value_scale_text(char text[VALUE_SCALE_BYTES], uint64_t amount,
			     struct value_scale scale)
{
	uint64_t part = amount % scale.factor;
	int digits = (int)scale.decimals;
	int nr = snprintf(text, VALUE_SCALE_BYTES, "%" PRIu64, amount / scale.factor);

	for (; part && part % 10 == 0; part /= 10)
		digits--;
	if (part)
		(void)snprintf(text + nr, VALUE_SCALE_BYTES - (size_t)nr, ".%0*" PRIu64, digits,
			       part);
	return text;
}
