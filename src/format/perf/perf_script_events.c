/*
 * The first event is the count until the end, when it is known which one has the most samples. The
 * others are found by name, as they are few.
 */
#include "format/perf/perf_script_events.h"

#include <errno.h>
#include <string.h>

#include "format/text/clean_string.h"

#define COUNT	"count"
#define SAMPLES "samples"

static bool is_clock(struct perf_text event)
{
	return memmem(event.at, event.nr, "cpu-clock", strlen("cpu-clock")) ||
	       memmem(event.at, event.nr, "task-clock", strlen("task-clock"));
}

static const char *unit_of(const struct perf_header *header)
{
	if (!header->has_period)
		return SAMPLES;
	return header->event.nr && is_clock(header->event) ? "nanoseconds" : COUNT;
}

static void set_counted(struct profile *profile, struct value_type type)
{
	struct profile_origin origin = *profile_origin(profile);

	origin.counted = type;
	profile_set_origin(profile, &origin);
}

static void append(struct perf_events *events, uint32_t name, size_t value)
{
	events->events[events->nr++] = (struct perf_event){.name = name, .value = value};
}

static int find_type(const struct profile *profile, const struct value_type *type)
{
	struct value_type known;
	size_t i;

	for (i = 0; i < profile_nr_values(profile); i++) {
		known = profile_value_type(profile, i);
		if (known.type == type->type && known.unit == type->unit)
			return (int)i;
	}
	return -ENOENT;
}

/* The number of a value of this type, known or new; -ENOMEM; -E2BIG. */
static int add_type(struct profile *profile, const struct value_type *type)
{
	int number = find_type(profile, type);

	return number < 0 ? profile_add_value_type(profile, type) : number;
}

/* --- as comments have it ------------------------------------------------------------------------
 */

static int tell_value(struct perf_events *events, const struct value_type *type)
{
	if (events->nr)
		return add_type(events->profile, type);
	set_counted(events->profile, profile_counted(events->profile, type));
	return 0;
}

/* Or there is no room for it. */
static bool is_known(const struct perf_events *events, uint32_t name)
{
	size_t i;

	if (events->nr == PROFILE_MAX_VALUES)
		return true;
	for (i = 0; i < events->nr; i++)
		if (events->events[i].name == name)
			return true;
	return false;
}

int perf_events_tell(struct perf_events *events, const struct perf_comment *comment)
{
	struct profile *profile = events->profile;
	bool is_multiple = comment->kind == PERF_COMMENT_FOR_EACH;
	int64_t word = clean_string_add(profile, comment->word.at, comment->word.nr);
	int64_t type = clean_string_add(profile, comment->type.at, comment->type.nr);
	int64_t unit = clean_string_add(profile, comment->unit.at, comment->unit.nr);
	int number;

	if (word < 0 || type < 0 || unit < 0)
		return -ENOMEM;
	if (is_multiple ? !events->nr || events->multiple : is_known(events, (uint32_t)word))
		return 0;
	number = tell_value(events, &(struct value_type){(uint32_t)type, (uint32_t)unit});
	if (number < 0)
		return number == -ENOMEM ? number : 0;
	events->is_told = true;
	if (!is_multiple) {
		append(events, (uint32_t)word, (size_t)number);
		return 0;
	}
	events->multiple = (size_t)number;
	events->factor = comment->number;
	return 0;
}

/* --- as they come -------------------------------------------------------------------------------
 */

/* What was counted so far, one for each sample of the first event, were samples too. */
static int copy_counts(struct perf_events *events)
{
	size_t nr = profile_nr_samples(events->profile);
	int result = 0;
	uint32_t i;

	for (i = 0; i < nr && !result; i++)
		result = profile_add_value(events->profile, i, events->samples,
					   profile_value(events->profile, i, 0));
	return result;
}

/* 0 or -ENOMEM. */
static int add_samples(struct perf_events *events)
{
	int64_t type = profile_add_string(events->profile, SAMPLES);
	int64_t unit = profile_add_string(events->profile, COUNT);
	int number;

	if (type < 0 || unit < 0)
		return -ENOMEM;
	if (events->events[0].name == type) /* nothing else is to be called so */
		return 0;
	number = profile_add_value_type(events->profile,
					&(struct value_type){(uint32_t)type, (uint32_t)unit});
	if (number < 0)
		return number;
	events->samples = (size_t)number;
	return events->events[0].has_periods ? 0 : copy_counts(events);
}

/* An event that perf did not name has to be called something. 0 or -ENOMEM. */
static int make_type(struct profile *profile, uint32_t name, const char *unit,
		     struct value_type *ret)
{
	int64_t type = name ? name : profile_add_string(profile, "events");
	int64_t string = profile_add_string(profile, unit);

	if (type < 0 || string < 0)
		return -ENOMEM;
	*ret = (struct value_type){(uint32_t)type, (uint32_t)string};
	return 0;
}

/* The single event was what samples are of; from now on it is one of several. */
static int name_first(struct perf_events *events)
{
	struct value_type type;

	if (make_type(events->profile, events->events[0].name, SAMPLES, &type) < 0)
		return -ENOMEM;
	set_counted(events->profile, type);
	return add_samples(events);
}

static int add_first(struct perf_events *events, uint32_t name, struct value_type type,
		     bool has_periods)
{
	append(events, name, 0);
	events->events[0].has_periods = has_periods;
	if (!has_periods)
		return 0;
	set_counted(events->profile, profile_counted(events->profile, &type));
	return add_samples(events);
}

static int add(struct perf_events *events, const struct perf_header *header, uint32_t name)
{
	struct value_type type;
	int number = make_type(events->profile, name, unit_of(header), &type);

	if (number < 0)
		return number;
	if (!events->nr)
		return add_first(events, name, type, header->has_period);
	if (!events->is_told && events->nr == 1 && !events->events[0].has_periods)
		number = name_first(events);
	if (number < 0)
		return number;
	number = add_type(events->profile, &type);
	if (number < 0)
		return number;
	append(events, name, (size_t)number);
	events->events[events->nr - 1].has_periods = header->has_period;
	return 0;
}

/* An event has the name of what counts samples, as in older texts of ours: what it says is right. */
static void give_samples(struct perf_events *events, uint32_t name)
{
	profile_clear_value(events->profile, events->samples);
	append(events, name, events->samples);
	events->samples = 0;
}

static void note_period(struct perf_event *event, uint64_t period)
{
	event->varies |= event->period && event->period != period;
	event->period = period;
}

int perf_events_find(struct perf_events *events, const struct perf_header *header,
		     struct perf_event **ret)
{
	struct profile *profile = events->profile;
	int64_t name = clean_string_add(profile, header->event.at, header->event.nr);
	int result = 0;
	size_t i;

	if (name < 0)
		return (int)name;
	for (i = 0; i < events->nr && events->events[i].name != name; i++)
		;
	if (i == events->nr && events->samples && i < PROFILE_MAX_VALUES &&
	    profile_value_type(profile, events->samples).type == name)
		give_samples(events, (uint32_t)name);
	else if (i == events->nr)
		result = i < PROFILE_MAX_VALUES ? add(events, header, (uint32_t)name) : -E2BIG;
	*ret = result < 0 ? NULL : &events->events[i];
	if (*ret && header->has_period)
		note_period(*ret, header->period ? header->period : 1);
	return result == -ENOMEM ? result : 0;
}

/* --- counting -----------------------------------------------------------------------------------
 */

bool perf_events_have_room(const struct perf_events *events, const struct perf_event *event,
			   uint64_t weight)
{
	uint64_t multiple;

	if (!profile_value_has_room(events->profile, event->value, weight))
		return false;
	if (event->value || !events->multiple)
		return true;
	return !__builtin_mul_overflow(weight, events->factor, &multiple) &&
	       profile_value_has_room(events->profile, events->multiple, multiple);
}

int perf_events_count(struct perf_events *events, struct perf_event *event, uint32_t sample,
		      uint64_t weight)
{
	int result = profile_add_value(events->profile, sample, event->value, weight);

	event->nr_samples++;
	if (!result && events->samples)
		result = profile_add_value(events->profile, sample, events->samples, 1);
	if (!result && events->multiple && !event->value)
		result = profile_add_value(events->profile, sample, events->multiple,
					   weight * events->factor);
	return result;
}

/* --- the end ------------------------------------------------------------------------------------
 */

static size_t find_most(const struct perf_events *events)
{
	size_t most = 0, i;

	for (i = 1; i < events->nr; i++)
		if (events->events[i].nr_samples > events->events[most].nr_samples)
			most = i;
	return most;
}

static int set_origin(struct profile *profile, const struct perf_event *event)
{
	struct profile_origin origin = *profile_origin(profile);
	int64_t count = profile_add_string(profile, COUNT);

	if (count < 0)
		return (int)count;
	origin.event = event->name;
	origin.unit = event->has_periods ? origin.counted.unit : (uint32_t)count;
	origin.period = event->has_periods && !event->varies ? event->period : 0;
	profile_set_origin(profile, &origin);
	return 0;
}

/* Those that came before it move up by one, so that the others keep their order. */
int perf_events_finish(struct perf_events *events)
{
	size_t most = find_most(events), i;

	if (!events->nr || events->is_told)
		return 0;
	for (i = 1; i <= most; i++)
		if (profile_choose_value(events->profile, events->events[i].value) < 0)
			return -ENOMEM;
	return set_origin(events->profile, &events->events[most]);
}
