/* Frames are mapped to functions once; a sample then costs one look a frame. */
#include "profile/function_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "profile/number_index.h"

/* The number of the frame's function, in order of appearance; or -ENOMEM. */
static int64_t add_function(struct function_totals *totals, struct number_index *index,
			    const struct frame *frame)
{
	uint64_t hash = hash_add((uint64_t)frame->function << 32 | frame->module, frame->kind);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(index, hash, &probe, &number)) {
		const struct function_total *known = &totals->functions[number];

		if (known->name == frame->function && known->module == frame->module &&
		    known->kind == frame->kind)
			return number;
	}
	if (number_index_reserve(index) < 0 ||
	    array_reserve(&totals->functions, &totals->cap, totals->nr + 1,
			  sizeof(*totals->functions)) < 0)
		return -ENOMEM;
	totals->functions[totals->nr] = (struct function_total){
		.name = frame->function, .module = frame->module, .kind = frame->kind};
	number_index_add(index, hash, (uint32_t)totals->nr);
	return (int64_t)totals->nr++;
}

static int map_frames(struct function_totals *totals, const struct profile *profile,
		      uint32_t *function_of_frame)
{
	cleanup(number_index_clear) struct number_index index = {0};
	size_t nr = profile_nr_frames(profile);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		int64_t number = add_function(totals, &index, profile_frame(profile, i));

		if (number < 0)
			return (int)number;
		function_of_frame[i] = (uint32_t)number;
	}
	return 0;
}

static void count_sample(struct function_totals *totals, const struct profile *profile,
			 uint32_t number, const uint32_t *function_of_frame)
{
	const struct sample *sample = profile_sample(profile, number);
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t i;

	if (!sample->nr_frames) {
		totals->no_frames_count += sample->count;
		return;
	}
	totals->functions[function_of_frame[frames[0]]].self += sample->count;
	for (i = 0; i < sample->nr_frames; i++) {
		struct function_total *function = &totals->functions[function_of_frame[frames[i]]];

		if (function->last_sample == number + 1)
			continue;
		function->last_sample = number + 1;
		function->total += sample->count;
	}
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct function_total *one = a, *other = b;
	int order;

	if (one->self != other->self)
		return one->self > other->self ? -1 : 1;
	if (one->total != other->total)
		return one->total > other->total ? -1 : 1;
	order = strcmp(profile_string(context, one->name), profile_string(context, other->name));
	return order ? order : (one->module > other->module) - (one->module < other->module);
}

int function_totals_init(struct function_totals *totals, const struct profile *profile)
{
	cleanup_free uint32_t *function_of_frame = NULL;
	size_t nr_frames = profile_nr_frames(profile);
	uint32_t i;

	*totals = (struct function_totals){0};
	function_of_frame = calloc(nr_frames ? nr_frames : 1, sizeof(*function_of_frame));
	if (!function_of_frame || map_frames(totals, profile, function_of_frame) < 0) {
		function_totals_clear(totals);
		return -ENOMEM;
	}
	for (i = 0; i < profile_nr_samples(profile); i++)
		count_sample(totals, profile, i, function_of_frame);
	if (totals->nr)
		qsort_r(totals->functions, totals->nr, sizeof(*totals->functions),
			compare_functions, (void *)profile);
	return 0;
}

void function_totals_clear(struct function_totals *totals)
{
	free(totals->functions);
	*totals = (struct function_totals){0};
}
