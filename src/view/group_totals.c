/*
 * Counts a profile's samples by groups.
 *
 * Places and labels are interned separately: each frame is mapped to its places once, each sample
 * to its labels. Samples are sorted by labels before counting, so that an array indexed by place
 * finds the group: a frame of a sample costs one array access, however many keys there are.
 */
#include "view/group_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "view/named_stacks.h"

/* --- likeness --------------------------------------------------------------------------------- */

/*
 * Places with the same text, though the profile distinguishes them: files of the same name in
 * different folders or of different builds, JIT-compiled code of different processes, functions
 * without a name and functions that another tool has named `[unknown]`.
 */

static const char *const no_names[] = {"[unknown]", "[deleted]", "[unreadable]"};

struct likeness {
	const struct profile *profile; /* not owned */
	uint32_t *modules;	       /* by module: the first one with the same text */
	uint32_t no_names[ARRAY_SIZE(
		no_names)]; /* numbers of these strings; 0: not in the profile */
};

/* True if the modules' names are equal, and their texts for functions without a name. */
static bool read_alike(const struct profile *profile, uint32_t a, uint32_t b)
{
	return !strcmp(profile_module_name(profile, a), profile_module_name(profile, b)) &&
	       !strcmp(named_stacks_no_name(profile, a), named_stacks_no_name(profile, b));
}

/* Finds the first module with the same text in by_name, and adds this one if there is none. */
static int find_first(const struct profile *profile, struct number_index *by_name, uint32_t module,
		      uint32_t *ret)
{
	const char *name = profile_module_name(profile, module);
	uint64_t hash = hash_key(name, strlen(name));
	size_t probe = 0;
	uint32_t known;

	while (number_index_next(by_name, hash, &probe, &known))
		if (read_alike(profile, known, module)) {
			*ret = known;
			return 0;
		}
	if (number_index_reserve(by_name) < 0)
		return -ENOMEM;
	number_index_add(by_name, hash, module);
	*ret = module;
	return 0;
}

static int likeness_init(struct likeness *likeness, const struct profile *profile)
{
	cleanup(number_index_clear) struct number_index by_name = {0};
	size_t nr = profile_nr_modules(profile), k;
	uint32_t i;

	likeness->profile = profile;
	likeness->modules = calloc(nr, sizeof(*likeness->modules));
	if (!likeness->modules)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (find_first(profile, &by_name, i, &likeness->modules[i]) < 0)
			return -ENOMEM;
	for (i = 1; i < profile_nr_strings(profile); i++)
		for (k = 0; k < ARRAY_SIZE(no_names); k++)
			if (!strcmp(profile_string(profile, i), no_names[k]))
				likeness->no_names[k] = i;
	return 0;
}

/*
 * Returns the function, or 0 if its name is the text for functions without a name in this module.
 */
static uint32_t likeness_function(const struct likeness *likeness, uint32_t function,
				  uint32_t module)
{
	size_t i;

	for (i = 0; function && i < ARRAY_SIZE(likeness->no_names); i++)
		if (function == likeness->no_names[i] &&
		    !strcmp(named_stacks_no_name(likeness->profile, module), no_names[i]))
			return 0;
	return function;
}

#define NO_GROUP UINT32_MAX

/* The places of all frames, adjacent per frame and innermost first; the labels of all samples. */
struct counting {
	const struct profile *profile;
	const struct group_totals_style *style;
	struct group_totals *totals;

	struct likeness likeness;
	struct group_place *places;
	size_t nr_places, cap_places;
	struct number_index place_index;
	uint32_t *first_of_frame; /* index in place_of; has one entry more than frames */
	uint32_t *place_of;
	size_t nr_place_of, cap_place_of;

	struct group_labels *labels;
	size_t nr_labels, cap_labels;
	struct number_index label_index;
	uint32_t *labels_of_sample;
	uint32_t *samples; /* sorted by their labels */

	uint32_t *group_of_place; /* for the labels being counted; NO_GROUP: none yet */
	uint32_t *used_places;	  /* the places that have a group */
	size_t nr_used;
};

static bool has_key(const struct counting *counting, enum group_key key)
{
	return counting->style->keys & GROUP_BIT(key);
}

/* --- places ---------------------------------------------------------------------------------- */

static uint64_t hash_place(const struct group_place *place)
{
	uint64_t hash = hash_u64((uint64_t)place->function << 32 | place->module);

	hash = hash_add(hash, (uint64_t)place->file << 32 | place->line);
	return hash;
}

static bool same_place(const struct group_place *a, const struct group_place *b)
{
	return a->function == b->function && a->module == b->module && a->file == b->file &&
	       a->line == b->line;
}

/* True if these kinds are distinguished. For categories, only kernel or not matters. */
static bool is_other_kind(const struct counting *counting, enum group_kind a, enum group_kind b)
{
	if (has_key(counting, GROUP_KIND))
		return a != b;
	return counting->style->separate_kernel &&
	       (a == GROUP_KIND_KERNEL) != (b == GROUP_KIND_KERNEL);
}

static int64_t intern_place(struct counting *counting, const struct group_place *place)
{
	uint64_t hash = hash_place(place);
	struct group_place *known;
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&counting->place_index, hash, &probe, &number)) {
		known = &counting->places[number];
		if (!same_place(known, place) || is_other_kind(counting, known->kind, place->kind))
			continue;
		if (known->kind != place->kind)
			known->kind = GROUP_KIND_SEVERAL;
		return number;
	}
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

static struct group_place place_of_line(const struct counting *counting, const struct frame *frame,
					const struct code_line *line)
{
	struct group_place place = {0};

	if (has_key(counting, GROUP_MODULE))
		place.module = counting->likeness.modules[frame->module];
	if (has_key(counting, GROUP_FUNCTION))
		place.function =
			likeness_function(&counting->likeness, line->function, place.module);
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

	if (likeness_init(&counting->likeness, counting->profile) < 0)
		return -ENOMEM;
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

/* Returns the string of a sample's outermost frame if that is a state of its thread, or a kind of lock; else 0. */
static uint32_t state_of(const struct profile *profile, uint32_t number)
{
	static const char *const states[] = {
		"[runnable]",	 "[sleeping]",	 "[blocked]",	 "[idle]",	"[stopped]",
		"[running]",	 "[futex]",	 "[spinlock]",	 "[rwlock:R]",	"[rwlock:W]",
		"[mutex]",	 "[rwsem:R]",	 "[rwsem:W]",	 "[rt-mutex]",	"[rwlock-rt:R]",
		"[rwlock-rt:W]", "[pcpu-sem:R]", "[pcpu-sem:W]", "[semaphore]",
	};
	const struct sample *sample = profile_sample(profile, number);
	const struct frame *root;
	size_t i;

	if (!sample->nr_frames)
		return 0;
	root = profile_frame(profile,
			     profile_sample_frames(profile, sample)[sample->nr_frames - 1]);
	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(profile_string(profile, root->function), states[i]))
			return root->function;
	return 0;
}

static struct group_labels labels_of(const struct counting *counting, uint32_t number)
{
	const struct sample_labels *has = &profile_sample(counting->profile, number)->labels;
	struct group_labels labels = {0};

	if (has_key(counting, GROUP_COMM))
		labels.comm = has->comm;
	if (has_key(counting, GROUP_CGROUP))
		labels.cgroup = has->cgroup;
	if (has_key(counting, GROUP_PROBE))
		labels.probe = has->probe;
	if (has_key(counting, GROUP_STATE))
		labels.state = state_of(counting->profile, number);
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
	return a->comm == b->comm && a->cgroup == b->cgroup && a->probe == b->probe &&
	       a->state == b->state && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->category == b->category;
}

static int64_t intern_labels(struct counting *counting, const struct group_labels *labels)
{
	uint64_t hash = hash_key(labels, sizeof(*labels));
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

/* Interns the labels of all samples, and sorts the samples by labels (counting sort). */
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
	for (i = 0; i < nr; i++)
		first[counting->labels_of_sample[i] + 1]++;
	for (i = 0; i < counting->nr_labels; i++)
		first[i + 1] += first[i];
	for (i = 0; i < nr; i++)
		counting->samples[first[counting->labels_of_sample[i]]++] = (uint32_t)i;
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

/* Returns the group of a place and labels, which is added if needed; NULL when out of memory. */
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

static void add_self(const struct counting *counting, struct group_total *group, uint32_t number)
{
	const size_t other = counting->style->other;

	group->self += profile_sample(counting->profile, number)->count;
	if (other)
		group->self_other += profile_value(counting->profile, number, other);
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
				add_self(counting, group, number);
			if (group->last_sample == number + 1)
				continue;
			group->last_sample = number + 1;
			group->total += sample->count;
		}
	}
	return 0;
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
			while (counting->nr_used)
				counting->group_of_place
					[counting->used_places[--counting->nr_used]] = NO_GROUP;
		labels = counting->labels_of_sample[number];
		if (count_places(counting, number) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int count_labels(struct counting *counting)
{
	static const struct group_place nowhere = {0};
	const size_t other = counting->style->other;
	cleanup_free int64_t *group_of = calloc(counting->nr_labels + 1, sizeof(*group_of));
	uint32_t i;

	if (!group_of)
		return -ENOMEM;
	for (i = 0; i < counting->nr_labels; i++)
		group_of[i] = -1;
	for (i = 0; i < profile_nr_samples(counting->profile); i++) {
		const uint32_t labels = counting->labels_of_sample[i];
		struct group_total *group;

		if (!profile_sample(counting->profile, i)->count &&
		    !(other && profile_value(counting->profile, i, other)))
			continue; /* filtered out */
		if (group_of[labels] < 0)
			group_of[labels] =
				add_group(counting->totals, &nowhere, &counting->labels[labels]);
		if (group_of[labels] < 0)
			return -ENOMEM;
		group = &counting->totals->groups[group_of[labels]];
		add_self(counting, group, i);
		group->total = group->self;
	}
	return 0;
}

static void counting_clear(struct counting *counting)
{
	free(counting->likeness.modules);
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

/* --- order ------------------------------------------------------------------------------------ */

/* By weight, then by texts, then by numbers, so that equal profiles have equal output. */
struct order {
	const struct profile *profile;
	bool by_total;
};

static int compare_texts(const struct profile *profile, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_string(profile, a), profile_string(profile, b));
}

static int compare_keys(const struct profile *profile, const struct group_total *a,
			const struct group_total *b)
{
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
	if (!order)
		order = compare_texts(profile, a->labels.probe, b->labels.probe);
	if (!order)
		order = compare_texts(profile, a->labels.state, b->labels.state);
	for (i = 0; i < ARRAY_SIZE(numbers) && !order; i++)
		order = (numbers[i][0] > numbers[i][1]) - (numbers[i][0] < numbers[i][1]);
	return order;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct group_total *one = a, *other = b;
	uint64_t first[2] = {order->by_total ? one->total : one->self,
			     order->by_total ? other->total : other->self};
	uint64_t second[2] = {order->by_total ? one->self : one->total,
			      order->by_total ? other->self : other->total};

	if (first[0] != first[1])
		return first[0] > first[1] ? -1 : 1;
	if (second[0] != second[1])
		return second[0] > second[1] ? -1 : 1;
	return compare_keys(order->profile, one, other);
}

static void sort_groups(struct group_totals *totals, const struct profile *profile, bool by_total)
{
	struct order order = {profile, by_total};

	if (totals->nr)
		qsort_r(totals->groups, totals->nr, sizeof(*totals->groups), compare_groups,
			&order);
}

/* --- the whole ------------------------------------------------------------------------------- */

int group_totals_init(struct group_totals *totals, const struct profile *profile,
		      const struct group_totals_style *style)
{
	cleanup(counting_clear) struct counting counting = {
		.profile = profile, .style = style, .totals = totals};

	int err;

	*totals = (struct group_totals){0};
	err = map_samples(&counting);
	if (!err && !(style->keys & GROUP_PLACE_KEYS))
		err = count_labels(&counting);
	else if (!err)
		err = map_frames(&counting) < 0 ? -ENOMEM : count_with_places(&counting);
	if (err) {
		group_totals_clear(totals);
		return -ENOMEM;
	}
	sort_groups(totals, profile, style->by_total);
	return 0;
}

void group_totals_clear(struct group_totals *totals)
{
	free(totals->groups);
	*totals = (struct group_totals){0};
}

/* --- functions -------------------------------------------------------------------------------- */

int function_totals_init(struct function_totals *totals, const struct profile *profile)
{
	const struct group_totals_style style = {.keys = GROUP_BIT(GROUP_FUNCTION) |
							 GROUP_BIT(GROUP_MODULE)};
	cleanup(group_totals_clear) struct group_totals groups = {0};

	*totals = (struct function_totals){0};
	if (group_totals_init(&groups, profile, &style) < 0 ||
	    array_reserve(&totals->functions, &totals->cap, groups.nr, sizeof(*totals->functions)) <
		    0)
		return -ENOMEM;
	for (; totals->nr < groups.nr; totals->nr++) {
		const struct group_total *group = &groups.groups[totals->nr];

		totals->functions[totals->nr] = (struct function_total){
			.name = group->place.function,
			.module = group->place.module,
			.kind = group->place.kind == GROUP_KIND_KERNEL ? FRAME_KERNEL : FRAME_USER,
			.self = group->self,
			.total = group->total,
		};
	}
	totals->no_frames_count = groups.no_frames_count;
	return 0;
}

void function_totals_clear(struct function_totals *totals)
{
	free(totals->functions);
	*totals = (struct function_totals){0};
}
