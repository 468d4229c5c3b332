/*
 * Maps a profile's code to pprof's terms. Modules become *objects* (files, the kernel, JIT-compiled
 * code), their segments *mappings*, and frames *places*: an address in a mapping with its source
 * lines. All three are identified and sorted by content, independent of the profile's numbers, and
 * only the ones that samples use are included.
 *
 * Modules with the same kind, name, build id and deletion state are one object, since pprof has
 * nothing else to identify a file; the module with the most known segments represents it. An offset
 * in a file is translated by the first segment that contains it. An offset outside of all segments
 * gets a mapping of the whole file. Code without an address gets the object's first mapping, with
 * address 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/pprof/pprof_writer.h"

/* --- objects ---------------------------------------------------------------------------------- */

/* Used for modules without code information. */
static const struct module_code no_code;

static int compare_texts(const char *a, size_t nr_a, const char *b, size_t nr_b)
{
	int order = memcmp(a, b, nr_a < nr_b ? nr_a : nr_b);

	return order ? order : (nr_a > nr_b) - (nr_a < nr_b);
}

/* Programs first: pprof takes the first mapping's file for the profiled program. */
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

	if (!order)
		order = compare_texts(a->name, a->name_bytes, b->name, b->name_bytes);
	if (!order)
		order = a->is_gone - b->is_gone;
	if (!order)
		order = compare_texts((const char *)a->code->build_id, a->code->build_id_bytes,
				      (const char *)b->code->build_id, b->code->build_id_bytes);
	return order;
}

struct module_object {
	struct pprof_object object;
	uint32_t module;
};

/* Among equal objects, the one with the most segments is first. */
static int compare_module_objects(const void *a, const void *b)
{
	const struct pprof_object *one = &((const struct module_object *)a)->object;
	const struct pprof_object *other = &((const struct module_object *)b)->object;
	int order = compare_objects(one, other);
	unsigned nr_one = one->code->nr_segments, nr_other = other->code->nr_segments;

	if (order)
		return order;
	if (nr_one != nr_other)
		return nr_one > nr_other ? -1 : 1;
	return memcmp(one->code->segments, other->code->segments,
		      nr_one * sizeof(struct module_segment));
}

/*
 * A kernel module keeps its name only if readers can recognize it as a kernel module; otherwise it
 * becomes part of the kernel. All JIT-compiled code has the same name.
 */
static struct pprof_object object_of(const struct profile *profile, uint32_t number)
{
	const struct module *module = profile_module(profile, number);
	const struct module_code *code = profile_code(profile, number);
	struct pprof_object object = {
		.kind = module->kind,
		.name = profile_string(profile, module->name),
		.code = code ? code : &no_code,
	};
	const char *common_name = NULL;

	object.is_gone = object.code->is_gone;
	object.name_bytes = pprof_path_length(object.name);
	if (object.kind == MODULE_RUN_TIME)
		common_name = PPROF_RUN_TIME_FILE;
	else if (object.kind == MODULE_KERNEL && (pprof_kind_of(object.name) != MODULE_KERNEL ||
						  pprof_is_kernel_itself(object.name)))
		common_name = PPROF_KERNEL_FILE;
	if (common_name) {
		object.name = common_name;
		object.name_bytes = strlen(common_name);
		object.code = &no_code;
		object.is_gone = false;
	}
	if (!object.name_bytes && !object.code->build_id_bytes)
		object.kind = MODULE_UNKNOWN;
	return object;
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
	for (i = 0; i < nr; i++) {
		const struct pprof_object *object = &sorted[i].object;

		if (object->kind == MODULE_UNKNOWN)
			continue;
		if (!code->nr_objects ||
		    compare_objects(&code->objects[code->nr_objects - 1], object) != 0)
			code->objects[code->nr_objects++] = *object;
		code->object_of_module[sorted[i].module] = (uint32_t)code->nr_objects;
	}
	return 0;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* Returns the next segment that is valid as a mapping; NULL if there is none. */
static const struct module_segment *next_segment(const struct pprof_object *object,
						 size_t *position)
{
	const struct module_code *code = object->code;

	if (object->kind != MODULE_FILE && object->kind != MODULE_VDSO)
		return NULL;
	while (*position < code->nr_segments && *position < PROFILE_MAX_SEGMENTS) {
		const struct module_segment *segment = &code->segments[(*position)++];

		if (segment->bytes && segment->bytes <= UINT64_MAX - segment->vaddr &&
		    segment->bytes <= UINT64_MAX - segment->offset)
			return segment;
	}
	return NULL;
}

static int add_mapping(struct pprof_code *code, const struct pprof_mapping *mapping)
{
	if (array_reserve(&code->mappings, &code->cap_mappings, code->nr_mappings + 1,
			  sizeof(*mapping)) < 0)
		return -ENOMEM;
	code->mappings[code->nr_mappings++] = *mapping;
	return 0;
}

/*
 * Adds an object's mappings: its segments, and the whole object if it has no segments or some
 * offset is in none of them.
 */
static int add_mappings(struct pprof_code *code, uint32_t number)
{
	struct pprof_object *object = &code->objects[number];
	struct pprof_mapping whole = {.object = number, .limit = PPROF_WHOLE_LIMIT};
	const struct module_segment *segment;
	size_t position = 0;

	object->first_mapping = (uint32_t)code->nr_mappings;
	if (!object->is_used)
		return 0;
	while ((segment = next_segment(object, &position))) {
		const struct pprof_mapping mapping = {
			.object = number,
			.start = segment->vaddr,
			.limit = segment->vaddr + segment->bytes,
			.offset = segment->offset,
		};

		if (add_mapping(code, &mapping) < 0)
			return -ENOMEM;
	}
	if (code->nr_mappings > object->first_mapping && !object->needs_whole)
		return 0;
	if (object->kind == MODULE_KERNEL) {
		whole.start = PPROF_KERNEL_START;
		whole.limit = UINT64_MAX;
	}
	return add_mapping(code, &whole);
}

/* Returns the mapping + 1 of an offset in an object, and its address. Offset 0 means unknown. */
static uint32_t translate(struct pprof_object *object, uint64_t offset, uint64_t *ret_address)
{
	const struct module_segment *segment = NULL;
	uint32_t mapping = object->first_mapping + 1;
	size_t position = 0;

	object->is_used = true;
	*ret_address = offset;
	if (!offset || (object->kind != MODULE_FILE && object->kind != MODULE_VDSO))
		return mapping;
	while ((segment = next_segment(object, &position))) {
		if (offset - segment->offset < segment->bytes) {
			*ret_address = offset - segment->offset + segment->vaddr;
			return *ret_address ? mapping : object->first_mapping + 1;
		}
		mapping++;
	}
	object->needs_whole = true;
	return mapping;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Returns the frame's object + 1, or 0. */
static uint32_t object_of_frame(const struct pprof_code *code, const struct frame *frame)
{
	enum module_kind kind = profile_module(code->profile, frame->module)->kind;

	if (frame->kind == FRAME_KERNEL && kind != MODULE_KERNEL)
		return code->object_of_module[MODULE_NR_KERNEL];
	if (frame->kind == FRAME_USER && kind == MODULE_KERNEL)
		return 0;
	return code->object_of_module[frame->module];
}

/* A name without source position is a single line. An empty line is omitted. */
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

static struct pprof_place place_of(struct pprof_code *code, uint32_t number)
{
	const struct frame *frame = profile_frame(code->profile, number);
	struct pprof_place place = {.frame = number};
	uint32_t object_number = object_of_frame(code, frame);
	const struct code_line *lines;
	struct pprof_object *object;
	size_t i;

	place.address = frame->address < PROFILE_NOWHERE ? frame->address : 0;
	place_lines(code, frame, &place);
	if (!object_number)
		return place;
	object = &code->objects[object_number - 1];
	place.mapping = translate(object, place.address, &place.address);
	lines = pprof_code_lines(&place);
	for (i = 0; i < place.nr_lines; i++) {
		object->has_functions |=
			lines[i].function &&
			!profile_is_start(code->profile, lines[i].function, frame->module);
		object->has_filenames |= lines[i].file != 0;
		object->has_line_numbers |= lines[i].line != 0;
	}
	object->has_inlines |= place.nr_lines > 1;
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

/* Marks the frames on the stacks of samples with a value. */
static void mark_used(const struct profile *profile, bool *is_used)
{
	size_t nr = profile_nr_samples(profile), k;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct sample *sample = profile_sample(profile, i);
		const uint32_t *frames = profile_sample_frames(profile, sample);

		if (!profile_has_value(profile, i))
			continue;
		for (k = 0; k < sample->nr_frames; k++)
			is_used[frames[k]] = true;
	}
}

/* Sorts the places and removes duplicates. */
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

/*
 * Two passes: the mappings depend on what the frames need, so the first pass only records that. The
 * places of missed stacks are sorted together with all others, as two frames after the profile's.
 */
static int make_places(struct pprof_code *code)
{
	size_t nr_frames = profile_nr_frames(code->profile);
	cleanup_free bool *is_used = calloc(nr_frames + 1, sizeof(*is_used));
	uint32_t i;

	code->places = calloc(nr_frames + 2, sizeof(*code->places));
	code->place_of_frame = calloc(nr_frames + 2, sizeof(*code->place_of_frame));
	if (!is_used || !code->places || !code->place_of_frame)
		return -ENOMEM;
	mark_used(code->profile, is_used);
	for (i = 0; i < nr_frames; i++)
		if (is_used[i])
			(void)place_of(code, i);
	for (i = 0; i < code->nr_objects; i++)
		if (add_mappings(code, i) < 0)
			return -ENOMEM;
	for (i = 0; i < nr_frames; i++)
		if (is_used[i])
			code->places[code->nr_places++] = place_of(code, i);
	code->places[code->nr_places++] = (struct pprof_place){
		.frame = (uint32_t)nr_frames, .nr_lines = 1, .name = {PPROF_STRING_MISSED_USER}};
	code->places[code->nr_places++] =
		(struct pprof_place){.frame = (uint32_t)nr_frames + 1,
				     .nr_lines = 1,
				     .name = {PPROF_STRING_MISSED_KERNEL}};
	sort_places(code, nr_frames);
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

int pprof_code_init(struct pprof_code *code, const struct profile *profile)
{
	*code = (struct pprof_code){.profile = profile};
	return make_objects(code) < 0 ? -ENOMEM : make_places(code);
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
