/*
 * Reads pprof files. The whole file is in memory, inflated, because its strings come last; its
 * tables point into it. Samples are read in a second pass and added to the profile one by one.
 *
 * Labels with a field in the profile are recognized by their keys, ours and those of other
 * programs. All other labels, and repetitions of a key, go into the sample's label set, in the
 * order of the file.
 */
#include "format/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "format/pprof/pprof_reader.h"
#include "profile/profile.h"

/* Meanings of the labels' keys. */
enum label_key {
	KEY_NEW, /* not looked up yet */
	KEY_OTHER,
	KEY_THREAD,
	KEY_PROCESS, /* used as the thread's name only if there is no other */
	KEY_CGROUP,
	KEY_PROBE,
	KEY_PID,
	KEY_TID,
	KEY_CPU,
	KEY_USER_END,
	KEY_KERNEL_END,
	KEY_SLICE_START,
	KEY_SLICE_END,
	NR_KEYS,
};

#define NOT_KEPT SIZE_MAX /* index of a value that is dropped */

/* Labels of the set that may get another meaning: process, start and end of a slice. */
#define NR_DOUBTFUL 3

/*
 * A sample while it is read. Only after the last label it is known if a process name replaces a
 * missing thread name, and if two numbers are a time slice. Until then these labels are in the set,
 * and stay there if not.
 */
struct found_sample {
	uint64_t values[PPROF_MAX_SAMPLE_TYPES];
	size_t nr_values;

	size_t nr_kernel;
	bool is_cut;
	struct pprof_found first, last; /* first and last frame, if the stack is not empty */
	enum pprof_location_kind second;

	struct sample_labels labels;
	unsigned taken; /* bits by key: labels that were stored in `labels` */
	struct set_label set[LABEL_SET_MAX + NR_DOUBTFUL];
	size_t nr_set;
	size_t doubtful[NR_KEYS]; /* index in the set + 1; 0: none */
};

struct reader {
	struct profile *profile;
	struct format_notes *notes;
	struct pprof_tables tables;
	struct pprof_frames frames;
	struct value_type types[PPROF_MAX_SAMPLE_TYPES]; /* of the values in the file … */
	size_t numbers
		[PPROF_MAX_SAMPLE_TYPES]; /* … and their indices in the profile, or NOT_KEPT */
	uint8_t *keys;			  /* string -> enum label_key */
	struct found_sample sample;
	uint32_t *stack; /* the sample's frames, leaf first */
	size_t nr_stack, cap_stack;
};

static bool is_text(struct bytes text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

/* --- labels with a field ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum label_key key;
} key_names[] = {
	{PPROF_COMM, KEY_THREAD},
	{"thread", KEY_THREAD},
	{"thread_name", KEY_THREAD},
	{"thread name", KEY_THREAD},
	{"comm", KEY_PROCESS},
	{PPROF_CGROUP, KEY_CGROUP},
	{PPROF_PROBE, KEY_PROBE},
	{PPROF_PID, KEY_PID},
	{PPROF_TID, KEY_TID},
	{"thread_id", KEY_TID},
	{"thread id", KEY_TID},
	{PPROF_CPU, KEY_CPU},
	{PPROF_USER_END, KEY_USER_END},
	{PPROF_KERNEL_END, KEY_KERNEL_END},
	{PPROF_SLICE_START, KEY_SLICE_START},
	{PPROF_SLICE_END, KEY_SLICE_END},
};

/* A label as read from the file. */
struct found_label {
	uint32_t key, text, unit; /* strings of the file */
	int64_t number;
};

static enum label_key key_of(struct reader *reader, uint32_t string)
{
	size_t i;

	if (reader->keys[string] != KEY_NEW)
		return reader->keys[string];
	reader->keys[string] = KEY_OTHER;
	for (i = 0; i < ARRAY_SIZE(key_names); i++)
		if (is_text(reader->tables.strings[string], key_names[i].name))
			reader->keys[string] = (uint8_t)key_names[i].key;
	return reader->keys[string];
}

/* True if the sample already has a label with this key. */
static bool is_taken(const struct found_sample *sample, enum label_key key)
{
	return sample->taken & 1U << key;
}

static int take_end(const struct reader *reader, uint32_t text, uint8_t *ret)
{
	unsigned i;

	for (i = 0; i < NR_WALK_ENDS; i++)
		if (is_text(reader->tables.strings[text], pprof_end_names[i])) {
			*ret = (uint8_t)i;
			return 1;
		}
	return 0;
}

static int take_string(struct reader *reader, uint32_t text, enum label bit, uint32_t *ret)
{
	int64_t number = pprof_tables_string(&reader->tables, text);

	if (number <= 0)
		return (int)number;
	*ret = (uint32_t)number;
	reader->notes->labels |= bit;
	return 1;
}

static int take_number(struct reader *reader, int64_t number, enum label bit, int32_t *ret)
{
	if (number < INT32_MIN || number > INT32_MAX)
		return 0;
	*ret = (int32_t)number;
	reader->notes->labels |= bit;
	return 1;
}

/* Returns 1 if the label was stored in a field; 0 if it belongs into the set; -ENOMEM. */
static int take_label(struct reader *reader, enum label_key key, const struct found_label *label)
{
	struct sample_labels *to = &reader->sample.labels;
	bool is_number = !label->text;

	if (is_taken(&reader->sample, key))
		return 0;
	switch (key) {
	case KEY_THREAD:
		return is_number ? 0 : take_string(reader, label->text, LABEL_COMM, &to->comm);
	case KEY_CGROUP:
		return is_number ? 0 : take_string(reader, label->text, LABEL_CGROUP, &to->cgroup);
	case KEY_PROBE:
		return is_number ? 0 : take_string(reader, label->text, LABEL_PROBE, &to->probe);
	case KEY_USER_END:
		return is_number ? 0 : take_end(reader, label->text, &to->user_end);
	case KEY_KERNEL_END:
		return is_number ? 0 : take_end(reader, label->text, &to->kernel_end);
	case KEY_PID:
		return is_number ? take_number(reader, label->number, LABEL_PID, &to->pid) : 0;
	case KEY_TID:
		return is_number ? take_number(reader, label->number, LABEL_TID, &to->tid) : 0;
	case KEY_CPU:
		return is_number ? take_number(reader, label->number, LABEL_CPU, &to->cpu) : 0;
	default:
		return 0;
	}
}

/* --- labels of the set ------------------------------------------------------------------------ */

static bool is_doubtful(const struct reader *reader, enum label_key key,
			const struct found_label *label)
{
	if (reader->sample.doubtful[key])
		return false;
	if (key == KEY_PROCESS)
		return label->text;
	return (key == KEY_SLICE_START || key == KEY_SLICE_END) && !label->text &&
	       label->number >= 0 &&
	       is_text(reader->tables.strings[label->unit], PPROF_NANOSECONDS);
}

static int put_into_set(struct reader *reader, enum label_key key, const struct found_label *label)
{
	struct found_sample *sample = &reader->sample;
	bool is_number = !label->text;
	int64_t name = pprof_tables_string(&reader->tables, label->key);
	int64_t text = is_number ? 0 : pprof_tables_string(&reader->tables, label->text);
	int64_t unit = is_number ? pprof_tables_string(&reader->tables, label->unit) : 0;

	if (name < 0 || text < 0 || unit < 0)
		return -ENOMEM;
	/* Skip labels that look like an empty one. */
	if (!name || (!text && !is_number) || (is_number && !label->number && !unit) ||
	    sample->nr_set == ARRAY_SIZE(sample->set)) {
		reader->notes->dropped_labels++;
		return 0;
	}
	sample->set[sample->nr_set++] = (struct set_label){
		.key = (uint32_t)name,
		.text = (uint32_t)text,
		.unit = (uint32_t)unit,
		.number = is_number ? label->number : 0,
	};
	if (is_doubtful(reader, key, label))
		sample->doubtful[key] = sample->nr_set;
	return 0;
}

static void take_out_of_set(struct found_sample *sample, enum label_key key)
{
	size_t place = sample->doubtful[key], i;

	memmove(&sample->set[place - 1], &sample->set[place],
		(sample->nr_set - place) * sizeof(sample->set[0]));
	sample->nr_set--;
	sample->doubtful[key] = 0;
	for (i = 0; i < NR_KEYS; i++)
		sample->doubtful[i] -= sample->doubtful[i] > place;
}

static void take_process(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;
	size_t place = sample->doubtful[KEY_PROCESS];

	if (!place || is_taken(sample, KEY_THREAD))
		return;
	sample->labels.comm = sample->set[place - 1].text;
	reader->notes->labels |= LABEL_COMM;
	take_out_of_set(sample, KEY_PROCESS);
}

/* Slices beyond the limit of a profile stay in the label set. */
static int take_slice(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;
	size_t start = sample->doubtful[KEY_SLICE_START], end = sample->doubtful[KEY_SLICE_END];
	struct time_slice slice;
	int64_t number;

	if (!start || !end || sample->set[start - 1].number > sample->set[end - 1].number)
		return 0;
	slice.start_ns = (uint64_t)sample->set[start - 1].number;
	slice.end_ns = (uint64_t)sample->set[end - 1].number;
	number = profile_add_slice(reader->profile, &slice);
	if (number < 0)
		return number == -E2BIG ? 0 : (int)number;
	sample->labels.slice = (uint32_t)number;
	reader->notes->labels |= LABEL_SLICE;
	take_out_of_set(sample, KEY_SLICE_START);
	take_out_of_set(sample, KEY_SLICE_END);
	return 0;
}

/* --- all labels ------------------------------------------------------------------------------- */

static int read_label(struct reader *reader, struct bytes message)
{
	uint64_t nr_strings = reader->tables.nr_strings, fields[LABEL_NUM_UNIT + 1];
	struct found_label label;
	enum label_key key;
	int taken;

	if (!protobuf_numbers(message, fields, ARRAY_SIZE(fields)) ||
	    fields[LABEL_KEY] >= nr_strings || fields[LABEL_STR] >= nr_strings ||
	    fields[LABEL_NUM_UNIT] >= nr_strings)
		return pprof_refuse(&reader->tables, "malformed label");
	label = (struct found_label){
		.key = (uint32_t)fields[LABEL_KEY],
		.text = (uint32_t)fields[LABEL_STR],
		.unit = (uint32_t)fields[LABEL_NUM_UNIT],
		.number = (int64_t)fields[LABEL_NUM],
	};
	key = key_of(reader, label.key);
	taken = take_label(reader, key, &label);
	if (!taken)
		return put_into_set(reader, key, &label);
	reader->sample.taken |= 1U << key;
	return taken < 0 ? taken : 0;
}

static int finish_labels(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;
	int64_t set;
	int result;

	take_process(reader);
	result = take_slice(reader);
	if (result < 0)
		return result;
	if (sample->nr_set > LABEL_SET_MAX) {
		reader->notes->dropped_labels += sample->nr_set - LABEL_SET_MAX;
		sample->nr_set = LABEL_SET_MAX;
	}
	if (!sample->nr_set)
		return 0;
	set = profile_add_label_set(reader->profile, sample->set, sample->nr_set);
	if (set < 0)
		return (int)set;
	sample->labels.set = (uint32_t)set;
	reader->notes->labels |= LABEL_SET;
	return 0;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* A stack that is too deep for the profile loses its root. */
static int read_stack(struct reader *reader, struct protobuf_field *field)
{
	struct found_sample *sample = &reader->sample;
	uint64_t id;

	while (protobuf_next_number(field, &id)) {
		struct pprof_found found;
		int result = pprof_frames_find(&reader->frames, id, &found);

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
	return field->bytes.failed ? pprof_refuse(&reader->tables, "malformed stack") : 0;
}

/*
 * Determines how the stacks ended. A frame named `[Missed User Stack]` (or Kernel) is such a
 * placeholder only if that stack has no other frame, and no label that says how the stack ended.
 */
static void take_ends(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;
	struct sample_labels *labels = &sample->labels;
	bool has_user_end = is_taken(sample, KEY_USER_END) || sample->is_cut;
	bool has_kernel_end = is_taken(sample, KEY_KERNEL_END);
	size_t nr = reader->nr_stack;

	if (sample->is_cut)
		labels->user_end = WALK_TRUNCATED;
	if (nr && sample->first.kind == PPROF_LOCATION_MISSED_KERNEL && !has_kernel_end &&
	    (nr == 1 || sample->second != PPROF_LOCATION_KERNEL)) {
		memmove(reader->stack, reader->stack + 1, (nr - 1) * sizeof(*reader->stack));
		labels->kernel_end = WALK_MISSED;
		has_kernel_end = true;
		nr--;
	}
	if (nr && nr == sample->nr_kernel + 1 && !has_user_end &&
	    sample->last.kind == PPROF_LOCATION_MISSED_USER) {
		labels->user_end = WALK_MISSED;
		has_user_end = true;
		nr--;
	}
	reader->nr_stack = nr;
	if (!has_user_end)
		labels->user_end = nr > sample->nr_kernel ? WALK_COMPLETE : WALK_NONE;
	if (!has_kernel_end)
		labels->kernel_end = sample->nr_kernel ? WALK_UNWOUND : WALK_NONE;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int read_values(struct reader *reader, struct protobuf_field *field)
{
	struct found_sample *sample = &reader->sample;
	uint64_t value;

	for (; protobuf_next_number(field, &value); sample->nr_values++)
		if (sample->nr_values < PPROF_MAX_SAMPLE_TYPES)
			sample->values[sample->nr_values] = value;
	return field->bytes.failed ? pprof_refuse(&reader->tables, "malformed value") : 0;
}

/* A sample with a negative value is dropped and counted; a sample with no value is skipped. */
static int add_sample(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;
	bool is_negative = false, is_nothing = true;
	int64_t number;
	size_t i;
	int result;

	if (sample->nr_values != reader->tables.nr_sample_types)
		return pprof_refuse(&reader->tables, "a sample has the wrong number of values");
	for (i = 0; i < sample->nr_values; i++) {
		is_negative |= sample->values[i] > INT64_MAX;
		is_nothing &= !sample->values[i];
	}
	reader->notes->dropped_samples += is_negative;
	if (is_negative || is_nothing)
		return 0;
	take_ends(reader);
	result = finish_labels(reader);
	if (result < 0)
		return result;
	number = profile_add_sample(reader->profile, &sample->labels, reader->stack,
				    reader->nr_stack, sample->nr_kernel, 0);
	if (number < 0)
		return (int)number;
	for (i = 0; i < sample->nr_values; i++) {
		size_t to = reader->numbers[i];

		if (to == NOT_KEPT || !sample->values[i])
			continue;
		if (!profile_value_has_room(reader->profile, to, sample->values[i]))
			return pprof_refuse(&reader->tables, "the sum of its values is too large");
		if (profile_add_value(reader->profile, (uint32_t)number, to, sample->values[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The set and the values are not cleared, only their counts: clearing them is slow. */
static void begin_sample(struct reader *reader)
{
	struct found_sample *sample = &reader->sample;

	reader->nr_stack = 0;
	sample->nr_values = 0;
	sample->nr_kernel = 0;
	sample->is_cut = false;
	sample->labels = (struct sample_labels){0};
	sample->taken = 0;
	sample->nr_set = 0;
	memset(sample->doubtful, 0, sizeof(sample->doubtful));
}

static int read_sample(struct reader *reader, struct bytes message)
{
	struct protobuf_field field;
	int result = 0;

	begin_sample(reader);
	while (!result && protobuf_next(&message, &field)) {
		if (field.number == SAMPLE_LOCATION_ID)
			result = read_stack(reader, &field);
		else if (field.number == SAMPLE_VALUE)
			result = read_values(reader, &field);
		else if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES)
			result = read_label(reader, field.bytes);
	}
	if (result < 0)
		return result;
	if (message.failed)
		return pprof_refuse(&reader->tables, "malformed sample");
	return add_sample(reader);
}

/* --- the whole -------------------------------------------------------------------------------- */

/*
 * True for our comment that names the clock. The profile's event becomes that clock, and the
 * comment is removed.
 */
static bool take_clock(struct reader *reader, const char *comment)
{
	struct profile_origin was = *profile_origin(reader->profile), origin = was;
	int64_t event;

	if (!text_starts_with(comment, PPROF_EVENT_COMMENT) ||
	    strcmp(profile_string(reader->profile, was.event), PROFILE_CPU_TIME) != 0)
		return false;
	event = profile_add_string(reader->profile, comment + strlen(PPROF_EVENT_COMMENT));
	if (event < 0)
		return false;
	origin.event = (uint32_t)event;
	profile_set_origin(reader->profile, &origin);
	if (profile_has_clock_event(reader->profile))
		return true;
	profile_set_origin(reader->profile, &was);
	return false;
}

/* Likewise for the one that names the values of a ratio. */
static bool take_ratio(struct reader *reader, const char *comment)
{
	struct profile_origin origin = *profile_origin(reader->profile);
	int64_t ratio;

	if (!text_starts_with(comment, PPROF_RATIO_COMMENT))
		return false;
	ratio = profile_add_string(reader->profile, comment + strlen(PPROF_RATIO_COMMENT));
	if (ratio < 0)
		return false;
	origin.ratio = (uint32_t)ratio;
	profile_set_origin(reader->profile, &origin);
	return true;
}

static int read_origin(struct reader *reader)
{
	struct pprof_tables *tables = &reader->tables;
	struct profile_origin origin = {
		.period = tables->period,
		.time_ns = tables->time_ns,
		.duration_ns = tables->duration_ns,
	};
	int64_t event = pprof_tables_string(tables, tables->period_type.type);
	int64_t unit = pprof_tables_string(tables, tables->period_type.unit);
	size_t i;

	if (event < 0 || unit < 0)
		return -ENOMEM;
	origin.event = (uint32_t)event;
	origin.unit = (uint32_t)unit;
	profile_set_origin(reader->profile, &origin);
	for (i = 0; i < tables->nr_comments; i++) {
		int64_t comment = pprof_tables_string(tables, tables->comments[i]);
		const char *text;

		if (comment < 0)
			return -ENOMEM;
		text = profile_string(reader->profile, (uint32_t)comment);
		if (!take_clock(reader, text) && !take_ratio(reader, text) &&
		    profile_add_comment(reader->profile, text) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Returns a string of the file, or `words` if it is empty. */
static int64_t string_or(struct pprof_tables *tables, uint32_t string, const char *words)
{
	int64_t number = pprof_tables_string(tables, string);

	return number ? number : profile_add_string(tables->profile, words);
}

/* Returns the first type that equals this one: duplicate types are read once. */
static size_t first_of(const struct value_type *types, size_t number)
{
	size_t i = 0;

	while (types[i].type != types[number].type || types[i].unit != types[number].unit)
		i++;
	return i;
}

/* The main value is the default value, or else the last one, as in pprof itself. */
static size_t find_main(const struct reader *reader, uint32_t default_name)
{
	size_t nr = reader->tables.nr_sample_types, i;

	for (i = 0; default_name && i < nr; i++)
		if (reader->types[i].type == default_name)
			return i;
	return first_of(reader->types, nr - 1);
}

static int read_types(struct reader *reader)
{
	struct pprof_tables *tables = &reader->tables;
	int64_t default_name = pprof_tables_string(tables, tables->default_sample_type);
	size_t nr = tables->nr_sample_types, i;

	for (i = 0; i < nr; i++) {
		int64_t name = string_or(tables, tables->sample_types[i].type, "value");
		int64_t unit = string_or(tables, tables->sample_types[i].unit, PPROF_COUNT);

		if (name < 0 || unit < 0)
			return -ENOMEM;
		reader->types[i] = (struct value_type){(uint32_t)name, (uint32_t)unit};
	}
	if (default_name < 0)
		return -ENOMEM;
	if (!nr)
		return 0;
	profile_set_main_type(reader->profile,
			      reader->types[find_main(reader, (uint32_t)default_name)]);
	for (i = 0; i < nr; i++) {
		bool is_first = first_of(reader->types, i) == i;
		int number =
			is_first ? profile_add_value_type(reader->profile, &reader->types[i]) : 0;

		if (number < 0)
			return number;
		reader->numbers[i] = is_first ? (size_t)number : NOT_KEPT;
	}
	return 0;
}

static int read_all(struct reader *reader, struct bytes file, struct error *error)
{
	struct pprof_tables *tables = &reader->tables;
	struct protobuf_field field;
	int result = pprof_tables_read(tables, file, reader->profile, error);

	if (!result)
		result = pprof_frames_init(&reader->frames, tables);
	if (!result)
		result = read_origin(reader);
	if (!result)
		result = read_types(reader);
	if (result < 0)
		return result;
	reader->keys = calloc(tables->nr_strings + 1, sizeof(*reader->keys));
	if (!reader->keys)
		return -ENOMEM;
	while (!result && protobuf_next(&file, &field))
		if (field.number == PROFILE_SAMPLE && field.type == PROTOBUF_BYTES)
			result = read_sample(reader, field.bytes);
	return result < 0 ? result : profile_choose_samples(reader->profile);
}

int pprof_parse(const void *bytes, size_t nr, struct profile *profile, struct format_notes *notes,
		struct error *error)
{
	struct reader reader = {.profile = profile, .notes = notes};
	int result;

	*notes = (struct format_notes){0};
	if (!nr)
		return error_set(error, -EBADMSG, "it is empty");
	result = read_all(&reader, bytes_of(bytes, nr), error);
	if (result == -ENOMEM)
		(void)error_set(error, result, "out of memory");
	pprof_frames_clear(&reader.frames);
	pprof_tables_clear(&reader.tables);
	free(reader.keys);
	free(reader.stack);
	return result;
}

/* True if the first field is a value type: a message with a type or a unit. */
bool pprof_is_it(const char *head, size_t nr)
{
	if (nr < 3)
		return false;
	return head[0] == '\x0a' && (head[2] == '\x08' || head[2] == '\x10');
}
