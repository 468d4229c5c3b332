/* See pprof_values.h. */
#include "format/pprof/pprof_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/pprof/pprof_fields.h"
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

/* --- types ------------------------------------------------------------------------------------ */

static const char *unit_name(const struct profile *profile)
{
	uint32_t unit = profile_origin(profile)->unit;

	return unit ? profile_string(profile, unit) : PPROF_COUNT;
}

/* What the period is of. Time that a CPU ran is "cpu" to everybody who reads pprof. */
static const char *event_name(const struct profile *profile)
{
	const char *name = profile_string(profile, profile_origin(profile)->event);

	if (!strcmp(unit_name(profile), PPROF_NANOSECONDS) &&
	    (!strcmp(name, "cpu-clock") || !strcmp(name, "task-clock")))
		return "cpu";
	return *name ? name : "events";
}

static bool is_samples(const struct pprof_value *value)
{
	return !strcmp(value->type, PPROF_SAMPLES) && !strcmp(value->unit, PPROF_COUNT);
}

static int compare_values(const void *a, const void *b)
{
	const struct pprof_value *one = a, *other = b;
	int order = !strcmp(other->type, PPROF_SAMPLES) - !strcmp(one->type, PPROF_SAMPLES);

	if (!order)
		order = strcmp(one->type, other->type);
	/* Of those with one name the first is the one that the name stands for. */
	if (!order)
		order = (other->number == 0) - (one->number == 0);
	return order ? order : strcmp(one->unit, other->unit);
}

static struct pprof_value value_of(const struct profile *profile, size_t number,
				   const struct value_type *type)
{
	return (struct pprof_value){
		.type = profile_string(profile, type->type),
		.unit = profile_string(profile, type->unit),
		.number = number,
		.factor = 1,
	};
}

static void add_values(struct pprof_values *values, const struct profile *profile)
{
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++) {
		struct value_type type = profile_value_type(profile, i);

		values->values[values->nr++] = value_of(profile, i, &type);
	}
}

/* The only value of the event's name, or NULL; and how many there are. */
static const struct pprof_value *find_event(const struct pprof_values *values, size_t *ret_nr)
{
	const struct pprof_value *found = NULL;
	size_t nr = 0, i;

	for (i = 0; i < values->nr; i++)
		if (!strcmp(values->values[i].type, values->event)) {
			found = &values->values[i];
			nr++;
		}
	*ret_nr = nr;
	return nr == 1 ? found : NULL;
}

/* --- the event's own value -------------------------------------------------------------------- */

static bool fits(uint64_t total, uint64_t period)
{
	uint64_t product;

	return !__builtin_mul_overflow(total, period, &product) && product <= INT64_MAX;
}

/* Counts of samples, each taken after the same number of events. */
static bool has_events(const struct pprof_values *values, const struct profile *profile)
{
	uint64_t period = profile_origin(profile)->period;

	return period && is_samples(&values->values[0]) && fits(profile_total(profile), period);
}

static void add_event(struct pprof_values *values, const struct profile *profile)
{
	uint64_t period = profile_origin(profile)->period;
	const struct pprof_value *known;
	size_t nr;

	if (!has_events(values, profile))
		return;
	known = find_event(values, &nr);
	if (!nr && values->nr < PPROF_MAX_SAMPLE_TYPES) {
		values->values[values->nr++] =
			(struct pprof_value){values->event, values->unit, 0, period};
		values->preferred = values->event;
	}
	if (known && known->number && !strcmp(known->unit, values->unit) &&
	    pprof_values_are_multiples(profile, known->number, 0, period))
		values->preferred = values->event;
}

void pprof_values_init(struct pprof_values *values, const struct profile *profile)
{
	*values = (struct pprof_values){.nr = 0};
	add_values(values, profile);
	values->event = event_name(profile);
	values->unit = unit_name(profile);
	values->preferred = values->values[0].type;
	add_event(values, profile);
	qsort(values->values, values->nr, sizeof(values->values[0]), compare_values);
}
