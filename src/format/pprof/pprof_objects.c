/*
 * Modules become objects by being sorted: those that agree in kind, name, build id and whether they
 * are gone are one, since pprof knows a file by nothing else. Of several the one that knows most of
 * its segments speaks for them.
 *
 * An offset in a file is translated by the first segment that it lies in. One in none of them goes
 * into a mapping of the whole file. What has no address goes into the object's first mapping, with
 * address 0.
 */
#include "format/pprof/pprof_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/pprof/pprof_fields.h"

/* --- objects ---------------------------------------------------------------------------------- */

static int compare_texts(const char *a, size_t nr_a, const char *b, size_t nr_b)
{
	int order = memcmp(a, b, nr_a < nr_b ? nr_a : nr_b);

	return order ? order : (nr_a > nr_b) - (nr_a < nr_b);
}

static int compare_build_ids(const struct module_code *a, const struct module_code *b)
{
	return compare_texts((const char *)a->build_id, a->build_id_bytes,
			     (const char *)b->build_id, b->build_id_bytes);
}

static const struct module_code no_code;

static const struct module_code *code_of(const struct pprof_object *object)
{
	return object->code ? object->code : &no_code;
}

/* Programs first: pprof takes the first mapping's file for the one that was profiled. */
static int rank_of(const struct pprof_object *object)
{
	static const int ranks[] = {
		[MODULE_UNKNOWN] = 0,  [MODULE_FILE] = 1,   [MODULE_VDSO] = 3,
		[MODULE_RUN_TIME] = 4, [MODULE_KERNEL] = 5,
	};
	bool is_library = object->kind == MODULE_FILE &&
			  memmem(object->name, object->name_bytes, ".so", strlen(".so"));

	return ranks[object->kind] + is_library;
}

static int compare_objects(const struct pprof_object *a, const struct pprof_object *b)
{
	int order = rank_of(a) - rank_of(b);

	if (order)
		return order;
	order = compare_texts(a->name, a->name_bytes, b->name, b->name_bytes);
	if (order)
		return order;
	if (a->is_gone != b->is_gone)
		return a->is_gone ? 1 : -1;
	return compare_build_ids(code_of(a), code_of(b));
}

struct module_object {
	struct pprof_object object;
	uint32_t module;
};

/* Equal objects: the one with most segments comes first. */
static int compare_module_objects(const void *a, const void *b)
{
	const struct pprof_object *one = &((const struct module_object *)a)->object;
	const struct pprof_object *other = &((const struct module_object *)b)->object;
	int order = compare_objects(one, other);
	unsigned nr_one = code_of(one)->nr_segments, nr_other = code_of(other)->nr_segments;

	if (order)
		return order;
	if (nr_one != nr_other)
		return nr_one > nr_other ? -1 : 1;
	return memcmp(code_of(one)->segments, code_of(other)->segments,
		      nr_one * sizeof(struct module_segment));
}

/* A module of the kernel whose name would not be known for one is taken for the kernel itself. */
static bool has_own_name(const struct pprof_object *object)
{
	if (object->kind == MODULE_KERNEL)
		return pprof_kind_of(object->name) == MODULE_KERNEL &&
		       !pprof_is_kernel_itself(object->name);
	return object->kind != MODULE_RUN_TIME;
}

static struct pprof_object object_of(const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);
	struct pprof_object object = {
		.kind = module->kind,
		.name = profile_string(profile, module->name),
		.code = profile_code(profile, number),
	};

	object.is_gone = code_of(&object)->is_gone;
	object.name_bytes = pprof_path_length(object.name);
	if (!has_own_name(&object)) {
		object.name =
			object.kind == MODULE_KERNEL ? PPROF_KERNEL_FILE : PPROF_RUN_TIME_FILE;
		object.name_bytes = strlen(object.name);
		object.code = NULL;
		object.is_gone = false;
	}
	if (!object.name_bytes && !code_of(&object)->build_id_bytes)
		object.kind = MODULE_UNKNOWN;
	return object;
}

static void group_modules(struct pprof_objects *objects, const struct module_object *sorted,
			  size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (sorted[i].object.kind == MODULE_UNKNOWN)
			continue;
		if (!objects->nr ||
		    compare_objects(&objects->objects[objects->nr - 1], &sorted[i].object) != 0)
			objects->objects[objects->nr++] = sorted[i].object;
		objects->of_module[sorted[i].module] = (uint32_t)objects->nr;
	}
}

static int make_objects(struct pprof_objects *objects, const struct profile *profile)
{
	size_t nr = profile_nr_modules(profile);
	cleanup_free struct module_object *sorted = calloc(nr, sizeof(*sorted));
	uint32_t i;

	objects->objects = calloc(nr, sizeof(*objects->objects));
	objects->of_module = calloc(nr, sizeof(*objects->of_module));
	if (!sorted || !objects->objects || !objects->of_module)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		sorted[i] = (struct module_object){object_of(profile, i), i};
	qsort(sorted, nr, sizeof(*sorted), compare_module_objects);
	group_modules(objects, sorted, nr);
	return 0;
}

/* --- mappings --------------------------------------------------------------------------------- */

static bool has_segments(const struct pprof_object *object)
{
	return object->kind == MODULE_FILE || object->kind == MODULE_VDSO;
}

static bool is_sound(const struct module_segment *segment)
{
	return segment->bytes && segment->bytes <= UINT64_MAX - segment->vaddr &&
	       segment->bytes <= UINT64_MAX - segment->offset;
}

/* The segments worth a mapping: how many, and on request the one that has this offset. */
static size_t find_segment(const struct pprof_object *object, uint64_t offset,
			   const struct module_segment **ret, size_t *ret_place)
{
	const struct module_code *code = code_of(object);
	size_t nr = 0, i;

	for (i = 0; i < code->nr_segments && i < PROFILE_MAX_SEGMENTS; i++) {
		const struct module_segment *segment = &code->segments[i];

		if (!is_sound(segment))
			continue;
		if (ret && !*ret && offset - segment->offset < segment->bytes) {
			*ret = segment;
			*ret_place = nr;
		}
		nr++;
	}
	return nr;
}

static int add_mapping(struct pprof_objects *objects, const struct pprof_mapping *mapping)
{
	if (array_reserve(&objects->mappings, &objects->cap_mappings, objects->nr_mappings + 1,
			  sizeof(*mapping)) < 0)
		return -ENOMEM;
	objects->mappings[objects->nr_mappings++] = *mapping;
	return 0;
}

static int add_segments(struct pprof_objects *objects, uint32_t number)
{
	const struct module_code *from = code_of(&objects->objects[number]);
	size_t i;

	for (i = 0; i < from->nr_segments && i < PROFILE_MAX_SEGMENTS; i++) {
		const struct module_segment *segment = &from->segments[i];
		const struct pprof_mapping mapping = {
			.object = number,
			.start = segment->vaddr,
			.limit = segment->vaddr + segment->bytes,
			.offset = segment->offset,
		};

		if (is_sound(segment) && add_mapping(objects, &mapping) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_whole(struct pprof_objects *objects, uint32_t number)
{
	struct pprof_mapping whole = {.object = number, .limit = PPROF_WHOLE_LIMIT};

	if (objects->objects[number].kind == MODULE_KERNEL) {
		whole.start = PPROF_KERNEL_START;
		whole.limit = UINT64_MAX;
	}
	return add_mapping(objects, &whole);
}

int pprof_objects_map(struct pprof_objects *objects)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < objects->nr && !result; i++) {
		struct pprof_object *object = &objects->objects[i];
		bool is_cut = has_segments(object) && find_segment(object, 0, NULL, NULL);

		object->first_mapping = (uint32_t)objects->nr_mappings;
		if (!object->is_used)
			continue;
		if (is_cut)
			result = add_segments(objects, i);
		if (!result && (!is_cut || object->needs_whole))
			result = add_whole(objects, i);
	}
	return result;
}

uint32_t pprof_objects_place(struct pprof_objects *objects, uint32_t number, uint64_t offset,
			     uint64_t *ret_address)
{
	struct pprof_object *object = &objects->objects[number];
	const struct module_segment *segment = NULL;
	size_t nr = 0, which = 0;

	object->is_used = true;
	*ret_address = offset;
	if (!offset || !has_segments(object))
		return object->first_mapping + 1;
	nr = find_segment(object, offset, &segment, &which);
	if (!segment) {
		object->needs_whole = true;
		return object->first_mapping + 1 + (uint32_t)nr;
	}
	*ret_address = offset - segment->offset + segment->vaddr;
	return object->first_mapping + 1 + (*ret_address ? (uint32_t)which : 0);
}

/* --- the whole -------------------------------------------------------------------------------- */

int pprof_objects_init(struct pprof_objects *objects, const struct profile *profile)
{
	*objects = (struct pprof_objects){.nr = 0};
	if (make_objects(objects, profile) < 0) {
		pprof_objects_clear(objects);
		return -ENOMEM;
	}
	return 0;
}

void pprof_objects_clear(struct pprof_objects *objects)
{
	free(objects->of_module);
	free(objects->objects);
	free(objects->mappings);
	*objects = (struct pprof_objects){0};
}
