/* Types of values by name; see the rules in the header. */
#include "format/pprof/pprof_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/pprof/pprof_reader.h"
#include "profile/profile.h"

bool pprof_values_any(const struct profile *profile, uint32_t sample)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++)
		if (profile_value(profile, sample, i))
			return true;
	return false;
}

bool pprof_values_are_multiples(const struct profile *profile, size_t number, size_t of,
				uint64_t factor)
{
	uint64_t product;
	uint32_t i;

	for (i = 0; i < profile_nr_samples(profile); i++)
		if (__builtin_mul_overflow(profile_value(profile, i, of), factor, &product) ||
		    product != profile_value(profile, i, number))
			return false;
	return true;
}

/* The unit of the period. */
static const char *unit_name(const struct profile *profile)
{
	uint32_t unit = profile_origin(profile)->unit;

	return unit ? profile_string(profile, unit) : PPROF_COUNT;
}

static bool is_samples(const char *type, const char *unit)
{
	return !strcmp(type, PPROF_SAMPLES) && !strcmp(unit, PPROF_COUNT);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The event of the period. Readers of pprof know CPU time as "cpu". */
static const char *event_name(const struct profile *profile)
{
	const char *name = profile_string(profile, profile_origin(profile)->event);

	if (!strcmp(unit_name(profile), PPROF_NANOSECONDS) &&
	    (!strcmp(name, "cpu-clock") || !strcmp(name, "task-clock")))
		return "cpu";
	return *name ? name : "events";
}

static int compare_values(const void *a, const void *b)
{
	const struct pprof_value *one = a, *other = b;
	int order = !strcmp(other->type, PPROF_SAMPLES) - !strcmp(one->type, PPROF_SAMPLES);

	if (!order)
		order = strcmp(one->type, other->type);
	/* Readers take the first one of a name for it: let that be the count. */
	if (!order)
		order = (other->number == 0) - (one->number == 0);
	return order ? order : strcmp(one->unit, other->unit);
}

/* Adds the event's own value if samples were each taken after the same number of events. */
static void add_event(struct pprof_values *values, const struct profile *profile)
{
	uint64_t period = profile_origin(profile)->period, product;
	const struct pprof_value *count = &values->values[0], *known = NULL;
	size_t nr_known = 0, i;

	if (!period || !is_samples(count->type, count->unit) ||
	    __builtin_mul_overflow(profile_total(profile), period, &product) || product > INT64_MAX)
		return;
	for (i = 0; i < values->nr; i++)
		if (!strcmp(values->values[i].type, values->event)) {
			known = &values->values[i];
			nr_known++;
		}
	if (!nr_known && values->nr < PPROF_MAX_SAMPLE_TYPES) {
		values->values[values->nr++] =
			(struct pprof_value){values->event, values->unit, 0, period};
		values->preferred = values->event;
	}
	if (nr_known == 1 && known->number && !strcmp(known->unit, values->unit) &&
	    pprof_values_are_multiples(profile, known->number, 0, period))
		values->preferred = values->event;
}

void pprof_values_init(struct pprof_values *values, const struct profile *profile)
{
	size_t i;

	*values = (struct pprof_values){
		.event = event_name(profile),
		.unit = unit_name(profile),
		.nr = profile_nr_values(profile),
	};
	for (i = 0; i < values->nr; i++) {
		struct value_type type = profile_value_type(profile, i);

		values->values[i] = (struct pprof_value){
			.type = profile_string(profile, type.type),
			.unit = profile_string(profile, type.unit),
			.number = i,
			.factor = 1,
		};
	}
	values->preferred = values->values[0].type;
	add_event(values, profile);
	qsort(values->values, values->nr, sizeof(values->values[0]), compare_values);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A string of the file, or these words where it is empty. */
static int64_t string_or(struct pprof_tables *tables, uint32_t string, const char *words)
{
	int64_t number = pprof_tables_string(tables, string);

	return number ? number : profile_add_string(tables->profile, words);
}

/* The first one of the types that are the same as this one. */
static size_t first_of(const struct pprof_types *types, size_t number)
{
	const struct value_type *type = &types->types[number];
	size_t i;

	for (i = 0; i < number; i++)
		if (types->types[i].type == type->type && types->types[i].unit == type->unit)
			break;
	return i;
}

static size_t find_default(const struct pprof_types *types, uint32_t name)
{
	size_t i;

	for (i = 0; name && i < types->nr; i++)
		if (types->types[i].type == name)
			return i;
	return first_of(types, types->nr - 1);
}

int pprof_types_init(struct pprof_types *types, struct pprof_tables *tables,
		     struct profile *profile)
{
	int64_t default_name = pprof_tables_string(tables, tables->default_sample_type);
	struct profile_origin origin = *profile_origin(profile);
	size_t count, i;

	types->nr = tables->nr_sample_types;
	for (i = 0; i < types->nr; i++) {
		const struct pprof_value_type *type = &tables->sample_types[i];
		int64_t name = string_or(tables, type->type, "value");
		int64_t unit = string_or(tables, type->unit, PPROF_COUNT);

		if (name < 0 || unit < 0)
			return -ENOMEM;
		types->types[i] =
			(struct value_type){.type = (uint32_t)name, .unit = (uint32_t)unit};
	}
	if (default_name < 0)
		return -ENOMEM;
	if (!types->nr)
		return 0;
	count = find_default(types, (uint32_t)default_name);
	origin.counted = profile_counted(profile, &types->types[count]);
	profile_set_origin(profile, &origin);
	for (i = 0; i < types->nr; i++) {
		int number = 0;

		if (first_of(types, i) != i) {
			types->numbers[i] = PPROF_NOT_KEPT;
			continue;
		}
		if (i != count)
			number = profile_add_value_type(profile, &types->types[i]);
		if (number < 0)
			return number;
		types->numbers[i] = (size_t)number;
	}
	return 0;
}

/* True if the count is of the event that the period is of, and nothing else has its name. */
static bool counts_events(const struct pprof_types *types, const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	size_t nr = 0, i;

	for (i = 0; i < types->nr; i++) {
		if (types->numbers[i] == PPROF_NOT_KEPT || types->types[i].type != origin->event)
			continue;
		if (types->numbers[i] ||
		    strcmp(profile_string(profile, types->types[i].unit), unit_name(profile)) != 0)
			return false;
		nr++;
	}
	return nr == 1 && origin->period;
}

int pprof_types_finish(const struct pprof_types *types, struct profile *profile)
{
	size_t i, number;

	if (!counts_events(types, profile))
		return 0;
	for (i = 0; i < types->nr; i++) {
		number = types->numbers[i];
		if (number && number != PPROF_NOT_KEPT &&
		    is_samples(profile_string(profile, types->types[i].type),
			       profile_string(profile, types->types[i].unit)) &&
		    pprof_values_are_multiples(profile, 0, number, profile_origin(profile)->period))
			return profile_choose_value(profile, number);
	}
	return 0;
}
