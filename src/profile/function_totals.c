/*
 * Frames are mapped to their functions once, innermost first; a sample then costs one look at each.
 */
#include "profile/function_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "profile/number_index.h"

/* The functions of all frames, each frame's in a row. */
struct map {
	struct number_index index; /* of the totals' functions */
	uint32_t *first_of_frame;  /* one more than there are frames */
	uint32_t *functions;
	size_t nr, cap;
};

/* The number of a function of the frame, in order of appearance; or -ENOMEM. */
static int64_t add_function(struct function_totals *totals, struct number_index *index,
			    const struct frame *frame, uint32_t name)
{
	uint64_t hash = hash_add((uint64_t)name << 32 | frame->module, frame->kind);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(index, hash, &probe, &number)) {
		const struct function_total *known = &totals->functions[number];

		if (known->name == name && known->module == frame->module &&
		    known->kind == frame->kind)
			return number;
	}
	if (number_index_reserve(index) < 0 ||
	    array_reserve(&totals->functions, &totals->cap, totals->nr + 1,
			  sizeof(*totals->functions)) < 0)
		return -ENOMEM;
	totals->functions[totals->nr] = (struct function_total){

		.name = name, .module = frame->module, .kind = frame->kind};
	number_index_add(index, hash, (uint32_t)totals->nr);
	return (int64_t)totals->nr++;
}

static int map_frame(struct function_totals *totals, struct map *map, const struct profile *profile,
		     uint32_t number)
{
	const struct frame *frame = profile_frame(profile, number);
	const struct code_line *lines = frame->nr_lines ? profile_lines(profile, frame) : NULL;
	size_t nr = frame->nr_lines ? frame->nr_lines : 1, i;

	if (array_reserve(&map->functions, &map->cap, map->nr + nr, sizeof(*map->functions)) < 0)
		return -ENOMEM;
	map->first_of_frame[number] = (uint32_t)map->nr;
	for (i = 0; i < nr; i++) {
		uint32_t name = frame->nr_lines ? lines[i].function : frame->function;
		int64_t function = add_function(totals, &map->index, frame, name);

		if (function < 0)
			return (int)function;
		map->functions[map->nr++] = (uint32_t)function;
	}
	return 0;
}

static int map_init(struct map *map, struct function_totals *totals, const struct profile *profile)
{
	size_t nr = profile_nr_frames(profile);
	uint32_t i;

	map->first_of_frame = calloc(nr + 1, sizeof(*map->first_of_frame));
	if (!map->first_of_frame)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (map_frame(totals, map, profile, i) < 0)
			return -ENOMEM;
	map->first_of_frame[nr] = (uint32_t)map->nr;
	return 0;
}

static void map_clear(struct map *map)
{
	number_index_clear(&map->index);
	free(map->first_of_frame);
	free(map->functions);
}

static void count_sample(struct function_totals *totals, const struct profile *profile,
			 uint32_t number, const struct map *map)
{
	const struct sample *sample = profile_sample(profile, number);
	const uint32_t *frames = profile_sample_frames(profile, sample);
	size_t i, k;

	if (!sample->nr_frames) {
		totals->no_frames_count += sample->count;
		return;
	}
	totals->functions[map->functions[map->first_of_frame[frames[0]]]].self += sample->count;
	for (i = 0; i < sample->nr_frames; i++) {
		size_t end = map->first_of_frame[frames[i] + 1];

		for (k = map->first_of_frame[frames[i]]; k < end; k++) {
			struct function_total *function = &totals->functions[map->functions[k]];

			if (function->last_sample == number + 1)
				continue;
			function->last_sample = number + 1;
			function->total += sample->count;
		}
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
	cleanup(map_clear) struct map map = {0};
	uint32_t i;

	*totals = (struct function_totals){0};
	if (map_init(&map, totals, profile) < 0) {
		function_totals_clear(totals);
		return -ENOMEM;
	}
	for (i = 0; i < profile_nr_samples(profile); i++)
		count_sample(totals, profile, i, &map);
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
