/*
 * The tables of a pprof file, read in one pass over its fields. Strings are referred to before they
 * are there, so their numbers are checked in a walk over the tables at the end.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "format/pprof/pprof_reader.h"

int pprof_refuse(const struct pprof_tables *tables, const char *what)
{
	return error_set(tables->error, -EBADMSG, "not a sound pprof profile: %s", what);
}

/* Too large for any file stays too large. */
static uint32_t string_number(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static uint64_t positive(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

/* Notes a table's next entry under its id, which must be new. */
static int add_id(const struct pprof_tables *tables, struct u64_map *numbers, uint64_t id,
		  size_t number)
{
	if (!id || u64_map_find(numbers, id))
		return pprof_refuse(tables, "an id is 0, or there twice");
	if (number >= PPROF_MAX_ENTRIES)
		return pprof_refuse(tables, "a table is too long");
	return u64_map_set(numbers, id, number);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A string ends where a NUL is in it. */
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
	struct pprof_function function = {0};
	struct protobuf_field field;
	uint64_t id = 0;
	int result;

	while (protobuf_next(&message, &field)) {
		if (field.number == FUNCTION_ID)
			id = field.value;
		else if (field.number == FUNCTION_NAME)
			function.name = string_number(field.value);
		else if (field.number == FUNCTION_FILENAME)
			function.file = string_number(field.value);
	}
	if (message.failed)
		return pprof_refuse(tables, "a function is broken");
	result = add_id(tables, &tables->function_of_id, id, tables->nr_functions);
	if (result < 0)
		return result;
	if (array_reserve(&tables->functions, &tables->cap_functions, tables->nr_functions + 1,
			  sizeof(function)) < 0)
		return -ENOMEM;
	tables->functions[tables->nr_functions++] = function;
	return 0;
}

static int add_mapping(struct pprof_tables *tables, struct bytes message)
{
	struct pprof_file_mapping mapping = {0};
	struct protobuf_field field;
	uint64_t id = 0;
	int result;

	while (protobuf_next(&message, &field)) {
		if (field.number == MAPPING_ID)
			id = field.value;
		else if (field.number == MAPPING_MEMORY_START)
			mapping.start = field.value;
		else if (field.number == MAPPING_MEMORY_LIMIT)
			mapping.limit = field.value;
		else if (field.number == MAPPING_FILE_OFFSET)
			mapping.offset = field.value;
		else if (field.number == MAPPING_FILENAME)
			mapping.filename = string_number(field.value);
		else if (field.number == MAPPING_BUILD_ID)
			mapping.build_id = string_number(field.value);
	}
	if (message.failed)
		return pprof_refuse(tables, "a mapping is broken");
	result = add_id(tables, &tables->mapping_of_id, id, tables->nr_mappings);
	if (result < 0)
		return result;
	if (array_reserve(&tables->mappings, &tables->cap_mappings, tables->nr_mappings + 1,
			  sizeof(mapping)) < 0)
		return -ENOMEM;
	tables->mappings[tables->nr_mappings++] = mapping;
	return 0;
}

static int add_location(struct pprof_tables *tables, struct bytes message)
{
	struct pprof_location location = {.message = message};
	struct protobuf_field field;
	int result;

	while (protobuf_next(&message, &field)) {
		if (field.number == LOCATION_ID)
			location.id = field.value;
		else if (field.number == LOCATION_MAPPING_ID)
			location.mapping_id = field.value;
		else if (field.number == LOCATION_ADDRESS)
			location.address = field.value;
	}
	if (message.failed)
		return pprof_refuse(tables, "a location is broken");
	result = add_id(tables, &tables->location_of_id, location.id, tables->nr_locations);
	if (result < 0)
		return result;
	if (array_reserve(&tables->locations, &tables->cap_locations, tables->nr_locations + 1,
			  sizeof(location)) < 0)
		return -ENOMEM;
	tables->locations[tables->nr_locations++] = location;
	return 0;
}

static int read_value_type(const struct pprof_tables *tables, struct bytes message,
			   struct pprof_value_type *ret)
{
	struct pprof_value_type type = {0};
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.number == VALUE_TYPE_TYPE)
			type.type = string_number(field.value);
		else if (field.number == VALUE_TYPE_UNIT)
			type.unit = string_number(field.value);
	}
	if (message.failed)
		return pprof_refuse(tables, "a type of values is broken");
	*ret = type;
	return 0;
}

static int add_sample_type(struct pprof_tables *tables, struct bytes message)
{
	int result;

	if (tables->nr_sample_types >= PPROF_MAX_SAMPLE_TYPES)
		return pprof_refuse(tables, "too many types of values");
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
	return field.bytes.failed ? pprof_refuse(tables, "a comment is broken") : 0;
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
	return is_sound ? 0 : pprof_refuse(tables, "a string is missing");
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
		return pprof_refuse(tables, "it is broken, or cut off");
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

/* Mostly ids count up from 1. */
const struct pprof_location *pprof_tables_location(const struct pprof_tables *tables, uint64_t id)
{
	const uint64_t *number;

	if (id - 1 < tables->nr_locations && tables->locations[id - 1].id == id)
		return &tables->locations[id - 1];
	number = u64_map_find(&tables->location_of_id, id);
	return number ? &tables->locations[*number] : NULL;
}
