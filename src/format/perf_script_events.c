/* The first event is what the profile's counts are of; the others are found by name, as they are few. */
#include "format/perf_script_events.h"

#include <errno.h>
#include <string.h>

#include "format/clean_string.h"

static bool is_clock(struct perf_text event)
{
	return memmem(event.at, event.nr, "cpu-clock", strlen("cpu-clock")) ||
	       memmem(event.at, event.nr, "task-clock", strlen("task-clock"));
}

static int64_t unit_of(struct profile *profile, const struct perf_header *header)
{
	bool is_time = header->has_period && header->event.nr && is_clock(header->event);

	return profile_add_string(profile, is_time ? "nanoseconds" : "count");
}

/* Where events are sums of periods. 0 or -ENOMEM. */
static int add_samples(struct perf_events *events)
{
	int64_t type = profile_add_string(events->profile, "samples");
	int64_t unit = profile_add_string(events->profile, "count");
	struct value_type samples;
	int number;

	if (type < 0 || unit < 0)
		return -ENOMEM;
	if (events->names[0] == type) /* nothing else is to be called so */
		return 0;
	samples = (struct value_type){(uint32_t)type, (uint32_t)unit};
	number = profile_add_value_type(events->profile, &samples);
	if (number < 0)
		return number;
	events->names[events->nr++] = samples.type;
	events->samples = (size_t)number;
	return 0;
}

static int add_first(struct perf_events *events, struct value_type type, bool has_periods)
{
	struct profile_origin origin = *profile_origin(events->profile);

	origin.event = type.type;
	origin.unit = type.unit;
	if (has_periods)
		origin.counted = type;
	profile_set_origin(events->profile, &origin);
	events->names[events->nr++] = type.type;
	return has_periods ? add_samples(events) : 0;
}

static int add(struct perf_events *events, const struct perf_header *header, uint32_t name,
	       size_t *ret_value)
{
	int64_t unit = unit_of(events->profile, header);
	struct value_type type = {.type = name};
	int number;

	if (unit < 0)
		return (int)unit;
	type.unit = (uint32_t)unit;
	*ret_value = 0;
	if (!events->nr)
		return add_first(events, type, header->has_period);
	number = profile_add_value_type(events->profile, &type);
	*ret_value = number < 0 ? PROFILE_MAX_VALUES : (size_t)number;
	if (number > 0)
		events->names[events->nr++] = name;
	return number == -ENOMEM ? number : 0;
}

int perf_events_find(struct perf_events *events, const struct perf_header *header,
		     size_t *ret_value)
{
	int64_t name = clean_string_add(events->profile, header->event.at, header->event.nr);
	size_t value;

	if (name < 0)
		return (int)name;
	for (value = 0; value < events->nr && events->names[value] != name; value++)
		;
	if (value == events->nr)
		return add(events, header, (uint32_t)name, ret_value);
	if (value && value == events->samples) {
		/* An event has their name, as perf_script_write() gives it: what it says is right. */
		profile_clear_value(events->profile, value);
		events->samples = 0;
	}
	*ret_value = value;
	return 0;
}
