/*
 * Places are sorted by content and those that say the same become one. The two places of missed
 * stacks are sorted in with all others, as two frames past the profile's.
 */
#include "format/pprof/pprof_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/pprof/pprof_fields.h"
#include "format/pprof/pprof_values.h"

/* --- places ----------------------------------------------------------------------------------- */

/* The frame's object + 1, or 0. */
static uint32_t object_of_frame(const struct pprof_code *code, const struct frame *frame)
{
	enum module_kind kind = profile_module(code->profile, frame->module)->kind;

	if (frame->kind == FRAME_KERNEL && kind != MODULE_KERNEL)
		return code->objects.of_module[MODULE_NR_KERNEL];
	if (frame->kind == FRAME_USER && kind == MODULE_KERNEL)
		return 0;
	return code->objects.of_module[frame->module];
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

	place.address = frame->address < PROFILE_NOWHERE ? frame->address : 0;
	place_lines(code, frame, &place);
	if (object) {
		place.mapping = pprof_objects_place(&code->objects, object - 1, place.address,
						    &place.address);
		note_lines(&code->objects.objects[object - 1], &place);
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

		if (!pprof_values_any(profile, i))
			continue;
		for (k = 0; k < sample->nr_frames; k++)
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
	if (pprof_objects_map(&code->objects) < 0)
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

/* --- the whole -------------------------------------------------------------------------------- */

int pprof_code_init(struct pprof_code *code, const struct profile *profile)
{
	*code = (struct pprof_code){.profile = profile};
	if (pprof_objects_init(&code->objects, profile) < 0 || make_places(code) < 0) {
		pprof_code_clear(code);
		return -ENOMEM;
	}
	return 0;
}

void pprof_code_clear(struct pprof_code *code)
{
	pprof_objects_clear(&code->objects);
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
	const struct pprof_objects *objects = &code->objects;
	uint32_t mapping = code->places[place].mapping;

	if (!mapping)
		return false;
	return objects->objects[objects->mappings[mapping - 1].object].kind == MODULE_KERNEL;
}
