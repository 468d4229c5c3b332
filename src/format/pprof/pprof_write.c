/*
 * Writes pprof files: the origin, samples, code, and finally the strings that these have used.
 * Messages are built one by one and go through a buffer into gzip; nothing else is kept in memory.
 * The first failure is recorded, and everything after it is a no-op.
 *
 * pprof_code.c provides the code of the samples' frames, and pprof_rows.c the samples and their
 * order. Functions are numbered when the lines of locations use them, so they follow all locations.
 */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/fd_io.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/strings.h"
#include "format/gzip.h"
#include "format/pprof/pprof_writer.h"
#include "profile/profile.h"

#define FLUSH_BYTES 65536

struct writer {
	const struct profile *profile;
	const struct format_options *options;
	struct pprof_values values;
	struct pprof_code code;
	struct pprof_rows rows;

	struct protobuf_writer file;
	struct protobuf_writer message; /* being built */
	struct protobuf_writer part;	/* a message nested in it */
	struct strings *strings;
	struct gzip_writer *gzip;
	int error; /* 0, or the first failure */

	uint64_t *numbers; /* buffer for packed fields */
	size_t cap_numbers;
	struct u64_map id_of_function; /* by name << 32 | file, strings of the file */
	uint64_t *functions;	       /* id - 1 -> the same key */
	size_t nr_functions, cap_functions;
};

/* --- writing the file ------------------------------------------------------------------------- */

/* Records a result if it is the first failure. */
static void note(struct writer *writer, int64_t result)
{
	if (result < 0 && !writer->error)
		writer->error = (int)result;
}

static void flush(struct writer *writer)
{
	if (writer->file.failed)
		note(writer, -ENOMEM);
	if (!writer->error)
		note(writer, gzip_write(writer->gzip, writer->file.bytes, writer->file.nr));
	protobuf_reset(&writer->file);
}

/* Appends the message to the file as a field with this number. */
static void end_message(struct writer *writer, uint32_t field)
{
	protobuf_message(&writer->file, field, &writer->message);
	protobuf_reset(&writer->message);
	if (writer->file.nr >= FLUSH_BYTES)
		flush(writer);
}

/* Appends the part to the message. */
static void end_part(struct writer *writer, uint32_t field)
{
	protobuf_message(&writer->message, field, &writer->part);
	protobuf_reset(&writer->part);
}

/* Returns the number of a text in the file; 0 after a failure. */
static uint64_t string_bytes(struct writer *writer, const char *text, size_t nr)
{
	cleanup_free char *copy = NULL;
	int64_t number = pprof_text_repair(&text, &nr, &copy);

	if (!number)
		number = strings_add_bytes(writer->strings, text, nr);
	note(writer, number);
	return number < 0 ? 0 : (uint64_t)number;
}

static uint64_t string_of(struct writer *writer, const char *text)
{
	return string_bytes(writer, text, strlen(text));
}

/* Numbers of the schema are signed. */
static uint64_t saturated(uint64_t number)
{
	return number < INT64_MAX ? number : INT64_MAX;
}

/* Returns a buffer for nr numbers; NULL after a failure. */
static uint64_t *numbers_of(struct writer *writer, size_t nr)
{
	if (array_reserve(&writer->numbers, &writer->cap_numbers, nr + 1,
			  sizeof(*writer->numbers)) < 0) {
		note(writer, -ENOMEM);
		return NULL;
	}
	return writer->numbers;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Readers of pprof expect the name "cpu" for clocks; the clock itself is named in a comment. */
static const char *event_name(const struct profile *profile)
{
	const char *name = profile_string(profile, profile_origin(profile)->event);

	if (profile_has_clock_event(profile))
		return PROFILE_CPU_TIME;
	return *name ? name : PROFILE_SOME_EVENTS;
}

static const char *event_unit(const struct profile *profile)
{
	uint32_t unit = profile_origin(profile)->unit;

	return unit ? profile_string(profile, unit) : PPROF_COUNT;
}

static int compare_values(const void *a, const void *b)
{
	const struct profile_value *one = a, *other = b;
	int order = !strcmp(other->type, PPROF_SAMPLES) - !strcmp(one->type, PPROF_SAMPLES);

	if (!order)
		order = strcmp(one->type, other->type);
	/* Readers use the first value of a name: it must be the main value. */
	if (!order)
		order = (other->number == 0) - (one->number == 0);
	return order ? order : strcmp(one->unit, other->unit);
}

/* Readers find the default value by its name, which must be unique. */
static bool is_only_one(const struct pprof_values *values, const char *type)
{
	size_t nr = 0, i;

	for (i = 0; i < values->nr; i++)
		nr += !strcmp(values->values[i].type, type);
	return nr == 1;
}

/* The event's amount is preferred to the number of samples; hits are events themselves. */
static void init_values(struct pprof_values *values, const struct profile *profile)
{
	bool is_of_samples = !strcmp(profile_value_name(profile, 0), PPROF_SAMPLES);
	struct profile_value *events = NULL;
	size_t i;

	values->nr = profile_values(profile, values->values);
	if (!is_of_samples)
		values->nr = profile_nr_values(profile);
	for (i = 0; i < values->nr && is_of_samples; i++)
		if (values->values[i].is_event)
			events = &values->values[i];
	values->preferred = values->values[0].type;
	if (events)
		events->type = event_name(profile);
	if (events && is_only_one(values, events->type))
		values->preferred = events->type;
	qsort(values->values, values->nr, sizeof(values->values[0]), compare_values);
}

/* --- origin ----------------------------------------------------------------------------------- */

static void write_value_type(struct writer *writer, uint32_t field, const char *type,
			     const char *unit)
{
	protobuf_number(&writer->message, VALUE_TYPE_TYPE, string_of(writer, type));
	protobuf_number(&writer->message, VALUE_TYPE_UNIT, string_of(writer, unit));
	end_message(writer, field);
}

static void write_origin(struct writer *writer)
{
	const struct profile_origin *origin = profile_origin(writer->profile);
	const struct pprof_values *values = &writer->values;
	size_t nr_comments = profile_nr_comments(writer->profile), nr = 0, i;
	char clock[64], ratio[PROFILE_RATIO_BYTES + sizeof(PPROF_RATIO_COMMENT)];
	uint64_t *comments;

	for (i = 0; i < values->nr; i++)
		write_value_type(writer, PROFILE_SAMPLE_TYPE, values->values[i].type,
				 values->values[i].unit);
	if (origin->period || origin->event || origin->unit)
		write_value_type(writer, PROFILE_PERIOD_TYPE, event_name(writer->profile),
				 event_unit(writer->profile));
	protobuf_number(&writer->file, PROFILE_PERIOD, saturated(origin->period));
	protobuf_number(&writer->file, PROFILE_TIME_NANOS, saturated(origin->time_ns));
	protobuf_number(&writer->file, PROFILE_DURATION_NANOS, saturated(origin->duration_ns));
	protobuf_number(&writer->file, PROFILE_DEFAULT_SAMPLE_TYPE,
			string_of(writer, values->preferred));
	comments = numbers_of(writer, nr_comments + 2);
	if (!comments)
		return;
	if (profile_has_clock_event(writer->profile)) {
		(void)snprintf(clock, sizeof(clock), PPROF_EVENT_COMMENT "%s",
			       profile_string(writer->profile, origin->event));
		comments[nr++] = string_of(writer, clock);
	}
	if (origin->ratio) {
		(void)snprintf(ratio, sizeof(ratio), PPROF_RATIO_COMMENT "%s",
			       profile_string(writer->profile, origin->ratio));
		comments[nr++] = string_of(writer, ratio);
	}
	for (i = 0; i < nr_comments; i++)
		comments[nr++] = string_of(writer, profile_comment(writer->profile, i));
	protobuf_packed(&writer->file, PROFILE_COMMENT, comments, nr);
}

/* --- labels ----------------------------------------------------------------------------------- */

static void write_text(struct writer *writer, const char *key, const char *text)
{
	if (!*text)
		return;
	protobuf_number(&writer->part, LABEL_KEY, string_of(writer, key));
	protobuf_number(&writer->part, LABEL_STR, string_of(writer, text));
	end_part(writer, SAMPLE_LABEL);
}

static void write_number(struct writer *writer, const char *key, int64_t number, const char *unit)
{
	protobuf_number(&writer->part, LABEL_KEY, string_of(writer, key));
	protobuf_number(&writer->part, LABEL_NUM, (uint64_t)number);
	protobuf_number(&writer->part, LABEL_NUM_UNIT, string_of(writer, unit));
	end_part(writer, SAMPLE_LABEL);
}

/* The unit is pprof's default for the key; without a unit, a label with number 0 would be empty. */
static void write_id(struct writer *writer, enum label label, const char *key, int32_t number)
{
	if (writer->options->labels & label)
		write_number(writer, key, number, key);
}

/* Labels that were not requested are empty. */
static void write_labels(struct writer *writer, const struct pprof_row_labels *labels)
{
	const struct profile *profile = writer->profile;
	struct set_label set[LABEL_SET_MAX];
	size_t nr_set = profile_label_set(profile, labels->set, set), i;

	write_text(writer, PPROF_COMM, profile_string(profile, labels->comm));
	write_text(writer, PPROF_CGROUP, profile_string(profile, labels->cgroup));
	write_text(writer, PPROF_PROBE, profile_string(profile, labels->probe));
	write_id(writer, LABEL_PID, PPROF_PID, labels->pid);
	write_id(writer, LABEL_TID, PPROF_TID, labels->tid);
	write_id(writer, LABEL_CPU, PPROF_CPU, labels->cpu);
	if (labels->user_end)
		write_text(writer, PPROF_USER_END, pprof_end_names[labels->user_end - 1]);
	if (labels->kernel_end)
		write_text(writer, PPROF_KERNEL_END, pprof_end_names[labels->kernel_end - 1]);
	if (labels->slice) {
		struct time_slice slice = profile_slice(profile, labels->slice);

		write_number(writer, PPROF_SLICE_START, (int64_t)saturated(slice.start_ns),
			     PPROF_NANOSECONDS);
		write_number(writer, PPROF_SLICE_END, (int64_t)saturated(slice.end_ns),
			     PPROF_NANOSECONDS);
	}
	for (i = 0; i < nr_set; i++) {
		const char *key = profile_string(profile, set[i].key);

		if (set[i].text)
			write_text(writer, key, profile_string(profile, set[i].text));
		else
			write_number(writer, key, set[i].number,
				     profile_string(profile, set[i].unit));
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

static void write_sample(struct writer *writer, struct pprof_row *row)
{
	struct protobuf_writer *message = &writer->message;
	size_t nr = pprof_row_places(row), i;
	uint64_t *numbers = numbers_of(writer, nr);

	if (!numbers)
		return;
	for (i = 0; i < nr; i++)
		numbers[i] = writer->code.places[pprof_row_place(&writer->code, row, i)].id;
	protobuf_packed(message, SAMPLE_LOCATION_ID, numbers, nr);
	for (i = 0; i < writer->values.nr; i++)
		row->values[i] = saturated(row->values[i]);
	protobuf_packed(message, SAMPLE_VALUE, row->values, writer->values.nr);
	write_labels(writer, &row->labels);
	end_message(writer, PROFILE_SAMPLE);
}

/* --- code ------------------------------------------------------------------------------------- */

static uint64_t build_id_of(struct writer *writer, const struct module_code *code)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * PROFILE_BUILD_ID_BYTES];
	size_t i;

	if (code->build_id_bytes > PROFILE_BUILD_ID_BYTES)
		return 0;
	for (i = 0; i < code->build_id_bytes; i++) {
		text[2 * i] = digits[code->build_id[i] >> 4];
		text[2 * i + 1] = digits[code->build_id[i] & 15];
	}
	return string_bytes(writer, text, 2 * i);
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
	end_message(writer, PROFILE_MAPPING);
}

/* Returns the id of a function, adding it if new; 0 after a failure. */
static uint64_t function_of(struct writer *writer, const struct code_line *line)
{
	uint64_t name = string_of(writer, pprof_code_string(&writer->code, line->function));
	uint64_t file = string_of(writer, pprof_code_string(&writer->code, line->file));
	uint64_t key = name << 32 | file;
	const uint64_t *known = u64_map_find(&writer->id_of_function, key);

	if (known)
		return *known;
	if (array_reserve(&writer->functions, &writer->cap_functions, writer->nr_functions + 1,
			  sizeof(key)) < 0 ||
	    u64_map_set(&writer->id_of_function, key, writer->nr_functions + 1) < 0) {
		note(writer, -ENOMEM);
		return 0;
	}
	writer->functions[writer->nr_functions++] = key;
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
		end_part(writer, LOCATION_LINE);
	}
	end_message(writer, PROFILE_LOCATION);
}

static void write_function(struct writer *writer, size_t number)
{
	uint64_t name = writer->functions[number] >> 32;

	protobuf_number(&writer->message, FUNCTION_ID, number + 1);
	protobuf_number(&writer->message, FUNCTION_NAME, name);
	protobuf_number(&writer->message, FUNCTION_SYSTEM_NAME, name);
	protobuf_number(&writer->message, FUNCTION_FILENAME,
			writer->functions[number] & UINT32_MAX);
	end_message(writer, PROFILE_FUNCTION);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int write_all(struct writer *writer)
{
	const struct pprof_code *code = &writer->code;
	struct pprof_row row;
	size_t position = 0, i;
	uint32_t string;

	write_origin(writer);
	while (!writer->error && pprof_rows_next(&writer->rows, &position, &row))
		write_sample(writer, &row);
	for (i = 0; i < code->nr_mappings && !writer->error; i++)
		write_mapping(writer, i);
	for (i = 0; i < code->nr_places && !writer->error; i++)
		if (code->places[i].is_used)
			write_location(writer, &code->places[i]);
	for (i = 0; i < writer->nr_functions && !writer->error; i++)
		write_function(writer, i);
	for (string = 0; string < strings_nr(writer->strings) && !writer->error; string++) {
		protobuf_text(&writer->file, PROFILE_STRING_TABLE,
			      strings_get(writer->strings, string));
		if (writer->file.nr >= FLUSH_BYTES)
			flush(writer);
	}
	flush(writer);
	if (!writer->error)
		note(writer, gzip_finish(writer->gzip));
	return writer->error;
}

static void writer_clear(struct writer *writer)
{
	pprof_code_clear(&writer->code);
	pprof_rows_clear(&writer->rows);
	protobuf_clear(&writer->file);
	protobuf_clear(&writer->message);
	protobuf_clear(&writer->part);
	strings_free(writer->strings);
	gzip_writer_free(writer->gzip);
	free(writer->numbers);
	u64_map_clear(&writer->id_of_function);
	free(writer->functions);
}

int pprof_write(const struct profile *profile, const struct format_options *options, FILE *out)
{
	cleanup(writer_clear) struct writer writer = {.profile = profile, .options = options};
	int result;

	init_values(&writer.values, profile);
	writer.strings = strings_new();
	writer.gzip = gzip_writer_new(out);
	if (!writer.strings || !writer.gzip || pprof_code_init(&writer.code, profile) < 0 ||
	    pprof_rows_init(&writer.rows, profile, options, &writer.values, &writer.code) < 0)
		return -ENOMEM;
	result = write_all(&writer);
	if (result < 0)
		return result;
	errno = 0;
	return stream_finish(out);
}
