/* See merge_map.h. Files are found by name and build id, frames by file, address and what they say. */
#include "profile/merge_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "profile/label_sets.h"
#include "profile/time_slices.h"

/* --- strings and modules ---------------------------------------------------------------------- */

int64_t merge_map_string(struct merge_map *map, uint32_t string)
{
	int64_t number;

	if (!string)
		return 0;
	if (map->strings[string])
		return map->strings[string] - 1;
	number = profile_add_string(map->into, profile_string(map->from, string));
	if (number >= 0)
		map->strings[string] = (uint32_t)number + 1;
	return number;
}

int merge_map_strings(struct merge_map *map, uint32_t *first, uint32_t *second)
{
	int64_t one = merge_map_string(map, *first), other = merge_map_string(map, *second);

	if (one < 0 || other < 0)
		return -ENOMEM;
	*first = (uint32_t)one;
	*second = (uint32_t)other;
	return 0;
}

static bool same_segments(const struct module_code *a, const struct module_code *b)
{
	size_t i;

	for (i = 0; i < a->nr_segments; i++)
		if (a->segments[i].offset != b->segments[i].offset ||
		    a->segments[i].vaddr != b->segments[i].vaddr ||
		    a->segments[i].bytes != b->segments[i].bytes)
			return false;
	return true;
}

static bool same_code(const struct module_code *a, const struct module_code *b)
{
	if (!a || !b)
		return a == b;
	return a->build_id_bytes == b->build_id_bytes && a->nr_segments == b->nr_segments &&
	       a->is_gone == b->is_gone && !memcmp(a->build_id, b->build_id, a->build_id_bytes) &&
	       same_segments(a, b);
}

static uint64_t hash_of_module(const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);
	const char *name = profile_string(profile, module->name);
	const struct module_code *code = profile_code(profile, number);
	uint64_t hash = hash_add(module->kind, hash_key(name, strlen(name)));

	return code ? hash_add(hash, hash_key(code->build_id, code->build_id_bytes)) : hash;
}

/* Files are numbered by each profile for itself, so numbers say nothing here. */
static int64_t find_module(const struct merge_map *map, uint32_t number, uint64_t hash)
{
	const struct module *wanted = profile_module(map->from, number);
	const char *name = profile_string(map->from, wanted->name);
	size_t probe = 0;
	uint32_t known;

	while (number_index_next(&map->files, hash, &probe, &known)) {
		const struct module *module = profile_module(map->into, known);

		if (module->kind == wanted->kind &&
		    !strcmp(profile_string(map->into, module->name), name) &&
		    same_code(profile_code(map->into, known), profile_code(map->from, number)))
			return known;
	}
	return -ENOENT;
}

static int64_t add_module(struct merge_map *map, uint32_t number, uint64_t hash)
{
	struct module module = *profile_module(map->from, number);
	const struct module_code *code = profile_code(map->from, number);
	int64_t name = merge_map_string(map, module.name);
	int64_t added;

	if (name < 0)
		return name;
	module.name = (uint32_t)name;
	module.file = map->next_file++;
	added = profile_add_module(map->into, &module);
	if (added < 0 || number_index_reserve(&map->files) < 0 ||
	    (code && profile_set_code(map->into, (uint32_t)added, code) < 0))
		return -ENOMEM;
	number_index_add(&map->files, hash, (uint32_t)added);
	return added;
}

static int64_t map_module(struct merge_map *map, uint32_t number)
{
	uint64_t hash;
	int64_t module;

	if (number <= MODULE_NR_KERNEL)
		return number;
	if (map->modules[number])
		return map->modules[number] - 1;
	hash = hash_of_module(map->from, number);
	module = find_module(map, number, hash);
	if (module < 0)
		module = add_module(map, number, hash);
	if (module >= 0)
		map->modules[number] = (uint32_t)module + 1;
	return module;
}

static int index_modules(struct merge_map *map)
{
	size_t nr = profile_nr_modules(map->into);
	uint32_t i;

	map->next_file = 1;
	for (i = MODULE_NR_KERNEL + 1; i < nr; i++) {
		uint32_t file = profile_module(map->into, i)->file;

		if (number_index_reserve(&map->files) < 0)
			return -ENOMEM;
		number_index_add(&map->files, hash_of_module(map->into, i), i);
		if (file >= map->next_file)
			map->next_file = file + 1;
	}
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The frame's lines in the own profile's strings; a name without lines is one. 0 or -ENOMEM. */
static int map_lines(struct merge_map *map, const struct frame *frame, size_t *ret_nr)
{
	const struct code_line alone = {.function = frame->function};
	const struct code_line *lines = frame->nr_lines ? profile_lines(map->from, frame) : &alone;
	size_t nr = frame->nr_lines ? frame->nr_lines : frame->function != 0;
	size_t i;

	if (array_reserve(&map->lines, &map->cap_lines, nr + 1, sizeof(*lines)) < 0)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		map->lines[i] = lines[i];
		if (merge_map_strings(map, &map->lines[i].function, &map->lines[i].file) < 0)
			return -ENOMEM;
	}
	*ret_nr = nr;
	return 0;
}

/* Whether the own frame at this address says the same; one that says nothing yet learns it. */
static int64_t agree(struct merge_map *map, uint32_t number, const struct frame *theirs, size_t nr)
{
	const struct frame *frame = profile_frame(map->into, number);
	uint32_t function = nr ? map->lines[nr - 1].function : 0;

	if (!frame->function && !frame->nr_lines) {
		profile_set_name(map->into, number, function);
		if (theirs->nr_lines && profile_set_lines(map->into, number, map->lines, nr) < 0)
			return -ENOMEM;
		return number;
	}
	if (frame->function == function && frame->nr_lines == theirs->nr_lines &&
	    (!frame->nr_lines ||
	     !memcmp(profile_lines(map->into, frame), map->lines, nr * sizeof(*map->lines))))
		return number;
	return -ENOENT;
}

/* Code made at run time may be other code at the same address in the other profile. */
static int64_t add_frame(struct merge_map *map, const struct frame *frame)
{
	int64_t module = map_module(map, frame->module);
	int64_t number;
	size_t nr;

	if (module < 0 || map_lines(map, frame, &nr) < 0)
		return -ENOMEM;
	if (frame->address < PROFILE_NOWHERE) {
		number =
			profile_add_frame(map->into, frame->kind, (uint32_t)module, frame->address);
		if (number >= 0)
			number = agree(map, (uint32_t)number, frame, nr);
		if (number != -ENOENT)
			return number;
	}
	return profile_add_named_frame(map->into, frame->kind, (uint32_t)module, map->lines, nr);
}

int64_t merge_map_frame(struct merge_map *map, uint32_t frame)
{
	int64_t ours;

	if (map->frames[frame])
		return map->frames[frame] - 1;
	ours = add_frame(map, profile_frame(map->from, frame));
	if (ours >= 0)
		map->frames[frame] = (uint32_t)ours + 1;
	return ours;
}

/* --- labels ----------------------------------------------------------------------------------- */

static int64_t add_set(struct merge_map *map, uint32_t set)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr = profile_label_set(map->from, set, labels);
	size_t i;

	for (i = 0; i < nr; i++) {
		int64_t unit = merge_map_string(map, labels[i].unit);

		if (unit < 0 || merge_map_strings(map, &labels[i].key, &labels[i].text) < 0)
			return -ENOMEM;
		labels[i].unit = (uint32_t)unit;
	}
	return profile_add_label_set(map->into, labels, nr);
}

static int64_t map_set(struct merge_map *map, uint32_t set)
{
	size_t nr_before = map->nr_sets;
	int64_t number;

	if (!set)
		return 0;
	if (array_reserve(&map->sets, &map->nr_sets, (size_t)set + 1, sizeof(*map->sets)) < 0)
		return -ENOMEM;
	memset(map->sets + nr_before, 0, (map->nr_sets - nr_before) * sizeof(*map->sets));
	if (!map->sets[set]) {
		number = add_set(map, set);
		if (number < 0)
			return number;
		map->sets[set] = (uint32_t)number;
	}
	return map->sets[set];
}

int merge_map_labels(struct merge_map *map, struct sample_labels *labels)
{
	int64_t set = map_set(map, labels->set), slice = 0;

	if (labels->slice) {
		struct time_slice theirs = profile_slice(map->from, labels->slice);

		slice = profile_add_slice(map->into, &theirs);
	}
	if (set < 0 || slice < 0)
		return set < 0 ? (int)set : (int)slice;
	labels->set = (uint32_t)set;
	labels->slice = (uint32_t)slice;
	return merge_map_strings(map, &labels->comm, &labels->cgroup);
}

/* --- the whole -------------------------------------------------------------------------------- */

int merge_map_init(struct merge_map *map, struct profile *into, const struct profile *from)
{
	*map = (struct merge_map){.into = into, .from = from};
	map->strings = calloc((size_t)profile_nr_strings(from) + 1, sizeof(*map->strings));
	map->modules = calloc(profile_nr_modules(from) + 1, sizeof(*map->modules));
	map->frames = calloc(profile_nr_frames(from) + 1, sizeof(*map->frames));
	if (!map->strings || !map->modules || !map->frames)
		return -ENOMEM;
	return index_modules(map);
}

void merge_map_clear(struct merge_map *map)
{
	free(map->strings);
	free(map->modules);
	free(map->frames);
	free(map->sets);
	number_index_clear(&map->files);
	free(map->lines);
}
