/*
 * Messages go out one by one, through a buffer into gzip: samples, mappings, locations, functions,
 * and at last the strings that all of these have used, so that nothing but these tables is held.
 *
 * What a sample's frames are in pprof is for pprof_code to say, which samples there are and in which
 * order for pprof_rows.
 */
#include "format/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/protobuf.h"
#include "base/strings.h"
#include "base/u64_map.h"
#include "format/pprof_code.h"
#include "format/pprof_fields.h"
#include "format/pprof_rows.h"

#define FLUSH_BYTES 65536

struct writer {
	const struct profile *profile;
	const struct pprof_options *options;
	struct pprof_code code;
	struct strings *strings;
	struct u64_map functions; /* name << 32 | file to id */
	uint64_t *function_keys;  /* by id - 1 */
	size_t nr_functions, cap_functions;
	struct pprof_rows rows;
	uint64_t *numbers; /* of a packed field */
	size_t cap_numbers;
	struct protobuf_writer file, message, part; /* a part of the message */
	struct gzip_writer *gzip;
	int error; /* noted once; what follows does nothing */
};

/* --- messages ----------------------------------------------------------------------------------
 */

static void note(struct writer *writer, int64_t result)
{
	if (result < 0 && !writer->error)
		writer->error = (int)result;
}

static void flush_file(struct writer *writer)
{
	if (writer->file.failed)
		note(writer, -ENOMEM);
	if (!writer->error)
		note(writer, gzip_write(writer->gzip, writer->file.bytes, writer->file.nr));
	protobuf_reset(&writer->file);
}

static void finish_message(struct writer *writer, uint32_t field)
{
	protobuf_message(&writer->file, field, &writer->message);
	protobuf_reset(&writer->message);
	if (writer->file.nr >= FLUSH_BYTES)
		flush_file(writer);
}

static void finish_part(struct writer *writer, uint32_t field)
{
	protobuf_message(&writer->message, field, &writer->part);
	protobuf_reset(&writer->part);
}

static uint64_t string_of_bytes(struct writer *writer, const char *text, size_t nr)
{
	int64_t number = strings_add_bytes(writer->strings, text, nr);

	note(writer, number);
	return number < 0 ? 0 : (uint64_t)number;
}

static uint64_t string_of(struct writer *writer, const char *text)
{
	return string_of_bytes(writer, text, strlen(text));
}

/* Formats' numbers are signed. */
static uint64_t saturated(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

/* --- what was sampled --------------------------------------------------------------------------
 */

static const char *unit_name(const struct writer *writer)
{
	uint32_t unit = profile_origin(writer->profile)->unit;

	return unit ? profile_string(writer->profile, unit) : "count";
}

/* What the period is of. Time that a CPU ran is "cpu" to everybody who reads pprof. */
static const char *event_name(const struct writer *writer)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	const char *name = profile_string(writer->profile, origin->event);

	if (!strcmp(unit_name(writer), "nanoseconds") &&
	    (!strcmp(name, "cpu-clock") || !strcmp(name, "task-clock")))
		return "cpu";
	return *name ? name : "events";
}

static void write_value_type(struct writer *writer, uint32_t field, const char *type,
			     const char *unit)
{
	protobuf_number(&writer->message, VALUE_TYPE_TYPE, string_of(writer, type));
	protobuf_number(&writer->message, VALUE_TYPE_UNIT, string_of(writer, unit));
	finish_message(writer, field);
}

static void write_origin(struct writer *writer)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	const char *event = event_name(writer), *unit = unit_name(writer);

	if (!origin->is_sum)
		write_value_type(writer, PROFILE_SAMPLE_TYPE, PPROF_SAMPLES, "count");
	if (origin->period || origin->is_sum)
		write_value_type(writer, PROFILE_SAMPLE_TYPE, event, unit);
	if (origin->period || origin->event || origin->unit)
		write_value_type(writer, PROFILE_PERIOD_TYPE, event, unit);
	protobuf_number(&writer->file, PROFILE_PERIOD, saturated(origin->period));
	protobuf_number(&writer->file, PROFILE_TIME_NANOS, saturated(origin->time_ns));
	protobuf_number(&writer->file, PROFILE_DURATION_NANOS, saturated(origin->duration_ns));
	protobuf_number(
		&writer->file, PROFILE_DEFAULT_SAMPLE_TYPE,
		string_of(writer, origin->period || origin->is_sum ? event : PPROF_SAMPLES));
}

/* --- samples -----------------------------------------------------------------------------------
 */

static void write_text_label(struct writer *writer, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	protobuf_number(&writer->part, LABEL_KEY, string_of(writer, key));
	protobuf_number(&writer->part, LABEL_STR, string_of(writer, text));
	finish_part(writer, SAMPLE_LABEL);
}

/* The unit is what pprof takes it for anyway; without one, number 0 would be no label at all. */
static void write_number_label(struct writer *writer, const char *key, int32_t number)
{
	protobuf_number(&writer->part, LABEL_KEY, string_of(writer, key));
	protobuf_number(&writer->part, LABEL_NUM, (uint64_t)(int64_t)number);
	protobuf_number(&writer->part, LABEL_NUM_UNIT, string_of(writer, key));
	finish_part(writer, SAMPLE_LABEL);
}

static void write_labels(struct writer *writer, const struct pprof_row *row)
{
	const struct sample_labels *labels = &row->sample->labels;
	unsigned wanted = writer->options->labels;

	if (wanted & LABEL_COMM)
		write_text_label(writer, PPROF_COMM, profile_string(writer->profile, labels->comm));
	if (wanted & LABEL_CGROUP)
		write_text_label(writer, PPROF_CGROUP,
				 profile_string(writer->profile, labels->cgroup));
	if (wanted & LABEL_PID)
		write_number_label(writer, PPROF_PID, labels->pid);
	if (wanted & LABEL_TID)
		write_number_label(writer, PPROF_TID, labels->tid);
	if (wanted & LABEL_CPU)
		write_number_label(writer, PPROF_CPU, labels->cpu);
	write_text_label(writer, PPROF_USER_END, row->user_end);
	write_text_label(writer, PPROF_KERNEL_END, row->kernel_end);
}

static void write_sample(struct writer *writer, const struct pprof_row *row)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	uint64_t values[] = {saturated(row->count), 0};
	size_t nr = pprof_row_places(row), i;

	if (__builtin_mul_overflow(row->count, origin->period, &values[1]))
		values[1] = INT64_MAX;
	values[1] = saturated(values[1]);
	if (array_reserve(&writer->numbers, &writer->cap_numbers, nr + 1, sizeof(uint64_t)) < 0) {
		note(writer, -ENOMEM);
		return;
	}
	for (i = 0; i < nr; i++)
		writer->numbers[i] = writer->code.places[pprof_row_place(&writer->code, row, i)].id;
	protobuf_packed(&writer->message, SAMPLE_LOCATION_ID, writer->numbers, nr);
	protobuf_packed(&writer->message, SAMPLE_VALUE, values,
			origin->period && !origin->is_sum ? 2 : 1);
	write_labels(writer, row);
	finish_message(writer, PROFILE_SAMPLE);
}

/* --- code --------------------------------------------------------------------------------------
 */

static uint64_t build_id_of(struct writer *writer, const struct module_code *code)
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
	return string_of_bytes(writer, text, 2 * i);
}

static uint64_t filename_of(struct writer *writer, const struct pprof_object *object)
{
	cleanup_free char *name = NULL;

	if (asprintf(&name, "%.*s%s", (int)object->name_bytes, object->name,
		     object->is_gone ? PPROF_DELETED : "") < 0) {
		name = NULL;
		note(writer, -ENOMEM);
		return 0;
	}
	return string_of(writer, name);
}

static void write_mapping(struct writer *writer, size_t number)
{
	const struct pprof_mapping *mapping = &writer->code.mappings[number];
	const struct pprof_object *object = &writer->code.objects[mapping->object];
	struct protobuf_writer *message = &writer->message;

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
	finish_message(writer, PROFILE_MAPPING);
}

/* The id of the function, new or known; 0 after a failure. */
static uint64_t function_of(struct writer *writer, const struct code_line *line)
{
	uint64_t name = string_of(writer, pprof_code_string(&writer->code, line->function));
	uint64_t file = string_of(writer, pprof_code_string(&writer->code, line->file));
	uint64_t key = name << 32 | file;
	const uint64_t *known = u64_map_find(&writer->functions, key);

	if (known)
		return *known;
	if (array_reserve(&writer->function_keys, &writer->cap_functions, writer->nr_functions + 1,
			  sizeof(key)) < 0 ||
	    u64_map_set(&writer->functions, key, writer->nr_functions + 1) < 0) {
		note(writer, -ENOMEM);
		return 0;
	}
	writer->function_keys[writer->nr_functions++] = key;
	return writer->nr_functions;
}

static void write_location(struct writer *writer, const struct pprof_place *place)
{
	const struct code_line *lines = pprof_code_lines(place);
	size_t i;

	protobuf_number(&writer->message, LOCATION_ID, place->id);
	protobuf_number(&writer->message, LOCATION_MAPPING_ID, place->mapping);
	protobuf_number(&writer->message, LOCATION_ADDRESS, place->address);
	for (i = 0; i < place->nr_lines; i++) {
		protobuf_number(&writer->part, LINE_FUNCTION_ID, function_of(writer, &lines[i]));
		protobuf_number(&writer->part, LINE_LINE, lines[i].line);
		finish_part(writer, LOCATION_LINE);
	}
	finish_message(writer, PROFILE_LOCATION);
}

static void write_function(struct writer *writer, size_t number)
{
	uint64_t name = writer->function_keys[number] >> 32;

	protobuf_number(&writer->message, FUNCTION_ID, number + 1);
	protobuf_number(&writer->message, FUNCTION_NAME, name);
	protobuf_number(&writer->message, FUNCTION_SYSTEM_NAME, name);
	protobuf_number(&writer->message, FUNCTION_FILENAME,
			writer->function_keys[number] & UINT32_MAX);
	finish_message(writer, PROFILE_FUNCTION);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void write_messages(struct writer *writer)
{
	size_t i;

	write_origin(writer);
	for (i = 0; i < writer->rows.nr && !writer->error; i++)
		write_sample(writer, &writer->rows.rows[i]);
	for (i = 0; i < writer->code.nr_mappings && !writer->error; i++)
		write_mapping(writer, i);
	for (i = 0; i < writer->code.nr_places && !writer->error; i++)
		if (writer->code.places[i].is_used)
			write_location(writer, &writer->code.places[i]);
	for (i = 0; i < writer->nr_functions && !writer->error; i++)
		write_function(writer, i);
	for (i = 0; i < strings_nr(writer->strings) && !writer->error; i++) {
		protobuf_text(&writer->file, PROFILE_STRING_TABLE,
			      strings_get(writer->strings, (uint32_t)i));
		if (writer->file.nr >= FLUSH_BYTES)
			flush_file(writer);
	}
	flush_file(writer);
	if (!writer->error)
		note(writer, gzip_finish(writer->gzip));
}

static void writer_clear(struct writer *writer)
{
	pprof_code_clear(&writer->code);
	strings_free(writer->strings);
	u64_map_clear(&writer->functions);
	free(writer->function_keys);
	pprof_rows_clear(&writer->rows);
	free(writer->numbers);
	protobuf_clear(&writer->file);
	protobuf_clear(&writer->message);
	protobuf_clear(&writer->part);
	gzip_writer_free(writer->gzip);
}

int pprof_write(const struct profile *profile, const struct pprof_options *options, FILE *out)
{
	cleanup(writer_clear) struct writer writer = {.profile = profile, .options = options};

	writer.strings = strings_new();
	writer.gzip = gzip_writer_new(out);
	if (!writer.strings || !writer.gzip || pprof_code_init(&writer.code, profile) < 0 ||

	    pprof_rows_init(&writer.rows, profile, options, &writer.code) < 0)
		return -ENOMEM;
	write_messages(&writer);
	if (writer.error)
		return writer.error;
	errno = 0;
	if (ferror(out) || fflush(out) != 0)
		return errno ? -errno : -EIO;
	return 0;
}
