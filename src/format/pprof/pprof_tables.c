/*
 * One pass over the file's fields. Strings are referred to before they are there, so their numbers
 * are checked in a walk over the tables at the end.
 */
#include "format/pprof/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "format/pprof/pprof_fields.h"

static int refuse(struct error *error, const char *what)
{
	return error_set(error, -EBADMSG, "not a sound pprof profile: %s", what);
}

/* A number of a string that no file can have stays one. */
static uint32_t string_number(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static uint64_t positive(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

/* A table's next number under its id, which must be new. */
static int add_id(struct u64_map *numbers, uint64_t id, size_t number, struct error *error)
{
	if (!id || u64_map_find(numbers, id))
		return refuse(error, "an id is 0, or there twice");
	if (number >= PPROF_MAX_ENTRIES)
		return refuse(error, "a table is too long");
	return u64_map_set(numbers, id, number);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A string ends where a NUL is in it. */
static int add_string(struct pprof_tables *tables, const struct protobuf_field *field,
		      struct error *error)
{
	if (tables->nr_strings >= PPROF_MAX_ENTRIES)
		return refuse(error, "too many strings");
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

static int add_function(struct pprof_tables *tables, struct bytes message, struct error *error)
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
		return refuse(error, "a function is broken");
	result = add_id(&tables->function_of_id, id, tables->nr_functions, error);
	if (result < 0)
		return result;
	if (array_reserve(&tables->functions, &tables->cap_functions, tables->nr_functions + 1,
			  sizeof(function)) < 0)
		return -ENOMEM;
	tables->functions[tables->nr_functions++] = function;
	return 0;
}

static void read_mapping_field(struct pprof_file_mapping *mapping, uint64_t *id,
			       const struct protobuf_field *field)
{
	switch (field->number) {
	case MAPPING_ID:
		*id = field->value;
		break;
	case MAPPING_MEMORY_START:
		mapping->start = field->value;
		break;
	case MAPPING_MEMORY_LIMIT:
		mapping->limit = field->value;
		break;
	case MAPPING_FILE_OFFSET:
		mapping->offset = field->value;
		break;
	case MAPPING_FILENAME:
		mapping->filename = string_number(field->value);
		break;
	case MAPPING_BUILD_ID:
		mapping->build_id = string_number(field->value);
		break;
	default:
		break;
	}
}

static int add_mapping(struct pprof_tables *tables, struct bytes message, struct error *error)
{
	struct pprof_file_mapping mapping = {0};
	struct protobuf_field field;
	uint64_t id = 0;
	int result;

	while (protobuf_next(&message, &field))
		read_mapping_field(&mapping, &id, &field);
	if (message.failed)
		return refuse(error, "a mapping is broken");
	result = add_id(&tables->mapping_of_id, id, tables->nr_mappings, error);
	if (result < 0)
		return result;
	if (array_reserve(&tables->mappings, &tables->cap_mappings, tables->nr_mappings + 1,
			  sizeof(mapping)) < 0)
		return -ENOMEM;
	tables->mappings[tables->nr_mappings++] = mapping;
	return 0;
}

static int add_location(struct pprof_tables *tables, struct bytes message, struct error *error)
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
		return refuse(error, "a location is broken");
	result = add_id(&tables->location_of_id, location.id, tables->nr_locations, error);
	if (result < 0)
		return result;
	if (array_reserve(&tables->locations, &tables->cap_locations, tables->nr_locations + 1,
			  sizeof(location)) < 0)
		return -ENOMEM;
	tables->locations[tables->nr_locations++] = location;
	return 0;
}

static int read_value_type(struct bytes message, struct pprof_value_type *ret, struct error *error)
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
		return refuse(error, "a type of values is broken");
	*ret = type;
	return 0;
}

static int add_sample_type(struct pprof_tables *tables, struct bytes message, struct error *error)
{
	int result;

	if (tables->nr_sample_types >= PPROF_MAX_SAMPLE_TYPES)
		return refuse(error, "too many types of values");
	result = read_value_type(message, &tables->sample_types[tables->nr_sample_types], error);
	tables->nr_sample_types += !result;
	return result;
}

static int add_comments(struct pprof_tables *tables, struct protobuf_field field,
			struct error *error)
{
	uint64_t number;

	while (protobuf_next_number(&field, &number)) {
		if (tables->nr_comments >= PPROF_MAX_COMMENTS)
			return refuse(error, "too many comments");
		if (array_reserve(&tables->comments, &tables->cap_comments, tables->nr_comments + 1,
				  sizeof(*tables->comments)) < 0)
			return -ENOMEM;
		tables->comments[tables->nr_comments++] = string_number(number);
	}
	return field.bytes.failed ? refuse(error, "a comment is broken") : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static void read_number(struct pprof_tables *tables, const struct protobuf_field *field)
{
	if (field->number == PROFILE_TIME_NANOS)
		tables->time_ns = positive(field->value);
	else if (field->number == PROFILE_DURATION_NANOS)
		tables->duration_ns = positive(field->value);
	else if (field->number == PROFILE_PERIOD)
		tables->period = positive(field->value);
	else if (field->number == PROFILE_DEFAULT_SAMPLE_TYPE)
		tables->default_sample_type = string_number(field->value);
}

static int read_field(struct pprof_tables *tables, const struct protobuf_field *field,
		      struct error *error)
{
	if (field->number == PROFILE_COMMENT)
		return add_comments(tables, *field, error);
	if (field->type != PROTOBUF_BYTES) {
		read_number(tables, field);
		return 0;
	}
	switch (field->number) {
	case PROFILE_SAMPLE_TYPE:
		return add_sample_type(tables, field->bytes, error);
	case PROFILE_MAPPING:
		return add_mapping(tables, field->bytes, error);
	case PROFILE_LOCATION:
		return add_location(tables, field->bytes, error);
	case PROFILE_FUNCTION:
		return add_function(tables, field->bytes, error);
	case PROFILE_STRING_TABLE:
		return add_string(tables, field, error);
	case PROFILE_PERIOD_TYPE:
		return read_value_type(field->bytes, &tables->period_type, error);
	default:
		return 0;
	}
}

static bool are_strings(const struct pprof_tables *tables, uint32_t a, uint32_t b)
{
	return a < tables->nr_strings && b < tables->nr_strings;
}

static int check_strings(const struct pprof_tables *tables, struct error *error)
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
	return is_sound ? 0 : refuse(error, "a string is missing");
}

static int read_all(struct pprof_tables *tables, struct bytes file, struct error *error)
{
	struct protobuf_field field;
	int result = 0;

	while (!result && protobuf_next(&file, &field))
		result = read_field(tables, &field, error);
	if (result < 0)
		return result;
	if (file.failed)
		return refuse(error, "it is broken, or cut off");
	return check_strings(tables, error);
}

int pprof_tables_read(struct pprof_tables *tables, struct bytes file, struct error *error)
{
	int result;

	*tables = (struct pprof_tables){0};
	result = read_all(tables, file, error);
	if (result == -ENOMEM)
		(void)error_set(error, result, "out of memory");
	if (result < 0)
		pprof_tables_clear(tables);
	return result;
}

void pprof_tables_clear(struct pprof_tables *tables)
{
	free(tables->strings);
	free(tables->functions);
	u64_map_clear(&tables->function_of_id);
	free(tables->mappings);
	u64_map_clear(&tables->mapping_of_id);
	free(tables->locations);
	u64_map_clear(&tables->location_of_id);
	free(tables->comments);
	*tables = (struct pprof_tables){0};
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
