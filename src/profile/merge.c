/* Numbers are mapped by merge_map.c; a sample costs one look at each of its frames, and one search. */
#include "profile/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/merge_map.h"
#include "profile/profile_values.h"

#define LEFT_OUT -1

struct merge {
	struct profile *into;
	const struct profile *from;
	struct merge_map map;
	int values[PROFILE_MAX_VALUES]; /* the own number of each of theirs, or LEFT_OUT */
	uint32_t *path;			/* of the sample being added */
	size_t cap_path;
};

/* --- samples ---------------------------------------------------------------------------------- */

static int add_values(struct merge *merge, uint32_t theirs, uint32_t ours)
{
	size_t nr = profile_nr_values(merge->from), i;
	int result = 0;

	for (i = 0; i < nr && !result; i++) {
		uint64_t amount = profile_value(merge->from, theirs, i);

		if (amount && merge->values[i] != LEFT_OUT)
			result = profile_add_value(merge->into, ours, (size_t)merge->values[i],
						   amount);
	}
	return result;
}

static int add_sample(struct merge *merge, uint32_t number)
{
	const struct sample *sample = profile_sample(merge->from, number);
	const uint32_t *frames = profile_sample_frames(merge->from, sample);
	struct sample_labels labels = sample->labels;
	int result = merge_map_labels(&merge->map, &labels);
	int64_t added;
	size_t i;

	if (result < 0)
		return result;
	if (array_reserve(&merge->path, &merge->cap_path, (size_t)sample->nr_frames + 1,
			  sizeof(*merge->path)) < 0)
		return -ENOMEM;
	for (i = 0; i < sample->nr_frames; i++) {
		int64_t frame = merge_map_frame(&merge->map, frames[i]);

		if (frame < 0)
			return (int)frame;
		merge->path[i] = (uint32_t)frame;
	}
	added = profile_add_sample(merge->into, &labels, merge->path, sample->nr_frames,
				   sample->nr_kernel_frames, 0);
	return added < 0 ? (int)added : add_values(merge, number, (uint32_t)added);
}

/* The own value for one of theirs, found by its type; or a negative errno. */
static int map_value(struct merge *merge, const struct profile *from, size_t number)
{
	struct value_type theirs = profile_value_type(from, number);
	struct value_type ours = profile_value_type(merge->into, 0);

	if (merge_map_strings(&merge->map, &theirs.type, &theirs.unit) < 0)
		return -ENOMEM;
	if (theirs.type == ours.type && theirs.unit == ours.unit)
		return 0;
	return profile_add_value_type(merge->into, &theirs);
}

static bool has_room(const struct merge *merge, const struct profile *from, size_t theirs,
		     size_t ours)
{
	return profile_value_has_room(merge->into, ours, profile_value_total(from, theirs));
}

static int map_values(struct merge *merge, const struct profile *from, size_t value)
{
	size_t i;

	for (i = 0; i < profile_nr_values(from); i++) {
		int number = value ? LEFT_OUT : map_value(merge, from, i);

		if (number < 0 && !value)
			return number;
		if (!value && !has_room(merge, from, i, (size_t)number))
			return -EOVERFLOW;
		merge->values[i] = number;
	}
	if (!value)
		return 0;
	merge->values[0] = (int)value;
	return has_room(merge, from, 0, value) ? 0 : -EOVERFLOW;
}

/* --- how they were taken ---------------------------------------------------------------------- */

static void keep_what_is_common(struct profile_origin *ours, const struct profile_origin *theirs)
{
	uint64_t start = ours->time_ns, end = start + ours->duration_ns;
	uint64_t their_end = theirs->time_ns + theirs->duration_ns;

	if (ours->event != theirs->event)
		ours->event = 0;
	if (ours->unit != theirs->unit || !ours->event)
		ours->unit = 0;
	if (ours->period != theirs->period || !ours->unit)
		ours->period = 0;
	if (!start || !theirs->time_ns || !ours->duration_ns || !theirs->duration_ns) {
		ours->time_ns = 0;
		ours->duration_ns = 0;
		return;
	}
	ours->time_ns = start < theirs->time_ns ? start : theirs->time_ns;
	ours->duration_ns = (end > their_end ? end : their_end) - ours->time_ns;
}

static int merge_origin(struct merge *merge)
{
	struct profile_origin ours = *profile_origin(merge->into);
	struct profile_origin theirs = *profile_origin(merge->from);
	size_t i;

	if (merge_map_strings(&merge->map, &theirs.event, &theirs.unit) < 0 ||
	    merge_map_strings(&merge->map, &theirs.counted.type, &theirs.counted.unit) < 0)
		return -ENOMEM;
	if (profile_nr_samples(merge->into))
		keep_what_is_common(&ours, &theirs);
	else
		ours = theirs;
	profile_set_origin(merge->into, &ours);
	for (i = 0; i < profile_nr_comments(merge->from); i++)
		if (profile_add_comment(merge->into, profile_comment(merge->from, i)) < 0)
			return -ENOMEM;
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void merge_clear(struct merge *merge)
{
	merge_map_clear(&merge->map);
	free(merge->path);
}

int profile_merge(struct profile *into, const struct profile *from, size_t value)
{
	cleanup(merge_clear) struct merge merge = {.into = into, .from = from};
	int result = merge_map_init(&merge.map, into, from);
	uint32_t i;

	if (!result)
		result = merge_origin(&merge);
	if (!result)
		result = map_values(&merge, from, value);
	for (i = 0; i < profile_nr_samples(from) && !result; i++)
		result = add_sample(&merge, i);
	return result;
}
