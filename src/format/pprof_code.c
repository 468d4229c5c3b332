/*
 * Modules become objects by being sorted: those that agree in kind, name, build id and whether they
 * are gone are one, since pprof knows a file by nothing else. Of several the one that knows most of
 * its segments speaks for them.
 *
 * A frame of a file is translated by the first segment that its offset lies in. One in none of them
 * goes into a mapping of the whole file. What has no address goes into the object's first mapping,
 * with address 0.
 *
 * The two places of missed stacks are sorted in with all others, as two frames past the profile's.
 */
#include "format/pprof_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/pprof_fields.h"

/* --- objects -----------------------------------------------------------------------------------
 */

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

static void group_modules(struct pprof_code *code, const struct module_object *sorted, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (sorted[i].object.kind == MODULE_UNKNOWN)
			continue;
		if (!code->nr_objects ||
		    compare_objects(&code->objects[code->nr_objects - 1], &sorted[i].object) != 0)
			code->objects[code->nr_objects++] = sorted[i].object;
		code->object_of_module[sorted[i].module] = (uint32_t)code->nr_objects;
	}
}

static int make_objects(struct pprof_code *code)
{
	size_t nr = profile_nr_modules(code->profile);
	cleanup_free struct module_object *sorted = calloc(nr, sizeof(*sorted));
	uint32_t i;

	code->objects = calloc(nr, sizeof(*code->objects));
	code->object_of_module = calloc(nr, sizeof(*code->object_of_module));
	if (!sorted || !code->objects || !code->object_of_module)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		sorted[i] = (struct module_object){object_of(code->profile, i), i};
	qsort(sorted, nr, sizeof(*sorted), compare_module_objects);
	group_modules(code, sorted, nr);
	return 0;
}

/* --- mappings ----------------------------------------------------------------------------------
 */

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

static int add_mapping(struct pprof_code *code, const struct pprof_mapping *mapping)
{
	if (array_reserve(&code->mappings, &code->cap_mappings, code->nr_mappings + 1,
			  sizeof(*mapping)) < 0)
		return -ENOMEM;
	code->mappings[code->nr_mappings++] = *mapping;
	return 0;
}

static int add_segments(struct pprof_code *code, uint32_t number)
{
	const struct module_code *from = code_of(&code->objects[number]);
	size_t i;

	for (i = 0; i < from->nr_segments && i < PROFILE_MAX_SEGMENTS; i++) {
		const struct module_segment *segment = &from->segments[i];
		const struct pprof_mapping mapping = {
			.object = number,
			.start = segment->vaddr,
			.limit = segment->vaddr + segment->bytes,
			.offset = segment->offset,
		};

		if (is_sound(segment) && add_mapping(code, &mapping) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_whole(struct pprof_code *code, uint32_t number)
{
	struct pprof_mapping whole = {.object = number, .limit = PPROF_WHOLE_LIMIT};

	if (code->objects[number].kind == MODULE_KERNEL) {
		whole.start = PPROF_KERNEL_START;
		whole.limit = UINT64_MAX;
	}
	return add_mapping(code, &whole);
}

static int make_mappings(struct pprof_code *code)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < code->nr_objects && !result; i++) {
		struct pprof_object *object = &code->objects[i];
		bool is_cut = has_segments(object) && find_segment(object, 0, NULL, NULL);

		object->first_mapping = (uint32_t)code->nr_mappings;
		if (!object->is_used)
			continue;
		if (is_cut)
			result = add_segments(code, i);
		if (!result && (!is_cut || object->needs_whole))
			result = add_whole(code, i);
	}
	return result;
}

/* --- places ------------------------------------------------------------------------------------
 */

/* The frame's object + 1, or 0. */
static uint32_t object_of_frame(const struct pprof_code *code, const struct frame *frame)
{
	enum module_kind kind = profile_module(code->profile, frame->module)->kind;

	if (frame->kind == FRAME_KERNEL && kind != MODULE_KERNEL)
		return code->object_of_module[MODULE_NR_KERNEL];
	if (frame->kind == FRAME_USER && kind == MODULE_KERNEL)
		return 0;
	return code->object_of_module[frame->module];
}

/* Its mapping, once mappings stand; until then what mappings its object needs. */
static void place_in_object(struct pprof_code *code, const struct frame *frame, uint32_t number,
			    struct pprof_place *place)
{
	struct pprof_object *object = &code->objects[number];
	const struct module_segment *segment = NULL;
	size_t nr = 0, which = 0;

	object->is_used = true;
	place->mapping = object->first_mapping + 1;
	if (!place->address || !has_segments(object))
		return;
	nr = find_segment(object, frame->address, &segment, &which);
	if (segment) {
		place->address = frame->address - segment->offset + segment->vaddr;
		place->mapping += place->address ? which : 0;
	} else {
		object->needs_whole = true;
		place->mapping += nr;
	}
}

/* A name alone is a line without a place in the source. One that says nothing is none. */
static void place_lines(struct pprof_code *code, const struct frame *frame,
			struct pprof_place *place)
{
	const struct code_line *lines =
		frame->nr_lines ? profile_lines(code->profile, frame) : NULL;

	place->name.function = frame->function;
	place->nr_lines = frame->function ? 1 : 0;
	if (frame->nr_lines > 1 ||
	    (frame->nr_lines && (lines->function || lines->file || lines->line))) {
		place->lines = lines;
		place->nr_lines = frame->nr_lines;
	}
}

static void note_lines(struct pprof_object *object, const struct pprof_place *place)
{
	const struct code_line *lines = pprof_code_lines(place);
	size_t i;

	for (i = 0; i < place->nr_lines; i++) {
		object->has_functions |= lines[i].function != 0;
		object->has_filenames |= lines[i].file != 0;
		object->has_line_numbers |= lines[i].line != 0;
	}
	object->has_inlines |= place->nr_lines > 1;
}

static struct pprof_place place_of(struct pprof_code *code, uint32_t number)
{
	const struct frame *frame = profile_frame(code->profile, number);
	struct pprof_place place = {.frame = number};
	uint32_t object = object_of_frame(code, frame);

	place.address = frame->address < PPROF_NOWHERE ? frame->address : 0;
	place_lines(code, frame, &place);
	if (object) {
		place_in_object(code, frame, object - 1, &place);
		note_lines(&code->objects[object - 1], &place);
	}
	return place;
}

static int compare_strings(const struct pprof_code *code, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(pprof_code_string(code, a), pprof_code_string(code, b));
}

static int compare_lines(const struct pprof_code *code, const struct pprof_place *a,
			 const struct pprof_place *b)
{
	const struct code_line *lines_a = pprof_code_lines(a), *lines_b = pprof_code_lines(b);
	size_t i;
	int order;

	if (a->nr_lines != b->nr_lines)
		return a->nr_lines > b->nr_lines ? 1 : -1;
	for (i = 0; i < a->nr_lines; i++) {
		order = compare_strings(code, lines_a[i].function, lines_b[i].function);
		if (!order)
			order = compare_strings(code, lines_a[i].file, lines_b[i].file);
		if (order)
			return order;
		if (lines_a[i].line != lines_b[i].line)
			return lines_a[i].line > lines_b[i].line ? 1 : -1;
	}
	return 0;
}

static int compare_places(const void *a, const void *b, void *context)
{
	const struct pprof_place *one = a, *other = b;

	if (one->mapping != other->mapping)
		return one->mapping > other->mapping ? 1 : -1;
	if (one->address != other->address)
		return one->address > other->address ? 1 : -1;
	return compare_lines(context, one, other);
}

/* Which frames are on stacks of samples. */
static void mark_used(const struct profile *profile, bool *is_used)
{
	size_t nr = profile_nr_samples(profile), k;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(profile, i);
		const uint32_t *frames = profile_sample_frames(profile, sample);

		for (k = 0; sample->count && k < sample->nr_frames; k++)
			is_used[frames[k]] = true;
	}
}

static struct pprof_place missed_place(uint32_t frame, uint32_t string)
{
	return (struct pprof_place){.frame = frame, .nr_lines = 1, .name = {.function = string}};
}

/* Twice: what mappings there are follows from what the frames need. */
static int find_places(struct pprof_code *code, size_t nr_frames, const bool *is_used)
{
	uint32_t i;

	for (i = 0; i < nr_frames; i++)
		if (is_used[i])
			(void)place_of(code, i);
	if (make_mappings(code) < 0)
		return -ENOMEM;
	for (i = 0; i < nr_frames; i++)
		if (is_used[i])
			code->places[code->nr_places++] = place_of(code, i);
	code->places[code->nr_places++] =
		missed_place((uint32_t)nr_frames, PPROF_STRING_MISSED_USER);
	code->places[code->nr_places++] =
		missed_place((uint32_t)nr_frames + 1, PPROF_STRING_MISSED_KERNEL);
	return 0;
}

/* Sorts the places, and leaves out what comes twice. */
static void sort_places(struct pprof_code *code, size_t nr_frames)
{
	size_t nr = 0, i;

	qsort_r(code->places, code->nr_places, sizeof(*code->places), compare_places, code);
	for (i = 0; i < code->nr_places; i++) {
		uint32_t frame = code->places[i].frame;

		if (!nr || compare_places(&code->places[nr - 1], &code->places[i], code) != 0)
			code->places[nr++] = code->places[i];
		code->places[nr - 1].is_used |= frame < nr_frames;
		code->place_of_frame[frame] = (uint32_t)nr - 1;
	}
	code->nr_places = nr;
	code->missed_user = code->place_of_frame[nr_frames];
	code->missed_kernel = code->place_of_frame[nr_frames + 1];
}

static int make_places(struct pprof_code *code)
{
	size_t nr_frames = profile_nr_frames(code->profile);
	cleanup_free bool *is_used = calloc(nr_frames + 1, sizeof(*is_used));

	code->places = calloc(nr_frames + 2, sizeof(*code->places));
	code->place_of_frame = calloc(nr_frames + 2, sizeof(*code->place_of_frame));
	if (!is_used || !code->places || !code->place_of_frame)
		return -ENOMEM;
	mark_used(code->profile, is_used);
	if (find_places(code, nr_frames, is_used) < 0)
		return -ENOMEM;
	sort_places(code, nr_frames);
	return 0;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

int pprof_code_init(struct pprof_code *code, const struct profile *profile)
{
	*code = (struct pprof_code){.profile = profile};
	if (make_objects(code) < 0 || make_places(code) < 0) {
		pprof_code_clear(code);
		return -ENOMEM;
	}
	return 0;
}

void pprof_code_clear(struct pprof_code *code)
{
	free(code->object_of_module);
	free(code->objects);
	free(code->mappings);
	free(code->places);
	free(code->place_of_frame);
	*code = (struct pprof_code){0};
}

const char *pprof_code_string(const struct pprof_code *code, uint32_t string)
{
	if (string == PPROF_STRING_MISSED_USER)
		return PPROF_MISSED_USER;
	if (string == PPROF_STRING_MISSED_KERNEL)
		return PPROF_MISSED_KERNEL;
	return profile_string(code->profile, string);
}

const struct code_line *pprof_code_lines(const struct pprof_place *place)
{
	return place->lines ? place->lines : &place->name;
}

bool pprof_code_is_kernel(const struct pprof_code *code, uint32_t place)
{
	uint32_t mapping = code->places[place].mapping;

	return mapping && code->objects[code->mappings[mapping - 1].object].kind == MODULE_KERNEL;
}
