/*
 * The whole file is in memory, inflated, because its strings come last; its tables point into it.
 * Samples are walked in a second pass, and nothing is kept of them but what the profile keeps.
 */
#include "format/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/protobuf.h"
#include "format/pprof_fields.h"
#include "format/pprof_frames.h"
#include "format/pprof_tables.h"

/* Of a file, inflated. */
#define PPROF_MAX_BYTES (2ULL << 30)

#define NO_VALUE SIZE_MAX

/* What a label's key says. */
enum label_key {
	KEY_NEW, /* not looked at so far */
	KEY_OTHER,
	KEY_THREAD,
	KEY_PROCESS, /* a name for the thread only where there is none */
	KEY_CGROUP,
	KEY_PID,
	KEY_TID,
	KEY_CPU,
	KEY_USER_END,
	KEY_KERNEL_END,
};

struct reader {
	struct profile *profile;
	struct pprof_notes *notes;
	struct error *error;
	struct pprof_tables tables;
	struct pprof_frames frames;
	uint8_t *label_keys; /* enum label_key by string */
	size_t value;	     /* which one of a sample's counts */
	uint32_t *stack;
	size_t nr_stack, cap_stack;
};

/* A sample while it is read. */
struct found_sample {
	struct sample_labels labels;
	size_t nr_values;
	uint64_t value;
	size_t nr_kernel;
	bool has_user_end, has_kernel_end;
	struct pprof_found first, last; /* of its stack, if that is not empty */
	enum pprof_location_kind second;
};

static int refuse(struct reader *reader, const char *what)
{
	return error_set(reader->error, -EBADMSG, "not a sound pprof profile: %s", what);
}

/* --- labels ------------------------------------------------------------------------------------
 */

static const struct {
	const char *name;
	enum label_key key;
} label_names[] = {
	{PPROF_COMM, KEY_THREAD},
	{"thread", KEY_THREAD},
	{"thread_name", KEY_THREAD},
	{"thread name", KEY_THREAD},
	{"comm", KEY_PROCESS},
	{PPROF_CGROUP, KEY_CGROUP},
	{PPROF_PID, KEY_PID},
	{PPROF_TID, KEY_TID},
	{"thread_id", KEY_TID},
	{"thread id", KEY_TID},
	{PPROF_CPU, KEY_CPU},
	{PPROF_USER_END, KEY_USER_END},
	{PPROF_KERNEL_END, KEY_KERNEL_END},
};

static bool is_text(struct bytes text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

static enum label_key key_of(struct reader *reader, uint32_t string)
{
	size_t i;

	if (reader->label_keys[string] != KEY_NEW)
		return reader->label_keys[string];
	reader->label_keys[string] = KEY_OTHER;
	for (i = 0; i < ARRAY_SIZE(label_names); i++)
		if (is_text(reader->tables.strings[string], label_names[i].name))
			reader->label_keys[string] = (uint8_t)label_names[i].key;
	return reader->label_keys[string];
}

/* The walk's end by its name, or NR_WALK_ENDS. */
static uint8_t end_of(struct bytes text)
{
	static const char *const names[] = {
#define X(id, name, words) name,
		WALK_ENDS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < NR_WALK_ENDS; i++)
		if (is_text(text, names[i]))
			break;
	return (uint8_t)i;
}

/* 1: the label was taken; 0: it makes no sense; -ENOMEM. */
static int take_text(struct reader *reader, struct found_sample *sample, enum label_key key,
		     uint32_t string)
{
	struct sample_labels *labels = &sample->labels;
	uint8_t end = end_of(reader->tables.strings[string]);
	int64_t number;

	if (key == KEY_USER_END || key == KEY_KERNEL_END) {
		if (end == NR_WALK_ENDS)
			return 0;
		*(key == KEY_USER_END ? &labels->user_end : &labels->kernel_end) = end;
		*(key == KEY_USER_END ? &sample->has_user_end : &sample->has_kernel_end) = true;
		return 1;
	}
	if (key != KEY_THREAD && key != KEY_PROCESS && key != KEY_CGROUP)
		return 0;
	number = pprof_frames_string(&reader->frames, string);
	if (number < 0)
		return (int)number;
	if (key == KEY_CGROUP)
		labels->cgroup = (uint32_t)number;
	else if (key == KEY_THREAD || !labels->comm)
		labels->comm = (uint32_t)number;
	reader->notes->labels |= key == KEY_CGROUP ? LABEL_CGROUP : LABEL_COMM;
	return 1;
}

static int take_number(struct reader *reader, struct found_sample *sample, enum label_key key,
		       int64_t number)
{
	struct sample_labels *labels = &sample->labels;

	if (number < INT32_MIN || number > INT32_MAX)
		return 0;
	switch (key) {
	case KEY_PID:
		labels->pid = (int32_t)number;
		reader->notes->labels |= LABEL_PID;
		return 1;
	case KEY_TID:
		labels->tid = (int32_t)number;
		reader->notes->labels |= LABEL_TID;
		return 1;
	case KEY_CPU:
		labels->cpu = (int32_t)number;
		reader->notes->labels |= LABEL_CPU;
		return 1;
	default:
		return 0;
	}
}

static int read_label(struct reader *reader, struct found_sample *sample, struct bytes message)
{
	uint64_t key = 0, string = 0, number = 0;
	struct protobuf_field field;
	enum label_key what;
	int taken;

	while (protobuf_next(&message, &field)) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STR)
			string = field.value;
		else if (field.number == LABEL_NUM)
			number = field.value;
	}
	if (message.failed || key >= reader->tables.nr_strings ||
	    string >= reader->tables.nr_strings)
		return refuse(reader, "a label is broken");
	what = key_of(reader, (uint32_t)key);
	taken = string ? take_text(reader, sample, what, (uint32_t)string)
		       : take_number(reader, sample, what, (int64_t)number);
	reader->notes->dropped_labels += !taken;
	return taken < 0 ? taken : 0;
}

/* --- stacks ------------------------------------------------------------------------------------
 */

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
			sample->labels.user_end = WALK_TRUNCATED;
			sample->has_user_end = true;
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

static int read_values(struct reader *reader, struct found_sample *sample,
		       struct protobuf_field *field)
{
	uint64_t value;

	while (protobuf_next_number(field, &value))
		if (sample->nr_values++ == reader->value)
			sample->value = value;
	return field->bytes.failed ? refuse(reader, "a value is broken") : 0;
}

/*
 * What stands for a stack that could not be read does so alone: no frame of that stack is there,
 * and no label says how it ended.
 */
static void take_missed(struct reader *reader, struct found_sample *sample)
{
	size_t nr = reader->nr_stack;

	if (nr && sample->first.kind == PPROF_LOCATION_MISSED_KERNEL && !sample->has_kernel_end &&
	    (nr == 1 || sample->second != PPROF_LOCATION_KERNEL)) {
		memmove(reader->stack, reader->stack + 1, (nr - 1) * sizeof(*reader->stack));
		sample->labels.kernel_end = WALK_MISSED;
		sample->has_kernel_end = true;
		nr--;
	}
	if (nr && nr == sample->nr_kernel + 1 && !sample->has_user_end &&
	    sample->last.kind == PPROF_LOCATION_MISSED_USER) {
		sample->labels.user_end = WALK_MISSED;
		sample->has_user_end = true;
		nr--;
	}
	reader->nr_stack = nr;
}

static void take_ends(struct reader *reader, struct found_sample *sample)
{
	take_missed(reader, sample);
	if (!sample->has_user_end)
		sample->labels.user_end =
			reader->nr_stack > sample->nr_kernel ? WALK_COMPLETE : WALK_NONE;
	if (!sample->has_kernel_end)
		sample->labels.kernel_end = sample->nr_kernel ? WALK_UNWOUND : WALK_NONE;
}

/* --- samples -----------------------------------------------------------------------------------
 */

static int add_sample(struct reader *reader, struct found_sample *sample)
{
	int64_t number;

	if (sample->nr_values != reader->tables.nr_sample_types)
		return refuse(reader, "a sample has too few or too many values");
	if (sample->value > INT64_MAX) {
		reader->notes->dropped_samples++;
		return 0;
	}
	if (!sample->value)
		return 0;
	if (sample->value > INT64_MAX - profile_total(reader->profile))
		return refuse(reader, "its values are too large");
	take_ends(reader, sample);
	number = profile_add_sample(reader->profile, &sample->labels, reader->stack,
				    reader->nr_stack, sample->nr_kernel, sample->value);
	return number < 0 ? (int)number : 0;
}

static int read_sample(struct reader *reader, struct bytes message)
{
	struct found_sample sample = {0};
	struct protobuf_field field;
	int result = 0;

	reader->nr_stack = 0;
	while (!result && protobuf_next(&message, &field)) {
		if (field.number == SAMPLE_LOCATION_ID)
			result = read_stack(reader, &sample, &field);
		else if (field.number == SAMPLE_VALUE)
			result = read_values(reader, &sample, &field);
		else if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES)
			result = read_label(reader, &sample, field.bytes);
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

/* --- the whole ---------------------------------------------------------------------------------
 */

/* Which value of each sample is its count; see pprof.h. NO_VALUE if there are none at all. */
static size_t choose_value(const struct pprof_tables *tables)
{
	size_t i;

	for (i = 0; i < tables->nr_sample_types; i++)
		if (is_text(tables->strings[tables->sample_types[i].type], PPROF_SAMPLES))
			return i;
	for (i = 0; tables->default_sample_type && i < tables->nr_sample_types; i++)
		if (tables->sample_types[i].type == tables->default_sample_type)
			return i;
	return tables->nr_sample_types ? tables->nr_sample_types - 1 : NO_VALUE;
}

/* Where counts are not of samples they are of what the type says, one by one. */
static int read_origin(struct reader *reader)
{
	const struct pprof_tables *tables = &reader->tables;
	struct profile_origin origin = {
		.period = tables->period,
		.time_ns = tables->time_ns,
		.duration_ns = tables->duration_ns,
	};
	struct pprof_value_type type = tables->period_type;
	int64_t event, unit;

	if (reader->value != NO_VALUE) {
		const struct pprof_value_type *value = &tables->sample_types[reader->value];

		if (!is_text(tables->strings[value->type], PPROF_SAMPLES)) {
			type = *value;
			origin.period = 1;
			origin.is_sum = true;
		}
	}
	event = pprof_frames_string(&reader->frames, type.type);
	unit = pprof_frames_string(&reader->frames, type.unit);
	if (event < 0 || unit < 0)
		return -ENOMEM;
	origin.event = (uint32_t)event;
	origin.unit = (uint32_t)unit;
	profile_set_origin(reader->profile, &origin);
	return 0;
}

static int read_all(struct reader *reader, struct bytes file)
{
	int result = pprof_tables_read(&reader->tables, file, reader->error);

	if (result < 0)
		return result;
	reader->value = choose_value(&reader->tables);
	reader->label_keys = calloc(reader->tables.nr_strings, 1);
	if (!reader->label_keys)
		return -ENOMEM;
	result = pprof_frames_init(&reader->frames, &reader->tables, reader->profile);
	if (!result)
		result = read_origin(reader);
	return result < 0 ? result : read_samples(reader, file);
}

int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct pprof_notes *notes,
		struct error *error)
{
	struct reader reader = {.profile = profile, .notes = notes, .error = error};
	int result;

	*notes = (struct pprof_notes){0};
	result = read_all(&reader, bytes_of(bytes, nr));
	if (result == -ENOMEM)
		(void)error_set(error, result, "out of memory");
	pprof_frames_clear(&reader.frames);
	pprof_tables_clear(&reader.tables);
	free(reader.label_keys);
	free(reader.stack);
	return result;
}

int pprof_read(FILE *in, struct profile *profile, struct pprof_notes *notes, struct error *error)
{
	cleanup_free uint8_t *bytes = NULL;
	size_t nr;
	int result = gzip_read(in, PPROF_MAX_BYTES, &bytes, &nr);

	if (result == -EFBIG)
		return error_set(error, result, "the profile is larger than %llu MiB",
				 PPROF_MAX_BYTES >> 20);
	if (result == -EBADMSG)
		return error_set(error, result, "the compressed profile is damaged or cut off");
	if (result < 0)
		return error_set(error, result, "cannot read the profile: %s", strerror(-result));
	return pprof_parse(bytes, nr, profile, notes, error);
}
