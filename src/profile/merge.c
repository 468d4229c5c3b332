/*
 * Adding the samples of another profile.
 *
 * The other profile's numbers of strings, modules, frames and labels are mapped to our own when a
 * sample first needs them. After that, a sample costs one array access per frame and one hash
 * lookup. Files are matched by name and build id, frames by file, address and lines.
 */
#include "profile/merge.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "profile/profile.h"

#define LEFT_OUT INT_MIN

struct merge {
	struct profile *into;
	const struct profile *from;
	bool is_part; /* see profile_merge_part() */
	/* Indexed by the number in `from`: the number in `into` + 1; 0: not mapped yet. */
	uint32_t *strings;
	uint32_t *modules, *frames, *sets;
	size_t nr_sets;		   /* capacity of sets */
	struct number_index files; /* our modules, by name and code */
	uint32_t next_file;	   /* first file number that our modules do not use */
	struct code_line *lines;   /* of the frame being mapped */
	size_t cap_lines;
	int values[PROFILE_MAX_VALUES]; /* indexed like from's values: into's number, or LEFT_OUT */
	uint32_t *path;			/* of the sample being added */
	size_t cap_path;
};

/* --- strings and modules ---------------------------------------------------------------------- */

static int64_t map_string(struct merge *merge, uint32_t string)
{
	int64_t number;

	if (!string)
		return 0;
	if (merge->strings[string])
		return merge->strings[string] - 1;
	number = profile_add_string(merge->into, profile_string(merge->from, string));
	if (number >= 0)
		merge->strings[string] = (uint32_t)number + 1;
	return number;
}

static int map_strings(struct merge *merge, uint32_t *first, uint32_t *second)
{
	int64_t one = map_string(merge, *first), other = map_string(merge, *second);

	if (one < 0 || other < 0)
		return -ENOMEM;
	*first = (uint32_t)one;
	*second = (uint32_t)other;
	return 0;
}

static bool same_code(const struct module_code *a, const struct module_code *b)
{
	size_t i;

	if (!a || !b)
		return a == b;
	for (i = 0; i < a->nr_segments && i < b->nr_segments; i++)
		if (a->segments[i].offset != b->segments[i].offset ||
		    a->segments[i].vaddr != b->segments[i].vaddr ||
		    a->segments[i].bytes != b->segments[i].bytes)
			return false;
	return a->build_id_bytes == b->build_id_bytes && a->nr_segments == b->nr_segments &&
	       a->is_gone == b->is_gone && a->is_unread == b->is_unread &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static uint64_t hash_of_module(const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);
	const char *name = profile_string(profile, module->name);
	const struct module_code *code = profile_code(profile, number);
	uint64_t hash = hash_add(module->kind, hash_key(name, strlen(name)));

	return code ? hash_add(hash, hash_key(code->build_id, code->build_id_bytes)) : hash;
}

/* Compares content: each profile has its own file numbers. */
static int64_t find_module(const struct merge *merge, uint32_t number, uint64_t hash)
{
	const struct module *wanted = profile_module(merge->from, number);
	const char *name = profile_string(merge->from, wanted->name);
	size_t probe = 0;
	uint32_t known;

	while (number_index_next(&merge->files, hash, &probe, &known)) {
		const struct module *module = profile_module(merge->into, known);

		if (module->kind == wanted->kind &&
		    !strcmp(profile_string(merge->into, module->name), name) &&
		    same_code(profile_code(merge->into, known), profile_code(merge->from, number)))
			return known;
	}
	return -ENOENT;
}

static int64_t add_module(struct merge *merge, uint32_t number, uint64_t hash)
{
	struct module module = *profile_module(merge->from, number);
	const struct module_code *code = profile_code(merge->from, number);
	int64_t name = map_string(merge, module.name);
	int64_t added;

	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	module.file = merge->next_file++;
	added = profile_add_module(merge->into, &module);
	if (added < 0 || number_index_reserve(&merge->files) < 0 ||
	    (code && profile_set_code(merge->into, (uint32_t)added, code) < 0))
		return -ENOMEM;
	number_index_add(&merge->files, hash, (uint32_t)added);
	return added;
}

static int64_t add_part_module(struct merge *merge, uint32_t number)
{
	struct module module = *profile_module(merge->from, number);
	const struct module_code *code = profile_code(merge->from, number);
	int64_t name = map_string(merge, module.name), added;

	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	added = profile_add_module(merge->into, &module);
	return added >= 0 && code && profile_set_code(merge->into, (uint32_t)added, code) < 0
		       ? -ENOMEM
		       : added;
}

static int64_t map_module(struct merge *merge, uint32_t number)
{
	uint64_t hash;
	int64_t module;

	if (number <= MODULE_NR_KERNEL)
		return number;
	if (merge->modules[number])
		return merge->modules[number] - 1;
	if (merge->is_part) {
		module = add_part_module(merge, number);
	} else {
		hash = hash_of_module(merge->from, number);
		module = find_module(merge, number, hash);
		if (module < 0)
			module = add_module(merge, number, hash);
	}
	if (module >= 0)
		merge->modules[number] = (uint32_t)module + 1;
	return module;
}

static int index_modules(struct merge *merge)
{
	size_t nr = profile_nr_modules(merge->into);
	uint32_t i;

	merge->next_file = 1;
	for (i = MODULE_NR_KERNEL + 1; i < nr; i++) {
		uint32_t file = profile_module(merge->into, i)->file;

		if (number_index_reserve(&merge->files) < 0)
			return -ENOMEM;
		number_index_add(&merge->files, hash_of_module(merge->into, i), i);
		if (file >= merge->next_file)
			merge->next_file = file + 1;
	}
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/*
 * Writes the frame's lines to merge->lines, with strings of our profile. A function without lines
 * becomes one line. 0 or -ENOMEM.
 */
static int map_lines(struct merge *merge, const struct frame *frame, size_t *ret_nr)
{
	const struct code_line alone = {.function = frame->function};
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(merge->from, frame) : &alone;
	size_t nr = frame->nr_lines ? frame->nr_lines : frame->function != 0;
	size_t i;

	if (array_reserve(&merge->lines, &merge->cap_lines, nr + 1, sizeof(*lines)) < 0)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		merge->lines[i] = lines[i];
		if (map_strings(merge, &merge->lines[i].function, &merge->lines[i].file) < 0)
			return -ENOMEM;
	}
	*ret_nr = nr;
	return 0;
}

/*
 * Returns our frame `number` if its names equal theirs; a frame without a name gets theirs.
 * -ENOENT if the names differ, or -ENOMEM.
 */
static int64_t reuse_frame(struct merge *merge, uint32_t number, const struct frame *theirs,
			   size_t nr)
{
	const struct frame *frame = profile_frame(merge->into, number);
	uint32_t function = nr ? merge->lines[nr - 1].function : 0;

	if (!frame->function && !frame->nr_lines) {
		profile_set_name(merge->into, number, function);
		if (theirs->nr_lines &&
		    profile_set_lines(merge->into, number, merge->lines, nr) < 0)
			return -ENOMEM;
		return number;
	}
	if (frame->function == function && frame->nr_lines == theirs->nr_lines &&
	    (!frame->nr_lines ||
	     !memcmp(profile_lines(merge->into, frame), merge->lines, nr * sizeof(*merge->lines))))
		return number;
	return -ENOENT;
}

/*
 * If our frame at the same address has other names, as JIT-compiled code may, and kernel code after another one was
 * unloaded, the frame is added by name.
 */
static int64_t add_frame(struct merge *merge, const struct frame *frame)
{
	int64_t module = map_module(merge, frame->module);
	int64_t number;
	size_t nr;

	if (module < 0 || map_lines(merge, frame, &nr) < 0)
		return -ENOMEM;
	if (frame->address < PROFILE_NOWHERE) {
		number = profile_add_frame(merge->into, frame->kind, (uint32_t)module,
					   frame->address);
		if (number >= 0 && merge->is_part && !frame->function)
			return number;
		if (number >= 0)
			number = reuse_frame(merge, (uint32_t)number, frame, nr);
		if (number != -ENOENT)
			return number;
	}
	return profile_add_named_frame(merge->into, frame->kind, (uint32_t)module, merge->lines,
				       nr);
}

static int64_t map_frame(struct merge *merge, uint32_t frame)
{
	int64_t ours;

	if (merge->frames[frame])
		return merge->frames[frame] - 1;
	ours = add_frame(merge, profile_frame(merge->from, frame));
	if (ours >= 0)
		merge->frames[frame] = (uint32_t)ours + 1;
	return ours;
}

/* --- labels ----------------------------------------------------------------------------------- */

static int64_t add_set(struct merge *merge, uint32_t set)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr = profile_label_set(merge->from, set, labels);
	size_t i;

	for (i = 0; i < nr; i++) {
		int64_t unit = map_string(merge, labels[i].unit);

		if (unit < 0 || map_strings(merge, &labels[i].key, &labels[i].text) < 0)
			return -ENOMEM;
		labels[i].unit = (uint32_t)unit;
	}
	return profile_add_label_set(merge->into, labels, nr);
}

static int64_t map_set(struct merge *merge, uint32_t set)
{
	size_t nr_before = merge->nr_sets;
	int64_t number;

	if (!set)
		return 0;
	if (array_reserve(&merge->sets, &merge->nr_sets, (size_t)set + 1, sizeof(*merge->sets)) < 0)
		return -ENOMEM;
	memset(merge->sets + nr_before, 0, (merge->nr_sets - nr_before) * sizeof(*merge->sets));
	if (!merge->sets[set]) {
		number = add_set(merge, set);
		if (number < 0)
			return number;
		merge->sets[set] = (uint32_t)number;
	}
	return merge->sets[set];
}

static int map_labels(struct merge *merge, struct sample_labels *labels)
{
	int64_t set = map_set(merge, labels->set), probe = map_string(merge, labels->probe);
	int64_t slice = 0;

	if (labels->slice) {
		struct time_slice theirs = profile_slice(merge->from, labels->slice);

		slice = profile_add_slice(merge->into, &theirs);
	}
	if (set < 0 || slice < 0)
		return set < 0 ? (int)set : (int)slice;
	if (probe < 0)
		return (int)probe;
	labels->set = (uint32_t)set;
	labels->slice = (uint32_t)slice;
	labels->probe = (uint32_t)probe;
	labels->gave_up = false;
	return map_strings(merge, &labels->comm, &labels->cgroup);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(struct merge *merge, uint32_t number)
{
	const struct sample *sample = profile_sample(merge->from, number);
	const uint32_t *frames = profile_sample_frames(merge->from, sample);
	struct sample_labels labels = sample->labels;
	int result = map_labels(merge, &labels);
	int64_t added;
	size_t i;

	if (result < 0)
		return result;
	if (array_reserve(&merge->path, &merge->cap_path, (size_t)sample->nr_frames + 1,
			  sizeof(*merge->path)) < 0)
		return -ENOMEM;
	for (i = 0; i < sample->nr_frames; i++) {
		int64_t frame = map_frame(merge, frames[i]);

		if (frame < 0)
			return (int)frame;
		merge->path[i] = (uint32_t)frame;
	}
	added = profile_add_sample(merge->into, &labels, merge->path, sample->nr_frames,
				   sample->nr_kernel_frames, 0);
	if (added < 0)
		return (int)added;
	for (i = 0; i < profile_nr_values(merge->from) && !result; i++) {
		uint64_t amount = profile_value(merge->from, number, i);

		if (amount && merge->values[i] != LEFT_OUT)
			result = profile_add_value(merge->into, (uint32_t)added,
						   (size_t)merge->values[i], amount);
	}
	return result;
}

/* Maps the numbers of their values to ours, by value type. 0 or a negative errno. */
static int map_values(struct merge *merge, size_t value)
{
	size_t i;

	for (i = 0; i < profile_nr_values(merge->from); i++) {
		struct value_type theirs = profile_value_type(merge->from, i);
		int number = value && i ? LEFT_OUT : (int)value;

		if (!value && map_strings(merge, &theirs.type, &theirs.unit) < 0)
			return -ENOMEM;
		if (!value)
			number = profile_add_value_type(merge->into, &theirs);
		if (number < 0 && number != LEFT_OUT)
			return number;
		if (number != LEFT_OUT &&
		    !profile_value_has_room(merge->into, (size_t)number,
					    profile_value_total(merge->from, i)))
			return -EOVERFLOW;
		merge->values[i] = number;
	}
	return 0;
}

/* --- how they were taken ---------------------------------------------------------------------- */

static void merge_common_origin(struct profile_origin *ours, const struct profile_origin *theirs)
{
	uint64_t start = ours->time_ns, end = start + ours->duration_ns;
	uint64_t their_end = theirs->time_ns + theirs->duration_ns;

	if (ours->nr_events != theirs->nr_events)
		ours->nr_events = 0;
	if (ours->ratio != theirs->ratio)
		ours->ratio = 0;
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
	struct value_type main_type = profile_value_type(merge->from, 0);
	size_t i;

	if (map_strings(merge, &theirs.event, &theirs.unit) < 0 ||
	    map_strings(merge, &theirs.ratio, &theirs.ratio) < 0 ||
	    map_strings(merge, &main_type.type, &main_type.unit) < 0)
		return -ENOMEM;
	if (profile_nr_samples(merge->into)) {
		merge_common_origin(&ours, &theirs);
	} else {
		ours = theirs;
		profile_set_main_type(merge->into, main_type);
	}
	profile_set_origin(merge->into, &ours);
	for (i = 0; i < profile_nr_comments(merge->from); i++)
		if (profile_add_comment(merge->into, profile_comment(merge->from, i)) < 0)
			return -ENOMEM;
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int merge_init(struct merge *merge)
{
	merge->strings = calloc((size_t)profile_nr_strings(merge->from) + 1, sizeof(uint32_t));
	merge->modules = calloc(profile_nr_modules(merge->from) + 1, sizeof(uint32_t));
	merge->frames = calloc(profile_nr_frames(merge->from) + 1, sizeof(uint32_t));
	if (!merge->strings || !merge->modules || !merge->frames)
		return -ENOMEM;
	return merge->is_part ? 0 : index_modules(merge);
}

static void merge_clear(struct merge *merge)
{
	free(merge->strings);
	free(merge->modules);
	free(merge->frames);
	free(merge->sets);
	number_index_clear(&merge->files);
	free(merge->lines);
	free(merge->path);
}

static int merge_all(struct merge *merge, size_t value)
{
	int result = merge_init(merge);
	uint32_t i;

	if (!result)
		result = merge_origin(merge);
	if (!result)
		result = map_values(merge, value);
	for (i = 0; i < profile_nr_samples(merge->from) && !result; i++)
		result = add_sample(merge, i);
	return result;
}

int profile_merge(struct profile *into, const struct profile *from, size_t value)
{
	cleanup(merge_clear) struct merge merge = {.into = into, .from = from};

	return merge_all(&merge, value);
}

int profile_merge_part(struct profile *into, const struct profile *from)
{
	cleanup(merge_clear) struct merge merge = {.into = into, .from = from, .is_part = true};

	return merge_all(&merge, 0);
}

/* --- one part after the other ------------------------------------------------------------------ */

/*
 * Names are kept until there are KEPT_SHARE times as many frames and strings as the latest part has, and at least
 * KEPT_MIN: a host that is mostly idle has few at a time.
 */
#define KEPT_SHARE 2
#define KEPT_MIN   4096

static size_t nr_entries(const struct profile *profile)
{
	return profile_nr_frames(profile) + profile_nr_strings(profile);
}

/* Returns a profile with only the frames that have samples, and their names; NULL when out of memory. */
static struct profile *copy_sampled(const struct profile *from)
{
	struct profile *copy = profile_new();

	if (!copy)
		return NULL;
	if (profile_merge_part(copy, from) < 0) {
		profile_free(copy);
		return NULL;
	}
	return copy;
}

int profile_take_part(struct profile **profile, const struct profile *part)
{
	if (nr_entries(*profile) > KEPT_MIN &&
	    nr_entries(*profile) / KEPT_SHARE > nr_entries(part)) {
		struct profile *copy = copy_sampled(*profile);

		if (!copy)
			return -ENOMEM;
		profile_free(*profile);
		*profile = copy;
	}
	profile_reset_samples(*profile);
	profile_set_max_frames(*profile, PROFILE_MAX_FILE_FRAMES); /* each part has a limit */
	return profile_merge_part(*profile, part);
}

static uint64_t key_of_module(const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);
	const char *name = profile_string(profile, module->name);

	return hash_add((uint64_t)module->kind << 32 | module->file, hash_key(name, strlen(name)));
}

/* Maps the numbers of modules in `into` to those in `from`, and copies the code of these. 0 or -ENOMEM. */
static int find_modules(const struct merge *merge, uint32_t *numbers)
{
	cleanup(u64_map_clear) struct u64_map by_key = {0};
	uint32_t i;

	for (i = 0; i < profile_nr_modules(merge->from); i++)
		if (u64_map_set(&by_key, key_of_module(merge->from, i), i) < 0)
			return -ENOMEM;
	for (i = 0; i < profile_nr_modules(merge->into); i++) {
		const uint64_t *found = u64_map_find(&by_key, key_of_module(merge->into, i));
		const struct module_code *code;

		numbers[i] = found ? (uint32_t)*found : MODULE_NR_UNKNOWN;
		code = found ? profile_code(merge->from, numbers[i]) : NULL;
		if (code && profile_set_code(merge->into, i, code) < 0)
			return -ENOMEM;
	}
	return 0;
}

int profile_copy_names(struct profile *part, const struct profile *named)
{
	cleanup(merge_clear) struct merge merge = {.into = part, .from = named, .is_part = true};
	cleanup_free uint32_t *modules = calloc(profile_nr_modules(part), sizeof(*modules));
	uint32_t i;
	size_t nr;

	if (!modules || merge_init(&merge) < 0 || find_modules(&merge, modules) < 0)
		return -ENOMEM;
	for (i = 0; i < profile_nr_frames(part); i++) {
		const struct frame *frame = profile_frame(part, i);
		const int64_t found = frame->function ? -ENOENT
						      : profile_find_frame(named, frame->kind,
									   modules[frame->module],
									   frame->address);

		if (found < 0)
			continue;
		if (map_lines(&merge, profile_frame(named, (uint32_t)found), &nr) < 0 ||
		    reuse_frame(&merge, i, profile_frame(named, (uint32_t)found), nr) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}
