/*
 * The whole file is in memory, inflated, because its strings come last; its tables point into it.
 * Samples are walked in a second pass, and nothing is kept of them but what the profile keeps.
 */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/protobuf.h"
#include "format/pprof/pprof_fields.h"
#include "format/pprof/pprof_frames.h"
#include "format/pprof/pprof_labels.h"
#include "format/pprof/pprof_strings.h"
#include "format/pprof/pprof_tables.h"
#include "format/pprof/pprof_types.h"
#include "profile/profile.h"

/* Of a file, inflated. */
#define PPROF_MAX_BYTES (2ULL << 30)

struct reader {
	struct profile *profile;
	struct format_notes *notes;
	struct error *error;
	struct pprof_tables tables;
	struct pprof_strings strings;
	struct pprof_frames frames;
	struct pprof_types types;
	struct pprof_labels labels; /* of the sample being read, as is the rest */
	uint32_t *stack;
	size_t nr_stack, cap_stack;
};

/* A sample while it is read. */
struct found_sample {
	uint64_t values[PPROF_MAX_SAMPLE_TYPES];
	size_t nr_values;
	size_t nr_kernel;
	bool is_cut, has_user_end, has_kernel_end;
	struct pprof_found first, last; /* of its stack, if that is not empty */
	enum pprof_location_kind second;
};

static int refuse(struct reader *reader, const char *what)
{
	return error_set(reader->error, -EBADMSG, "not a sound pprof profile: %s", what);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* A stack that is too long for the profile loses its root. */
static int read_stack(struct reader *reader, struct found_sample *sample,
		      struct protobuf_field *field)
{
	uint64_t id;

	while (protobuf_next_number(field, &id)) {
		struct pprof_found found;
		int result = pprof_frames_find(&reader->frames, id, &found, reader->error);

		if (result < 0)
			return result;
		if (reader->nr_stack >= UINT16_MAX) {
			sample->is_cut = true;
			continue;
		}
		if (array_reserve(&reader->stack, &reader->cap_stack, reader->nr_stack + 1,
				  sizeof(*reader->stack)) < 0)
			return -ENOMEM;
		if (!reader->nr_stack)
			sample->first = found;
		if (reader->nr_stack == 1)
			sample->second = found.kind;
		sample->last = found;
		if (found.kind == PPROF_LOCATION_KERNEL && sample->nr_kernel == reader->nr_stack)
			sample->nr_kernel++;
		reader->stack[reader->nr_stack++] = found.frame;
	}
	return field->bytes.failed ? refuse(reader, "a stack is broken") : 0;
}

/*
 * What stands for a stack that could not be read does so alone: no frame of that stack is there,
 * and no label says how it ended.
 */
static void take_missed(struct reader *reader, struct found_sample *sample)
{
	struct sample_labels *labels = &reader->labels.labels;
	size_t nr = reader->nr_stack;

	if (nr && sample->first.kind == PPROF_LOCATION_MISSED_KERNEL && !sample->has_kernel_end &&
	    (nr == 1 || sample->second != PPROF_LOCATION_KERNEL)) {
		memmove(reader->stack, reader->stack + 1, (nr - 1) * sizeof(*reader->stack));
		labels->kernel_end = WALK_MISSED;
		sample->has_kernel_end = true;
		nr--;
	}
	if (nr && nr == sample->nr_kernel + 1 && !sample->has_user_end &&
	    sample->last.kind == PPROF_LOCATION_MISSED_USER) {
		labels->user_end = WALK_MISSED;
		sample->has_user_end = true;
		nr--;
	}
	reader->nr_stack = nr;
}

static void take_ends(struct reader *reader, struct found_sample *sample)
{
	struct sample_labels *labels = &reader->labels.labels;

	sample->has_user_end = pprof_labels_have(&reader->labels, PPROF_KEY_USER_END);
	sample->has_kernel_end = pprof_labels_have(&reader->labels, PPROF_KEY_KERNEL_END);
	if (sample->is_cut) {
		labels->user_end = WALK_TRUNCATED;
		sample->has_user_end = true;
	}
	take_missed(reader, sample);
	if (!sample->has_user_end)
		labels->user_end = reader->nr_stack > sample->nr_kernel ? WALK_COMPLETE : WALK_NONE;
	if (!sample->has_kernel_end)
		labels->kernel_end = sample->nr_kernel ? WALK_UNWOUND : WALK_NONE;
}

/* --- values ----------------------------------------------------------------------------------- */

static int read_values(struct reader *reader, struct found_sample *sample,
		       struct protobuf_field *field)
{
	uint64_t value;

	for (; protobuf_next_number(field, &value); sample->nr_values++)
		if (sample->nr_values < PPROF_MAX_SAMPLE_TYPES)
			sample->values[sample->nr_values] = value;
	return field->bytes.failed ? refuse(reader, "a value is broken") : 0;
}

static bool is_negative(const struct found_sample *sample)
{
	size_t i;

	for (i = 0; i < sample->nr_values; i++)
		if (sample->values[i] > INT64_MAX)
			return true;
	return false;
}

static bool is_nothing(const struct found_sample *sample)
{
	size_t i;

	for (i = 0; i < sample->nr_values; i++)
		if (sample->values[i])
			return false;
	return true;
}

static int add_values(struct reader *reader, const struct found_sample *sample, uint32_t to)
{
	size_t i;

	for (i = 0; i < sample->nr_values; i++) {
		size_t number = reader->types.numbers[i];

		if (number == PPROF_NOT_KEPT || !sample->values[i])
			continue;
		if (!profile_value_has_room(reader->profile, number, sample->values[i]))
			return refuse(reader, "its values are too large");
		if (profile_add_value(reader->profile, to, number, sample->values[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(struct reader *reader, struct found_sample *sample)
{
	int64_t number;
	int result;

	if (sample->nr_values != reader->tables.nr_sample_types)
		return refuse(reader, "a sample has too few or too many values");
	if (is_negative(sample)) {
		reader->notes->dropped_samples++;
		return 0;
	}
	if (is_nothing(sample))
		return 0;
	take_ends(reader, sample);
	result = pprof_labels_finish(&reader->labels);
	if (result < 0)
		return result;
	number = profile_add_sample(reader->profile, &reader->labels.labels, reader->stack,
				    reader->nr_stack, sample->nr_kernel, 0);
	return number < 0 ? (int)number : add_values(reader, sample, (uint32_t)number);
}

static int read_sample(struct reader *reader, struct bytes message)
{
	struct found_sample sample = {0};
	struct protobuf_field field;
	int result = 0;

	reader->nr_stack = 0;
	pprof_labels_begin(&reader->labels);
	while (!result && protobuf_next(&message, &field)) {
		if (field.number == SAMPLE_LOCATION_ID)
			result = read_stack(reader, &sample, &field);
		else if (field.number == SAMPLE_VALUE)
			result = read_values(reader, &sample, &field);
		else if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES)
			result = pprof_labels_read(&reader->labels, field.bytes, reader->error);
	}
	if (result < 0)
		return result;
	if (message.failed)
		return refuse(reader, "a sample is broken");
	return add_sample(reader, &sample);
}

static int read_samples(struct reader *reader, struct bytes file)
{
	struct protobuf_field field;
	int result = 0;

	while (!result && protobuf_next(&file, &field))
		if (field.number == PROFILE_SAMPLE && field.type == PROTOBUF_BYTES)
			result = read_sample(reader, field.bytes);
	return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_origin(struct reader *reader)
{
	const struct pprof_tables *tables = &reader->tables;
	struct profile_origin origin = {
		.period = tables->period,
		.time_ns = tables->time_ns,
		.duration_ns = tables->duration_ns,
	};
	int64_t event = pprof_strings_get(&reader->strings, tables->period_type.type);
	int64_t unit = pprof_strings_get(&reader->strings, tables->period_type.unit);
	size_t i;

	if (event < 0 || unit < 0)
		return -ENOMEM;
	origin.event = (uint32_t)event;
	origin.unit = (uint32_t)unit;
	profile_set_origin(reader->profile, &origin);
	for (i = 0; i < tables->nr_comments; i++) {
		int64_t comment = pprof_strings_get(&reader->strings, tables->comments[i]);

		if (comment < 0 ||
		    profile_add_comment(reader->profile,
					profile_string(reader->profile, (uint32_t)comment)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int init(struct reader *reader)
{
	if (pprof_strings_init(&reader->strings, &reader->tables, reader->profile) < 0 ||
	    pprof_frames_init(&reader->frames, &reader->tables, &reader->strings, reader->profile) <
		    0 ||
	    pprof_labels_init(&reader->labels, &reader->strings, reader->notes) < 0 ||
	    read_origin(reader) < 0)
		return -ENOMEM;
	return pprof_types_init(&reader->types, &reader->tables, &reader->strings, reader->profile);
}

static int read_all(struct reader *reader, struct bytes file)
{
	int result = pprof_tables_read(&reader->tables, file, reader->error);

	if (!result)
		result = init(reader);
	if (!result)
		result = read_samples(reader, file);
	return result < 0 ? result : pprof_types_finish(&reader->types, reader->profile);
}

int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct format_notes *notes,
		struct error *error)
{
	struct reader reader = {.profile = profile, .notes = notes, .error = error};
	int result;

	*notes = (struct format_notes){0};
	if (!nr)
		return error_set(error, -EBADMSG, "it is empty");
	result = read_all(&reader, bytes_of(bytes, nr));
	if (result == -ENOMEM)
		(void)error_set(error, result, "out of memory");
	pprof_labels_clear(&reader.labels);
	pprof_frames_clear(&reader.frames);
	pprof_strings_clear(&reader.strings);
	pprof_tables_clear(&reader.tables);
	free(reader.stack);
	return result;
}

/* Not compressed, the first field is a type of values: a message with a type or a unit. */
bool pprof_is_it(const char *head, size_t nr)
{
	if (nr < 3)
		return false;
	return (head[0] == '\x1f' && head[1] == '\x8b') ||
	       (head[0] == '\x0a' && (head[2] == '\x08' || head[2] == '\x10'));
}

int pprof_inflate(FILE *in, uint8_t **ret, size_t *ret_nr, struct error *error)
{
	int result = gzip_read(in, PPROF_MAX_BYTES, ret, ret_nr);

	if (result == -EFBIG)
		return error_set(error, result, "the profile is larger than %llu MiB",
				 PPROF_MAX_BYTES >> 20);
	if (result == -EBADMSG)
		return error_set(error, result, "the compressed profile is damaged or cut off");
	if (result < 0)
		return error_set(error, result, "cannot read the profile: %s", strerror(-result));
	return 0;
}

int pprof_read(FILE *in, struct profile *profile, struct format_notes *notes, struct error *error)
{
	cleanup_free uint8_t *bytes = NULL;
	size_t nr;
	int result = pprof_inflate(in, &bytes, &nr, error);

	return result < 0 ? result : pprof_parse(bytes, nr, profile, notes, error);
}
