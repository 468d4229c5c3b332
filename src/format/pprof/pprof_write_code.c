/* Functions get their numbers as lines need them, so they come behind all locations. */
#include "format/pprof/pprof_write_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "format/pprof/pprof_fields.h"

struct code_writer {
	struct pprof_sink *sink;
	const struct pprof_code *code;
	struct u64_map id_of_function; /* by name << 32 | file, strings of the sink */
	uint64_t *functions;	       /* the same, by id - 1 */
	size_t nr_functions, cap_functions;
};

static uint64_t build_id_of(struct code_writer *writer, const struct module_code *code)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * PROFILE_BUILD_ID_BYTES];
	size_t i;

	if (!code || code->build_id_bytes > PROFILE_BUILD_ID_BYTES)
		return 0;
	for (i = 0; i < code->build_id_bytes; i++) {
		text[2 * i] = digits[code->build_id[i] >> 4];
		text[2 * i + 1] = digits[code->build_id[i] & 15];
	}
	return pprof_sink_string_bytes(writer->sink, text, 2 * i);
}

static uint64_t filename_of(struct code_writer *writer, const struct pprof_object *object)
{
	cleanup_free char *name = NULL;

	if (asprintf(&name, "%.*s%s", (int)object->name_bytes, object->name,
		     object->is_gone ? PPROF_DELETED : "") < 0) {
		name = NULL;
		pprof_sink_note(writer->sink, -ENOMEM);
		return 0;
	}
	return pprof_sink_string(writer->sink, name);
}

static void write_mapping(struct code_writer *writer, size_t number)
{
	const struct pprof_objects *objects = &writer->code->objects;
	const struct pprof_mapping *mapping = &objects->mappings[number];
	const struct pprof_object *object = &objects->objects[mapping->object];
	struct protobuf_writer *message = &writer->sink->message;

	protobuf_number(message, MAPPING_ID, number + 1);
	protobuf_number(message, MAPPING_MEMORY_START, mapping->start);
	protobuf_number(message, MAPPING_MEMORY_LIMIT, mapping->limit);
	protobuf_number(message, MAPPING_FILE_OFFSET, mapping->offset);
	protobuf_number(message, MAPPING_FILENAME, filename_of(writer, object));
	protobuf_number(message, MAPPING_BUILD_ID, build_id_of(writer, object->code));
	protobuf_number(message, MAPPING_HAS_FUNCTIONS, object->has_functions);
	protobuf_number(message, MAPPING_HAS_FILENAMES, object->has_filenames);
	protobuf_number(message, MAPPING_HAS_LINE_NUMBERS, object->has_line_numbers);
	protobuf_number(message, MAPPING_HAS_INLINE_FRAMES, object->has_inlines);
	pprof_sink_message(writer->sink, PROFILE_MAPPING);
}

static uint64_t string_of(struct code_writer *writer, uint32_t string)
{
	return pprof_sink_string(writer->sink, pprof_code_string(writer->code, string));
}

/* The id of the function, new or known; 0 after a failure. */
static uint64_t function_of(struct code_writer *writer, const struct code_line *line)
{
	uint64_t name = string_of(writer, line->function);
	uint64_t file = string_of(writer, line->file);
	uint64_t key = name << 32 | file;
	const uint64_t *known = u64_map_find(&writer->id_of_function, key);

	if (known)
		return *known;
	if (array_reserve(&writer->functions, &writer->cap_functions, writer->nr_functions + 1,
			  sizeof(key)) < 0 ||
	    u64_map_set(&writer->id_of_function, key, writer->nr_functions + 1) < 0) {
		pprof_sink_note(writer->sink, -ENOMEM);
		return 0;
	}
	writer->functions[writer->nr_functions++] = key;
	return writer->nr_functions;
}

static void write_location(struct code_writer *writer, const struct pprof_place *place)
{
	const struct code_line *lines = pprof_code_lines(place);
	size_t i;

	protobuf_number(&writer->sink->message, LOCATION_ID, place->id);
	protobuf_number(&writer->sink->message, LOCATION_MAPPING_ID, place->mapping);
	protobuf_number(&writer->sink->message, LOCATION_ADDRESS, place->address);
	for (i = 0; i < place->nr_lines; i++) {
		protobuf_number(&writer->sink->part, LINE_FUNCTION_ID,
				function_of(writer, &lines[i]));
		protobuf_number(&writer->sink->part, LINE_LINE, lines[i].line);
		pprof_sink_part(writer->sink, LOCATION_LINE);
	}
	pprof_sink_message(writer->sink, PROFILE_LOCATION);
}

static void write_function(struct code_writer *writer, size_t number)
{
	uint64_t name = writer->functions[number] >> 32;

	protobuf_number(&writer->sink->message, FUNCTION_ID, number + 1);
	protobuf_number(&writer->sink->message, FUNCTION_NAME, name);
	protobuf_number(&writer->sink->message, FUNCTION_SYSTEM_NAME, name);
	protobuf_number(&writer->sink->message, FUNCTION_FILENAME,
			writer->functions[number] & UINT32_MAX);
	pprof_sink_message(writer->sink, PROFILE_FUNCTION);
}

void pprof_write_code(struct pprof_sink *sink, const struct pprof_code *code)
{
	struct code_writer writer = {.sink = sink, .code = code};
	size_t i;

	for (i = 0; i < code->objects.nr_mappings && !sink->error; i++)
		write_mapping(&writer, i);
	for (i = 0; i < code->nr_places && !sink->error; i++)
		if (code->places[i].is_used)
			write_location(&writer, &code->places[i]);
	for (i = 0; i < writer.nr_functions && !sink->error; i++)
		write_function(&writer, i);
	u64_map_clear(&writer.id_of_function);
	free(writer.functions);
}
