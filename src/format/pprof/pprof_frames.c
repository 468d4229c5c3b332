/*
 * A profile tells frames apart by kind, module and address, pprof by number. Mostly that is the
 * same. Where two locations at one address say different things (code that was made at run time, a
 * file that was replaced), the second one goes into a second module of the same name, up to
 * MAX_MODULES of them. What has no address, or finds no module any more, is known by what it says.
 */
#include "format/pprof/pprof_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "format/pprof/pprof_fields.h"

/* Modules with the same name, for frames at the same address. */
#define MAX_MODULES 16

/* --- lines ------------------------------------------------------------------------------------ */

static int read_function(struct pprof_frames *frames, uint64_t id, struct code_line *line,
			 struct error *error)
{
	const uint64_t *number = u64_map_find(&frames->tables->function_of_id, id);
	const struct pprof_function *function;
	int64_t name, file;

	if (!id)
		return 0;
	if (!number)
		return error_set(error, -EBADMSG,
				 "not a sound pprof profile: a function is missing");
	function = &frames->tables->functions[*number];
	name = pprof_strings_get(frames->strings, function->name);
	file = pprof_strings_get(frames->strings, function->file);
	if (name < 0 || file < 0)
		return -ENOMEM;
	line->function = (uint32_t)name;
	line->file = (uint32_t)file;
	return 0;
}

static int add_line(struct pprof_frames *frames, struct bytes message, struct error *error)
{
	struct code_line line = {0};
	struct protobuf_field field;
	int result = 0;

	while (!result && protobuf_next(&message, &field)) {
		if (field.number == LINE_FUNCTION_ID)
			result = read_function(frames, field.value, &line, error);
		else if (field.number == LINE_LINE)
			line.line = field.value <= UINT32_MAX ? (uint32_t)field.value : 0;
	}
	if (result < 0)
		return result;
	if (message.failed)
		return error_set(error, -EBADMSG, "not a sound pprof profile: a line is broken");
	if (frames->nr_lines >= UINT16_MAX)
		return 0;
	if (array_reserve(&frames->lines, &frames->cap_lines, frames->nr_lines + 1, sizeof(line)) <
	    0)
		return -ENOMEM;
	frames->lines[frames->nr_lines++] = line;
	return 0;
}

/* A single line that says nothing is none. */
static int read_lines(struct pprof_frames *frames, struct bytes message, struct error *error)
{
	struct protobuf_field field;
	const struct code_line *first;
	int result = 0;

	frames->nr_lines = 0;
	while (!result && protobuf_next(&message, &field))
		if (field.number == LOCATION_LINE && field.type == PROTOBUF_BYTES)
			result = add_line(frames, field.bytes, error);
	first = frames->lines;
	if (frames->nr_lines == 1 && !first->function && !first->file && !first->line)
		frames->nr_lines = 0;
	return result;
}

/* A name without a place in the source. */
static bool is_plain_name(const struct pprof_frames *frames)
{
	return frames->nr_lines == 1 && !frames->lines->file && !frames->lines->line;
}

static uint32_t outermost_function(const struct pprof_frames *frames)
{
	return frames->nr_lines ? frames->lines[frames->nr_lines - 1].function : 0;
}

static bool says_the_same(const struct pprof_frames *frames, uint32_t number)
{
	const struct frame *frame = profile_frame(frames->profile, number);
	size_t nr = is_plain_name(frames) ? 0 : frames->nr_lines;

	return frame->function == outermost_function(frames) && frame->nr_lines == nr &&
	       (!nr || !memcmp(profile_lines(frames->profile, frame), frames->lines,
			       nr * sizeof(*frames->lines)));
}

static int name_frame(struct pprof_frames *frames, uint32_t number)
{
	if (frames->nr_lines && !is_plain_name(frames) &&
	    profile_set_lines(frames->profile, number, frames->lines, frames->nr_lines) < 0)
		return -ENOMEM;
	profile_set_name(frames->profile, number, outermost_function(frames));
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The frame there if it says what was read, or is new and does so from now on; -ENOENT, -ENOMEM. */
static int64_t try_frame(struct pprof_frames *frames, enum frame_kind kind, uint32_t module,
			 uint64_t address)
{
	size_t nr_before = profile_nr_frames(frames->profile);
	int64_t number = profile_add_frame(frames->profile, kind, module, address);
	const struct frame *frame;

	if (number < 0)
		return number;
	frame = profile_frame(frames->profile, (uint32_t)number);
	if (frame->address != address || frame->module != module)
		return number; /* the profile is full: the frame that stands for all others */
	if (profile_nr_frames(frames->profile) > nr_before)
		return name_frame(frames, (uint32_t)number) < 0 ? -ENOMEM : number;
	return says_the_same(frames, (uint32_t)number) ? number : -ENOENT;
}

static int64_t find_frame(struct pprof_frames *frames, struct pprof_file *file, uint64_t address)
{
	enum frame_kind kind = file->module.kind == MODULE_KERNEL ? FRAME_KERNEL : FRAME_USER;
	int64_t module, frame;
	size_t i;

	for (i = 0; address && address < PROFILE_NOWHERE && i < MAX_MODULES; i++) {
		module = pprof_files_module(&frames->files, file, i);
		if (module < 0)
			return module;
		frame = try_frame(frames, kind, (uint32_t)module, address);
		if (frame != -ENOENT)
			return frame;
	}
	module = pprof_files_module(&frames->files, file, 0);
	if (module < 0)
		return module;
	return profile_add_named_frame(frames->profile, kind, (uint32_t)module, frames->lines,
				       frames->nr_lines);
}

static enum pprof_location_kind kind_of(const struct pprof_frames *frames,
					const struct pprof_location *location,
					const struct pprof_file *file)
{
	const char *name = profile_string(frames->profile, outermost_function(frames));

	if (file->module.kind == MODULE_KERNEL)
		return PPROF_LOCATION_KERNEL;
	if (location->mapping_id || location->address || !is_plain_name(frames))
		return PPROF_LOCATION_USER;
	if (!strcmp(name, PPROF_MISSED_USER))
		return PPROF_LOCATION_MISSED_USER;
	return strcmp(name, PPROF_MISSED_KERNEL) != 0 ? PPROF_LOCATION_USER
						      : PPROF_LOCATION_MISSED_KERNEL;
}

static int make_found(struct pprof_frames *frames, const struct pprof_location *location,
		      struct pprof_found *ret, struct error *error)
{
	const struct pprof_tables *tables = frames->tables;
	const uint64_t *mapping = u64_map_find(&tables->mapping_of_id, location->mapping_id);
	struct pprof_file *file = pprof_files_unknown(&frames->files);
	uint64_t address = location->address;
	int64_t frame;
	int result = read_lines(frames, location->message, error);

	if (result < 0)
		return result;
	if (location->mapping_id && !mapping)
		return error_set(error, -EBADMSG,
				 "not a sound pprof profile: a mapping is missing");
	if (mapping) {
		file = pprof_files_of_mapping(&frames->files, *mapping);
		address = pprof_file_offset(file, &tables->mappings[*mapping], address);
	}
	frame = find_frame(frames, file, address);
	if (frame < 0)
		return (int)frame;
	ret->frame = (uint32_t)frame;
	ret->kind = kind_of(frames, location, file);
	return 0;
}

int pprof_frames_find(struct pprof_frames *frames, uint64_t location_id, struct pprof_found *ret,
		      struct error *error)
{
	const struct pprof_location *location = pprof_tables_location(frames->tables, location_id);
	struct pprof_found *found;
	int result = 0;

	if (!location)
		return error_set(error, -EBADMSG,
				 "not a sound pprof profile: a location is missing");
	found = &frames->found[location - frames->tables->locations];
	if (found->kind == PPROF_LOCATION_NEW)
		result = make_found(frames, location, found, error);
	if (!result)
		*ret = *found;
	return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

int pprof_frames_init(struct pprof_frames *frames, const struct pprof_tables *tables,
		      struct pprof_strings *strings, struct profile *profile)
{
	*frames = (struct pprof_frames){.profile = profile, .tables = tables, .strings = strings};
	frames->found = calloc(tables->nr_locations + 1, sizeof(*frames->found));
	if (!frames->found || pprof_files_init(&frames->files, tables, strings, profile) < 0) {
		pprof_frames_clear(frames);
		return -ENOMEM;
	}
	return 0;
}

void pprof_frames_clear(struct pprof_frames *frames)
{
	pprof_files_clear(&frames->files);
	free(frames->found);
	free(frames->lines);
	*frames = (struct pprof_frames){0};
}
