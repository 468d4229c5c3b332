/* See pprof_types.h. */
#include "format/pprof/pprof_types.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "format/pprof/pprof_fields.h"
#include "format/pprof/pprof_values.h"
#include "profile/profile.h"

static bool is_text(const struct profile *profile, uint32_t string, const char *text)
{
	return !strcmp(profile_string(profile, string), text);
}

static bool is_samples(const struct profile *profile, const struct value_type *type)
{
	return is_text(profile, type->type, PPROF_SAMPLES) &&
	       is_text(profile, type->unit, PPROF_COUNT);
}

/* A string of the file, or these words where it is empty. */
static int64_t string_or(struct pprof_strings *strings, uint32_t string, const char *words)
{
	int64_t number = pprof_strings_get(strings, string);

	return number ? number : profile_add_string(strings->profile, words);
}

static int read_types(struct pprof_types *types, const struct pprof_tables *tables,
		      struct pprof_strings *strings)
{
	for (; types->nr < tables->nr_sample_types; types->nr++) {
		const struct pprof_value_type *type = &tables->sample_types[types->nr];
		int64_t name = string_or(strings, type->type, "value");
		int64_t unit = string_or(strings, type->unit, PPROF_COUNT);

		if (name < 0 || unit < 0)
			return -ENOMEM;
		types->types[types->nr] =
			(struct value_type){.type = (uint32_t)name, .unit = (uint32_t)unit};
	}
	return 0;
}

/* The first of the types that are the same as this one. */
static size_t first_of(const struct pprof_types *types, size_t number)
{
	const struct value_type *type = &types->types[number];
	size_t i;

	for (i = 0; i < number; i++)
		if (types->types[i].type == type->type && types->types[i].unit == type->unit)
			break;
	return i;
}

/* Which one is the default. */
static size_t find_default(const struct pprof_types *types, uint32_t name)
{
	size_t i;

	for (i = 0; name && i < types->nr; i++)
		if (types->types[i].type == name)
			return i;
	return first_of(types, types->nr - 1);
}

static int add_types(struct pprof_types *types, size_t count, struct profile *profile)
{
	struct profile_origin origin = *profile_origin(profile);
	size_t i;

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

int pprof_types_init(struct pprof_types *types, const struct pprof_tables *tables,
		     struct pprof_strings *strings, struct profile *profile)
{
	int64_t name = pprof_strings_get(strings, tables->default_sample_type);

	types->nr = 0;
	if (name < 0 || read_types(types, tables, strings) < 0)
		return -ENOMEM;
	return types->nr ? add_types(types, find_default(types, (uint32_t)name), profile) : 0;
}

/* --- samples behind the default --------------------------------------------------------------- */

/* Whether the count is of the event that the period is of, and nothing else has its name. */
static bool counts_events(const struct pprof_types *types, const struct profile *profile)
{
	const struct profile_origin *origin = profile_origin(profile);
	const char *unit = origin->unit ? profile_string(profile, origin->unit) : PPROF_COUNT;
	size_t nr = 0, i;

	for (i = 0; i < types->nr; i++) {
		if (types->numbers[i] == PPROF_NOT_KEPT || types->types[i].type != origin->event)
			continue;
		if (types->numbers[i] || !is_text(profile, types->types[i].unit, unit))
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
		if (number && number != PPROF_NOT_KEPT && is_samples(profile, &types->types[i]) &&
		    pprof_values_are_multiples(profile, 0, number, profile_origin(profile)->period))
			return profile_choose_value(profile, number);
	}
	return 0;
}
