/*
 * The tables of a pprof file, read in one pass over its fields, and its locations as frames of a
 * profile. Strings are referenced before they are read, so their numbers are checked at the end.
 *
 * Mappings are segments of files, which are identified by kind, name, build id and deletion state.
 * A profile identifies frames by kind, module and address, pprof by number; usually that is
 * equivalent. If two locations at the same address have different names (JIT-compiled code, a file
 * that was replaced), the second one goes into a second module of the same name, up to MAX_MODULES
 * of them. A location without an address, or with no module left, is identified by its names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "format/pprof/pprof_reader.h"

/* Limit for modules with the same name, for frames at the same address. */
#define MAX_MODULES 16

int pprof_refuse(const struct pprof_tables *tables, const char *what)
{
	return error_set(tables->error, -EBADMSG, "malformed pprof profile: %s", what);
}

/* Numbers out of range become UINT32_MAX, which is invalid in any file. */
static uint32_t string_number(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static uint64_t positive(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

/* Records the id of a table's next entry, which must be unique. */
static int add_id(const struct pprof_tables *tables, struct u64_map *numbers, uint64_t id,
		  size_t number)
{
	if (!id || u64_map_find(numbers, id))
		return pprof_refuse(tables, "an id is 0 or duplicate");
	if (number >= PPROF_MAX_ENTRIES)
		return pprof_refuse(tables, "a table is too long");
	return u64_map_set(numbers, id, number);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A string is truncated at a NUL. */
static int add_string(struct pprof_tables *tables, const struct protobuf_field *field)
{
	if (tables->nr_strings >= PPROF_MAX_ENTRIES)
		return pprof_refuse(tables, "too many strings");
	if (array_reserve(&tables->strings, &tables->cap_strings, tables->nr_strings + 1,
			  sizeof(*tables->strings)) < 0)
		return -ENOMEM;
	tables->strings[tables->nr_strings] = field->bytes;
	if (field->bytes.nr)
		tables->strings[tables->nr_strings].nr =
			strnlen((const char *)field->bytes.at, field->bytes.nr);
	tables->nr_strings++;
	return 0;
}

static int add_function(struct pprof_tables *tables, struct bytes message)
{
	uint64_t fields[FUNCTION_FILENAME + 1];
	int result;

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)))
		return pprof_refuse(tables, "malformed function");
	result = add_id(tables, &tables->function_of_id, fields[FUNCTION_ID], tables->nr_functions);
	if (result < 0)
		return result;
	if (array_reserve(&tables->functions, &tables->cap_functions, tables->nr_functions + 1,
			  sizeof(*tables->functions)) < 0)
		return -ENOMEM;
	tables->functions[tables->nr_functions++] = (struct pprof_function){
		.name = string_number(fields[FUNCTION_NAME]),
		.file = string_number(fields[FUNCTION_FILENAME]),
	};
	return 0;
}

static int add_mapping(struct pprof_tables *tables, struct bytes message)
{
	uint64_t fields[MAPPING_BUILD_ID + 1];
	int result;

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)))
		return pprof_refuse(tables, "malformed mapping");
	result = add_id(tables, &tables->mapping_of_id, fields[MAPPING_ID], tables->nr_mappings);
	if (result < 0)
		return result;
	if (array_reserve(&tables->mappings, &tables->cap_mappings, tables->nr_mappings + 1,
			  sizeof(*tables->mappings)) < 0)
		return -ENOMEM;
	tables->mappings[tables->nr_mappings++] = (struct pprof_file_mapping){
		.start = fields[MAPPING_MEMORY_START],
		.limit = fields[MAPPING_MEMORY_LIMIT],
		.offset = fields[MAPPING_FILE_OFFSET],
		.filename = string_number(fields[MAPPING_FILENAME]),
		.build_id = string_number(fields[MAPPING_BUILD_ID]),
	};
	return 0;
}

static int add_location(struct pprof_tables *tables, struct bytes message)
{
	uint64_t fields[LOCATION_ADDRESS + 1];
	int result;

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)))
		return pprof_refuse(tables, "malformed location");
	result = add_id(tables, &tables->location_of_id, fields[LOCATION_ID], tables->nr_locations);
	if (result < 0)
		return result;
	if (array_reserve(&tables->locations, &tables->cap_locations, tables->nr_locations + 1,
			  sizeof(*tables->locations)) < 0)
		return -ENOMEM;
	tables->locations[tables->nr_locations++] = (struct pprof_location){
		.message = message,
		.id = fields[LOCATION_ID],
		.mapping_id = fields[LOCATION_MAPPING_ID],
		.address = fields[LOCATION_ADDRESS],
	};
	return 0;
}

static int read_value_type(const struct pprof_tables *tables, struct bytes message,
			   struct pprof_value_type *ret)
{
	uint64_t fields[VALUE_TYPE_UNIT + 1];

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)))
		return pprof_refuse(tables, "malformed value type");
	ret->type = string_number(fields[VALUE_TYPE_TYPE]);
	ret->unit = string_number(fields[VALUE_TYPE_UNIT]);
	return 0;
}

static int add_sample_type(struct pprof_tables *tables, struct bytes message)
{
	int result;

	if (tables->nr_sample_types >= PPROF_MAX_SAMPLE_TYPES)
		return pprof_refuse(tables, "too many value types");
	result = read_value_type(tables, message, &tables->sample_types[tables->nr_sample_types]);
	tables->nr_sample_types += !result;
	return result;
}

static int add_comments(struct pprof_tables *tables, struct protobuf_field field)
{
	uint64_t number;

	while (protobuf_next_number(&field, &number)) {
		if (tables->nr_comments >= PPROF_MAX_COMMENTS)
			return pprof_refuse(tables, "too many comments");
		if (array_reserve(&tables->comments, &tables->cap_comments, tables->nr_comments + 1,
				  sizeof(*tables->comments)) < 0)
			return -ENOMEM;
		tables->comments[tables->nr_comments++] = string_number(number);
	}
	return field.bytes.failed ? pprof_refuse(tables, "malformed comment") : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_message(struct pprof_tables *tables, const struct protobuf_field *field)
{
	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
		return add_sample_type(tables, field->bytes);
	case PROFILE_MAPPING:
		return add_mapping(tables, field->bytes);
	case PROFILE_LOCATION:
		return add_location(tables, field->bytes);
	case PROFILE_FUNCTION:
		return add_function(tables, field->bytes);
	case PROFILE_STRING_TABLE:
		return add_string(tables, field);
	case PROFILE_PERIOD_TYPE:
		return read_value_type(tables, field->bytes, &tables->period_type);
	default:
		return 0;
	}
}

static int read_field(struct pprof_tables *tables, const struct protobuf_field *field)
{
	if (field->number == PROFILE_COMMENT)
		return add_comments(tables, *field);
	if (field->type == PROTOBUF_BYTES)
		return read_message(tables, field);
	if (field->number == PROFILE_TIME_NANOS)
		tables->time_ns = positive(field->value);
	else if (field->number == PROFILE_DURATION_NANOS)
		tables->duration_ns = positive(field->value);
	else if (field->number == PROFILE_PERIOD)
		tables->period = positive(field->value);
	else if (field->number == PROFILE_DEFAULT_SAMPLE_TYPE)
		tables->default_sample_type = string_number(field->value);
	return 0;
}

static bool are_strings(const struct pprof_tables *tables, uint32_t a, uint32_t b)
{
	return a < tables->nr_strings && b < tables->nr_strings;
}

static int check_strings(const struct pprof_tables *tables)
{
	const struct pprof_value_type *period = &tables->period_type;
	bool is_sound = tables->nr_strings && !tables->strings[0].nr &&
			are_strings(tables, tables->default_sample_type, 0) &&
			are_strings(tables, period->type, period->unit);
	size_t i;

	for (i = 0; i < tables->nr_sample_types; i++)
		is_sound &= are_strings(tables, tables->sample_types[i].type,
					tables->sample_types[i].unit);
	for (i = 0; i < tables->nr_comments; i++)
		is_sound &= are_strings(tables, tables->comments[i], 0);
	for (i = 0; i < tables->nr_functions; i++)
		is_sound &=
			are_strings(tables, tables->functions[i].name, tables->functions[i].file);
	for (i = 0; i < tables->nr_mappings; i++)
		is_sound &= are_strings(tables, tables->mappings[i].filename,
					tables->mappings[i].build_id);
	return is_sound ? 0 : pprof_refuse(tables, "missing string");
}

int pprof_tables_read(struct pprof_tables *tables, struct bytes file, struct profile *profile,
		      struct error *error)
{
	struct protobuf_field field;
	int result = 0;

	*tables = (struct pprof_tables){.profile = profile, .error = error};
	while (!result && protobuf_next(&file, &field))
		result = read_field(tables, &field);
	if (result < 0)
		return result;
	if (file.failed)
		return pprof_refuse(tables, "malformed or truncated");
	tables->profile_strings = calloc(tables->nr_strings + 1, sizeof(*tables->profile_strings));
	return tables->profile_strings ? check_strings(tables) : -ENOMEM;
}

void pprof_tables_clear(struct pprof_tables *tables)
{
	free(tables->strings);
	free(tables->profile_strings);
	free(tables->functions);
	u64_map_clear(&tables->function_of_id);
	free(tables->mappings);
	u64_map_clear(&tables->mapping_of_id);
	free(tables->locations);
	u64_map_clear(&tables->location_of_id);
	free(tables->comments);
	*tables = (struct pprof_tables){0};
}

int64_t pprof_tables_string(struct pprof_tables *tables, uint32_t number)
{
	const char *text = (const char *)tables->strings[number].at;
	size_t nr = tables->strings[number].nr;
	cleanup_free char *copy = NULL;
	int64_t added;

	if (tables->profile_strings[number])
		return tables->profile_strings[number] - 1;
	if (pprof_text_repair(&text, &nr, &copy) < 0)
		return -ENOMEM;
	added = profile_add_string_bytes(tables->profile, text, nr);
	if (added >= 0)
		tables->profile_strings[number] = (uint32_t)added + 1;
	return added;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A build id that is not hexadecimal, or too long, is ignored. */
static void read_build_id(struct bytes text, struct module_code *code)
{
	size_t i;

	if (text.nr % 2 || text.nr / 2 > PROFILE_BUILD_ID_BYTES)
		return;
	for (i = 0; i < text.nr; i += 2) {
		int high = text_hex_digit((char)text.at[i]);
		int low = text_hex_digit((char)text.at[i + 1]);

		if (high < 0 || low < 0) {
			memset(code->build_id, 0, sizeof(code->build_id));
			return;
		}
		code->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	code->build_id_bytes = (uint8_t)(text.nr / 2);
}

static bool is_code_of_file(enum module_kind kind)
{
	return kind == MODULE_FILE || kind == MODULE_VDSO;
}

/* Describes the file of a mapping, without its segments. Returns 0 or -ENOMEM. */
static int describe(struct pprof_frames *frames, const struct pprof_file_mapping *mapping,
		    struct pprof_file *ret)
{
	struct profile *profile = frames->profile;
	struct pprof_file file = {0};
	int64_t name = pprof_tables_string(frames->tables, mapping->filename);
	cleanup_free char *path = NULL;
	const char *filename;
	size_t nr;

	if (name < 0)
		return -ENOMEM;
	filename = profile_string(profile, (uint32_t)name);
	file.module.kind = pprof_kind_of(filename);
	if (file.module.kind == MODULE_UNKNOWN || is_code_of_file(file.module.kind))
		read_build_id(frames->tables->strings[mapping->build_id], &file.code);
	if (file.module.kind == MODULE_UNKNOWN && file.code.build_id_bytes)
		file.module.kind = MODULE_FILE;
	nr = pprof_path_length(filename);
	if (is_code_of_file(file.module.kind) && filename[nr]) {
		file.code.is_gone = true;
		path = strndup(filename, nr);
		name = path ? profile_add_string(profile, path) : -ENOMEM;
	}
	if (name < 0)
		return -ENOMEM;
	file.module.name = (uint32_t)name;
	*ret = file;
	return 0;
}

static bool same_file(const struct pprof_file *a, const struct pprof_file *b)
{
	return a->module.kind == b->module.kind && a->module.name == b->module.name &&
	       a->code.is_gone == b->code.is_gone &&
	       a->code.build_id_bytes == b->code.build_id_bytes &&
	       !memcmp(a->code.build_id, b->code.build_id, sizeof(a->code.build_id));
}

/* Returns the number of the file, adding it if new; or -ENOMEM. */
static int64_t intern_file(struct pprof_frames *frames, const struct pprof_file *file)
{
	uint64_t hash = hash_add(hash_key(file->code.build_id, sizeof(file->code.build_id)),
				 (uint64_t)file->module.kind << 32 | file->module.name);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&frames->file_index, hash, &probe, &number))
		if (same_file(&frames->files[number], file))
			return number;
	if (array_reserve(&frames->files, &frames->cap_files, frames->nr_files + 1, sizeof(*file)) <
		    0 ||
	    number_index_reserve(&frames->file_index) < 0)
		return -ENOMEM;
	number_index_add(&frames->file_index, hash, (uint32_t)frames->nr_files);
	frames->files[frames->nr_files] = *file;
	return (int64_t)frames->nr_files++;
}

static void add_segment(struct pprof_file *file, const struct pprof_file_mapping *mapping)
{
	struct module_code *code = &file->code;
	struct module_segment segment = {.offset = mapping->offset, .vaddr = mapping->start};
	bool is_whole = !mapping->start && !mapping->offset && mapping->limit == PPROF_WHOLE_LIMIT;
	size_t i;

	if (!is_code_of_file(file->module.kind) || is_whole || mapping->limit <= mapping->start)
		return;
	segment.bytes = mapping->limit - mapping->start;
	if (segment.bytes > UINT64_MAX - segment.offset)
		return;
	for (i = 0; i < code->nr_segments; i++)
		if (!memcmp(&code->segments[i], &segment, sizeof(segment)))
			return;
	if (code->nr_segments < PROFILE_MAX_SEGMENTS)
		code->segments[code->nr_segments++] = segment;
}

static int find_files(struct pprof_frames *frames)
{
	size_t i;

	for (i = 0; i < frames->tables->nr_mappings; i++) {
		const struct pprof_file_mapping *mapping = &frames->tables->mappings[i];
		struct pprof_file file;
		int64_t number;

		if (describe(frames, mapping, &file) < 0)
			return -ENOMEM;
		number = intern_file(frames, &file);
		if (number < 0)
			return -ENOMEM;
		add_segment(&frames->files[number], mapping);
		frames->file_of_mapping[i] = (uint32_t)number;
	}
	return 0;
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Returns the profile's predefined module for such code, or -ENOENT. */
static int64_t first_module(const struct pprof_frames *frames, const struct pprof_file *file)
{
	if (file->module.kind == MODULE_UNKNOWN)
		return MODULE_NR_UNKNOWN;
	if (file->module.kind == MODULE_KERNEL &&
	    pprof_is_kernel_itself(profile_string(frames->profile, file->module.name)))
		return MODULE_NR_KERNEL;
	return -ENOENT;
}

static int64_t add_module(struct pprof_frames *frames, const struct pprof_file *file)
{
	struct profile *profile = frames->profile;
	int64_t first = first_module(frames, file), number;
	struct module module = first < 0 ? file->module : *profile_module(profile, (uint32_t)first);

	if (first >= 0 && !file->nr_modules)
		return first;
	module.file = frames->nr_modules++;
	/* Predefined modules have number 0. */
	if (module.kind != MODULE_FILE)
		module.file++;
	number = profile_add_module(profile, &module);
	if (number >= 0 && profile_set_code(profile, (uint32_t)number, &file->code) < 0)
		return -ENOMEM;
	return number;
}

/* Returns the nth module for a file's code, or -ENOMEM. All before it must exist already. */
static int64_t module_of_file(struct pprof_frames *frames, struct pprof_file *file, size_t nth)
{
	int64_t number;

	if (nth < file->nr_modules)
		return file->modules[nth];
	if (array_reserve(&file->modules, &file->cap_modules, nth + 1, sizeof(*file->modules)) < 0)
		return -ENOMEM;
	number = add_module(frames, file);
	if (number >= 0)
		file->modules[file->nr_modules++] = (uint32_t)number;
	return number;
}

/* Translates an address in a mapping to a file offset; code without file keeps its address. */
static uint64_t offset_in_file(const struct pprof_file *file,
			       const struct pprof_file_mapping *mapping, uint64_t address)
{
	if (!address || !is_code_of_file(file->module.kind) || address < mapping->start ||
	    address >= mapping->limit)
		return address;
	return address - mapping->start + mapping->offset;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Reads the function's name and file; nothing for id 0. */
static int read_function(struct pprof_frames *frames, uint64_t id, struct code_line *line)
{
	const uint64_t *number = u64_map_find(&frames->tables->function_of_id, id);
	const struct pprof_function *function;
	int64_t name, file;

	if (!id)
		return 0;
	if (!number)
		return pprof_refuse(frames->tables, "missing function");
	function = &frames->tables->functions[*number];
	name = pprof_tables_string(frames->tables, function->name);
	file = pprof_tables_string(frames->tables, function->file);
	if (name < 0 || file < 0)
		return -ENOMEM;
	line->function = (uint32_t)name;
	line->file = (uint32_t)file;
	return 0;
}

static int add_line(struct pprof_frames *frames, struct bytes message)
{
	uint64_t fields[LINE_LINE + 1];
	struct code_line line = {0};
	int result;

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)))
		return pprof_refuse(frames->tables, "malformed line");
	result = read_function(frames, fields[LINE_FUNCTION_ID], &line);
	if (result < 0 || frames->nr_lines >= UINT16_MAX)
		return result;
	line.line = fields[LINE_LINE] <= UINT32_MAX ? (uint32_t)fields[LINE_LINE] : 0;
	if (array_reserve(&frames->lines, &frames->cap_lines, frames->nr_lines + 1, sizeof(line)) <
	    0)
		return -ENOMEM;
	frames->lines[frames->nr_lines++] = line;
	return 0;
}

/* A single empty line is omitted. */
static int read_lines(struct pprof_frames *frames, struct bytes message)
{
	struct protobuf_field field;
	const struct code_line *first;
	int result = 0;

	frames->nr_lines = 0;
	while (!result && protobuf_next(&message, &field))
		if (field.number == LOCATION_LINE && field.type == PROTOBUF_BYTES)
			result = add_line(frames, field.bytes);
	first = frames->lines;
	if (frames->nr_lines == 1 && !first->function && !first->file && !first->line)
		frames->nr_lines = 0;
	return result;
}

/* True for a name without source position. */
static bool is_plain_name(const struct pprof_frames *frames)
{
	return frames->nr_lines == 1 && !frames->lines->file && !frames->lines->line;
}

static uint32_t outermost_function(const struct pprof_frames *frames)
{
	return frames->nr_lines ? frames->lines[frames->nr_lines - 1].function : 0;
}

/* True if a frame of the profile has the names just read. */
static bool has_same_names(const struct pprof_frames *frames, uint32_t number)
{
	const struct frame *frame = profile_frame(frames->profile, number);
	size_t nr = is_plain_name(frames) ? 0 : frames->nr_lines;

	return frame->function == outermost_function(frames) && frame->nr_lines == nr &&
	       (!nr || !memcmp(profile_lines(frames->profile, frame), frames->lines,
			       nr * sizeof(*frames->lines)));
}

/* --- frames ----------------------------------------------------------------------------------- */

/*
 * Returns the frame at this address: a new frame gets the names just read, an existing one must
 * have them. -ENOENT if it has other names; -ENOMEM.
 */
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
		return number; /* the profile is full: the frame for all others */
	if (profile_nr_frames(frames->profile) == nr_before)
		return has_same_names(frames, (uint32_t)number) ? number : -ENOENT;
	if (frames->nr_lines && !is_plain_name(frames) &&
	    profile_set_lines(frames->profile, (uint32_t)number, frames->lines, frames->nr_lines) <
		    0)
		return -ENOMEM;
	profile_set_name(frames->profile, (uint32_t)number, outermost_function(frames));
	return number;
}

static int64_t find_frame(struct pprof_frames *frames, struct pprof_file *file, uint64_t address)
{
	enum frame_kind kind = file->module.kind == MODULE_KERNEL ? FRAME_KERNEL : FRAME_USER;
	int64_t module, frame;
	size_t i;

	for (i = 0; address && address < PROFILE_NOWHERE && i < MAX_MODULES; i++) {
		module = module_of_file(frames, file, i);
		if (module < 0)
			return module;
		frame = try_frame(frames, kind, (uint32_t)module, address);
		if (frame != -ENOENT)
			return frame;
	}
	module = module_of_file(frames, file, 0);
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
		      struct pprof_found *ret)
{
	const struct pprof_tables *tables = frames->tables;
	const uint64_t *mapping = u64_map_find(&tables->mapping_of_id, location->mapping_id);
	struct pprof_file *file = &frames->files[0];
	uint64_t address = location->address;
	int64_t frame;
	int result = read_lines(frames, location->message);

	if (result < 0)
		return result;
	if (location->mapping_id && !mapping)
		return pprof_refuse(tables, "missing mapping");
	if (mapping) {
		file = &frames->files[frames->file_of_mapping[*mapping]];
		address = offset_in_file(file, &tables->mappings[*mapping], address);
	}
	frame = find_frame(frames, file, address);
	if (frame < 0)
		return (int)frame;
	ret->frame = (uint32_t)frame;
	ret->kind = kind_of(frames, location, file);
	return 0;
}

/* Fast path: ids usually count up from 1. */
static const struct pprof_location *find_location(const struct pprof_tables *tables, uint64_t id)
{
	const uint64_t *number;

	if (id - 1 < tables->nr_locations && tables->locations[id - 1].id == id)
		return &tables->locations[id - 1];
	number = u64_map_find(&tables->location_of_id, id);
	return number ? &tables->locations[*number] : NULL;
}

int pprof_frames_find(struct pprof_frames *frames, uint64_t location_id, struct pprof_found *ret)
{
	const struct pprof_location *location = find_location(frames->tables, location_id);
	struct pprof_found *found;
	int result = 0;

	if (!location)
		return pprof_refuse(frames->tables, "missing location");
	found = &frames->found[location - frames->tables->locations];
	if (found->kind == PPROF_LOCATION_NEW)
		result = make_found(frames, location, found);
	if (!result)
		*ret = *found;
	return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

int pprof_frames_init(struct pprof_frames *frames, struct pprof_tables *tables)
{
	const struct pprof_file unknown = {.module.kind = MODULE_UNKNOWN};

	*frames = (struct pprof_frames){.tables = tables, .profile = tables->profile};
	frames->found = calloc(tables->nr_locations + 1, sizeof(*frames->found));
	frames->file_of_mapping = calloc(tables->nr_mappings + 1, sizeof(*frames->file_of_mapping));
	if (!frames->found || !frames->file_of_mapping || intern_file(frames, &unknown) < 0)
		return -ENOMEM;
	return find_files(frames);
}

void pprof_frames_clear(struct pprof_frames *frames)
{
	size_t i;

	for (i = 0; i < frames->nr_files; i++)
		free(frames->files[i].modules);
	free(frames->files);
	number_index_clear(&frames->file_index);
	free(frames->file_of_mapping);
	free(frames->found);
	free(frames->lines);
	*frames = (struct pprof_frames){0};
}
