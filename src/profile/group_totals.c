/*
 * Places and labels are interned apart: each frame is mapped to its places once, each sample to its
 * labels. Samples are then counted set of labels by set of labels, so that the group of a place is
 * found by the place's number alone, and a frame of a sample costs one look, however many keys
 * there are.
 */
#include "profile/group_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "profile/number_index.h"

#define NO_GROUP UINT32_MAX

/* The places of all frames, each frame's in a row, innermost first; each sample's labels. */
struct counting {
	const struct profile *profile;
	const struct group_totals_style *style;
	struct group_totals *totals;

	struct group_place *places;
	size_t nr_places, cap_places;
	struct number_index place_index;
	uint32_t *first_of_frame; /* in place_of; one more than there are frames */
	uint32_t *place_of;
	size_t nr_place_of, cap_place_of;

	struct group_labels *labels;
	size_t nr_labels, cap_labels;
	struct number_index label_index;
	uint32_t *labels_of_sample;
	uint32_t *samples; /* sorted by their labels */

	uint32_t *group_of_place; /* with the labels of now */
	uint32_t *used_places;	  /* those that have a group */
	size_t nr_used;
};

static bool has_key(const struct counting *counting, enum group_key key)
{
	return counting->style->keys & GROUP_BIT(key);
}

/* --- places ---------------------------------------------------------------------------------- */

static uint64_t hash_place(const struct group_place *place)
{
	return hash_add(hash_add((uint64_t)place->function << 32 | place->module,
				 (uint64_t)place->file << 32 | place->line),
			place->kind);
}

static bool same_place(const struct group_place *a, const struct group_place *b)
{
	return a->function == b->function && a->module == b->module && a->file == b->file &&
	       a->line == b->line && a->kind == b->kind;
}

static int64_t intern_place(struct counting *counting, const struct group_place *place)
{
	uint64_t hash = hash_place(place);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&counting->place_index, hash, &probe, &number))
		if (same_place(&counting->places[number], place))
			return number;
	if (number_index_reserve(&counting->place_index) < 0 ||
	    array_reserve(&counting->places, &counting->cap_places, counting->nr_places + 1,
			  sizeof(*counting->places)) < 0)
		return -ENOMEM;
	counting->places[counting->nr_places] = *place;
	number_index_add(&counting->place_index, hash, (uint32_t)counting->nr_places);
	return (int64_t)counting->nr_places++;
}

static enum group_kind kind_of(const struct profile *profile, const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL)
		return GROUP_KIND_KERNEL;
	if (profile_module(profile, frame->module)->kind == MODULE_RUN_TIME)
		return GROUP_KIND_RUN_TIME;
	return GROUP_KIND_USER;
}

/*
 * A function in the kernel and one outside are never the same; nor are, where functions have no
 * names, those of different modules, unless modules were not asked for.
 */
static struct group_place place_of_line(const struct counting *counting, const struct frame *frame,
					const struct code_line *line)
{
	struct group_place place = {0};

	if (has_key(counting, GROUP_FUNCTION))
		place.function = line->function;
	if (has_key(counting, GROUP_MODULE))
		place.module = frame->module;
	if (has_key(counting, GROUP_FUNCTION) || has_key(counting, GROUP_KIND))
		place.kind = kind_of(counting->profile, frame);
	if (has_key(counting, GROUP_LINE)) {
		place.file = line->file;
		place.line = line->line;
	}
	return place;
}

static int map_frame(struct counting *counting, uint32_t number)
{
	const struct frame *frame = profile_frame(counting->profile, number);
	const struct code_line alone = {.function = frame->function};
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(counting->profile, frame) : &alone;
	size_t nr = frame->nr_lines ? frame->nr_lines : 1, i;

	if (array_reserve(&counting->place_of, &counting->cap_place_of, counting->nr_place_of + nr,
			  sizeof(*counting->place_of)) < 0)
		return -ENOMEM;
	counting->first_of_frame[number] = (uint32_t)counting->nr_place_of;
	for (i = 0; i < nr; i++) {
		const struct group_place place = place_of_line(counting, frame, &lines[i]);
		int64_t interned = intern_place(counting, &place);

		if (interned < 0)
			return -ENOMEM;
		counting->place_of[counting->nr_place_of++] = (uint32_t)interned;
	}
	return 0;
}

static int map_frames(struct counting *counting)
{
	size_t nr = profile_nr_frames(counting->profile), i;

	counting->first_of_frame = calloc(nr + 1, sizeof(*counting->first_of_frame));
	if (!counting->first_of_frame)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (map_frame(counting, (uint32_t)i) < 0)
			return -ENOMEM;
	counting->first_of_frame[nr] = (uint32_t)counting->nr_place_of;
	counting->group_of_place =
		malloc((counting->nr_places + 1) * sizeof(*counting->group_of_place));
	counting->used_places = calloc(counting->nr_places + 1, sizeof(*counting->used_places));
	if (!counting->group_of_place || !counting->used_places)
		return -ENOMEM;
	for (i = 0; i < counting->nr_places; i++)
		counting->group_of_place[i] = NO_GROUP;
	return 0;
}

/* --- labels ---------------------------------------------------------------------------------- */

static struct group_labels labels_of(const struct counting *counting, uint32_t number)
{
	const struct sample_labels *has = &profile_sample(counting->profile, number)->labels;
	struct group_labels labels = {0};

	if (has_key(counting, GROUP_COMM))
		labels.comm = has->comm;
	if (has_key(counting, GROUP_CGROUP))
		labels.cgroup = has->cgroup;
	if (has_key(counting, GROUP_PID))
		labels.pid = has->pid;
	if (has_key(counting, GROUP_TID))
		labels.tid = has->tid;
	if (has_key(counting, GROUP_CPU))
		labels.cpu = has->cpu;
	if (has_key(counting, GROUP_CATEGORY))
		labels.category = counting->style->category_of_sample[number];
	return labels;
}

static bool same_labels(const struct group_labels *a, const struct group_labels *b)
{
	return a->comm == b->comm && a->cgroup == b->cgroup && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu && a->category == b->category;
}

static int64_t intern_labels(struct counting *counting, const struct group_labels *labels)
{
	uint64_t hash = hash_bytes(labels, sizeof(*labels));
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&counting->label_index, hash, &probe, &number))
		if (same_labels(&counting->labels[number], labels))
			return number;
	if (number_index_reserve(&counting->label_index) < 0 ||
	    array_reserve(&counting->labels, &counting->cap_labels, counting->nr_labels + 1,
			  sizeof(*counting->labels)) < 0)
		return -ENOMEM;
	counting->labels[counting->nr_labels] = *labels;
	number_index_add(&counting->label_index, hash, (uint32_t)counting->nr_labels);
	return (int64_t)counting->nr_labels++;
}

/*
 * Sorts the samples by their labels, counting. first has room for one more than there are labels.
 */
static void sort_samples(struct counting *counting, size_t *first)
{
	size_t nr = profile_nr_samples(counting->profile), i;

	for (i = 0; i < nr; i++)
		first[counting->labels_of_sample[i] + 1]++;
	for (i = 0; i < counting->nr_labels; i++)
		first[i + 1] += first[i];
	for (i = 0; i < nr; i++)
		counting->samples[first[counting->labels_of_sample[i]]++] = (uint32_t)i;
}

static int map_samples(struct counting *counting)
{
	size_t nr = profile_nr_samples(counting->profile), i;
	cleanup_free size_t *first = NULL;

	counting->labels_of_sample = calloc(nr + 1, sizeof(*counting->labels_of_sample));
	counting->samples = calloc(nr + 1, sizeof(*counting->samples));
	if (!counting->labels_of_sample || !counting->samples)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		const struct group_labels labels = labels_of(counting, (uint32_t)i);
		int64_t number = intern_labels(counting, &labels);

		if (number < 0)
			return -ENOMEM;
		counting->labels_of_sample[i] = (uint32_t)number;
	}
	first = calloc(counting->nr_labels + 2, sizeof(*first));
	if (!first)
		return -ENOMEM;
	sort_samples(counting, first);
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

static int64_t add_group(struct group_totals *totals, const struct group_place *place,
			 const struct group_labels *labels)
{
	if (array_reserve(&totals->groups, &totals->cap, totals->nr + 1, sizeof(*totals->groups)) <
	    0)
		return -ENOMEM;
	totals->groups[totals->nr] = (struct group_total){.place = *place, .labels = *labels};
	return (int64_t)totals->nr++;
}

/* The group of a place, with the labels of now; NULL when out of memory. */
static struct group_total *group_at(struct counting *counting, uint32_t place,
				    const struct group_labels *labels)
{
	if (counting->group_of_place[place] == NO_GROUP) {
		int64_t group = add_group(counting->totals, &counting->places[place], labels);

		if (group < 0)
			return NULL;
		counting->group_of_place[place] = (uint32_t)group;
		counting->used_places[counting->nr_used++] = place;
	}
	return &counting->totals->groups[counting->group_of_place[place]];
}

static int count_places(struct counting *counting, uint32_t number)
{
	const struct sample *sample = profile_sample(counting->profile, number);
	const struct group_labels *labels = &counting->labels[counting->labels_of_sample[number]];
	const uint32_t *frames = profile_sample_frames(counting->profile, sample);
	size_t i, k;

	if (!sample->nr_frames)
		counting->totals->no_frames_count += sample->count;
	for (i = 0; i < sample->nr_frames; i++) {
		size_t first = counting->first_of_frame[frames[i]];

		for (k = first; k < counting->first_of_frame[frames[i] + 1]; k++) {
			struct group_total *group =
				group_at(counting, counting->place_of[k], labels);

			if (!group)
				return -ENOMEM;
			if (!i && k == first)
				group->self += sample->count;
			if (group->last_sample == number + 1)
				continue;
			group->last_sample = number + 1;
			group->total += sample->count;
		}
	}
	return 0;
}

static void forget_groups(struct counting *counting)
{
	size_t i;

	for (i = 0; i < counting->nr_used; i++)
		counting->group_of_place[counting->used_places[i]] = NO_GROUP;
	counting->nr_used = 0;
}

static int count_with_places(struct counting *counting)
{
	uint32_t labels = 0;
	size_t i;

	for (i = 0; i < profile_nr_samples(counting->profile); i++) {
		uint32_t number = counting->samples[i];

		if (!profile_sample(counting->profile, number)->count)
			continue;
		if (counting->labels_of_sample[number] != labels)
			forget_groups(counting);
		labels = counting->labels_of_sample[number];
		if (count_places(counting, number) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int count_labels(struct counting *counting)
{
	static const struct group_place nowhere = {0};
	size_t i;

	for (i = 0; i < counting->nr_labels; i++)
		if (add_group(counting->totals, &nowhere, &counting->labels[i]) < 0)
			return -ENOMEM;
	for (i = 0; i < profile_nr_samples(counting->profile); i++) {
		struct group_total *group =
			&counting->totals->groups[counting->labels_of_sample[i]];

		group->self += profile_sample(counting->profile, (uint32_t)i)->count;
		group->total = group->self;
	}
	return 0;
}

static int count_all(struct counting *counting)
{
	if (map_samples(counting) < 0)
		return -ENOMEM;
	if (!(counting->style->keys & GROUP_PLACE_KEYS))
		return count_labels(counting);
	if (map_frames(counting) < 0)
		return -ENOMEM;
	return count_with_places(counting);
}

static void counting_clear(struct counting *counting)
{
	free(counting->places);
	number_index_clear(&counting->place_index);
	free(counting->first_of_frame);
	free(counting->place_of);
	free(counting->labels);
	number_index_clear(&counting->label_index);
	free(counting->labels_of_sample);
	free(counting->samples);
	free(counting->group_of_place);
	free(counting->used_places);
}

/* --- order ----------------------------------------------------------------------------------- */

static int compare_texts(const struct profile *profile, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_string(profile, a), profile_string(profile, b));
}

/*
 * What weighs the same by what is shown of it, not by numbers, so that equal profiles print
 * equally.
 */
static int compare_keys(const struct counting *counting, const struct group_total *a,
			const struct group_total *b)
{
	const struct profile *profile = counting->profile;
	const int64_t numbers[][2] = {
		{a->place.kind, b->place.kind},	    {a->place.line, b->place.line},
		{a->labels.pid, b->labels.pid},	    {a->labels.tid, b->labels.tid},
		{a->labels.cpu, b->labels.cpu},	    {a->labels.category, b->labels.category},
		{a->place.module, b->place.module},
	};
	int order = compare_texts(profile, a->place.function, b->place.function);
	size_t i;

	if (!order && a->place.module != b->place.module)
		order = strcmp(profile_module_name(profile, a->place.module),
			       profile_module_name(profile, b->place.module));
	if (!order)
		order = compare_texts(profile, a->place.file, b->place.file);
	if (!order)
		order = compare_texts(profile, a->labels.comm, b->labels.comm);
	if (!order)
		order = compare_texts(profile, a->labels.cgroup, b->labels.cgroup);
	for (i = 0; i < ARRAY_SIZE(numbers) && !order; i++)
		order = (numbers[i][0] > numbers[i][1]) - (numbers[i][0] < numbers[i][1]);
	return order;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct counting *counting = context;
	const struct group_total *one = a, *other = b;
	bool by_total = counting->style->by_total;
	uint64_t first[2] = {by_total ? one->total : one->self,
			     by_total ? other->total : other->self};
	uint64_t second[2] = {by_total ? one->self : one->total,
			      by_total ? other->self : other->total};

	if (first[0] != first[1])
		return first[0] > first[1] ? -1 : 1;
	if (second[0] != second[1])
		return second[0] > second[1] ? -1 : 1;
	return compare_keys(counting, one, other);
}

int group_totals_init(struct group_totals *totals, const struct profile *profile,
		      const struct group_totals_style *style)
{
	cleanup(counting_clear) struct counting counting = {
		.profile = profile, .style = style, .totals = totals};

	*totals = (struct group_totals){0};
	if (count_all(&counting) < 0) {
		group_totals_clear(totals);
		return -ENOMEM;
	}
	if (totals->nr)
		qsort_r(totals->groups, totals->nr, sizeof(*totals->groups), compare_groups,
			&counting);
	return 0;
}

void group_totals_clear(struct group_totals *totals)
{
	free(totals->groups);
	*totals = (struct group_totals){0};
}
