/*
 * Whether the name of a process stands for a missing thread's, and whether two numbers are a slice of
 * time, is known at the end only. Until then they are in the set, where they stay if not.
 */
#include "format/pprof/pprof_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/protobuf.h"
#include "format/pprof/pprof_fields.h"
#include "profile/profile.h"

static const struct {
	const char *name;
	enum pprof_label_key key;
} key_names[] = {
	{PPROF_COMM, PPROF_KEY_THREAD},
	{"thread", PPROF_KEY_THREAD},
	{"thread_name", PPROF_KEY_THREAD},
	{"thread name", PPROF_KEY_THREAD},
	{"comm", PPROF_KEY_PROCESS},
	{PPROF_CGROUP, PPROF_KEY_CGROUP},
	{PPROF_PID, PPROF_KEY_PID},
	{PPROF_TID, PPROF_KEY_TID},
	{"thread_id", PPROF_KEY_TID},
	{"thread id", PPROF_KEY_TID},
	{PPROF_CPU, PPROF_KEY_CPU},
	{PPROF_USER_END, PPROF_KEY_USER_END},
	{PPROF_KERNEL_END, PPROF_KEY_KERNEL_END},
	{PPROF_SLICE_START, PPROF_KEY_SLICE_START},
	{PPROF_SLICE_END, PPROF_KEY_SLICE_END},
};

/* A label as it is in the file. */
struct found_label {
	uint32_t key, text, unit; /* strings of the file */
	int64_t number;
};

static bool is_text(struct bytes text, const char *wanted)
{
	return text.nr == strlen(wanted) && !memcmp(text.at, wanted, text.nr);
}

static struct bytes text_of(const struct pprof_labels *labels, uint32_t string)
{
	return labels->strings->tables->strings[string];
}

static enum pprof_label_key key_of(struct pprof_labels *labels, uint32_t string)
{
	size_t i;

	if (labels->keys[string] != PPROF_KEY_NEW)
		return labels->keys[string];
	labels->keys[string] = PPROF_KEY_OTHER;
	for (i = 0; i < ARRAY_SIZE(key_names); i++)
		if (is_text(text_of(labels, string), key_names[i].name))
			labels->keys[string] = (uint8_t)key_names[i].key;
	return labels->keys[string];
}

/* --- those that have a place ------------------------------------------------------------------ */

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

static bool take_end(struct pprof_labels *labels, uint32_t text, uint8_t *end)
{
	uint8_t found = end_of(text_of(labels, text));

	if (found == NR_WALK_ENDS)
		return false;
	*end = found;
	return true;
}

static int take_string(struct pprof_labels *labels, uint32_t text, enum label bit, uint32_t *ret)
{
	int64_t number = pprof_strings_get(labels->strings, text);

	if (number <= 0)
		return (int)number;
	*ret = (uint32_t)number;
	labels->notes->labels |= bit;
	return 1;
}

static int take_number(struct pprof_labels *labels, int64_t number, enum label bit, int32_t *ret)
{
	if (number < INT32_MIN || number > INT32_MAX)
		return 0;
	*ret = (int32_t)number;
	labels->notes->labels |= bit;
	return 1;
}

static int take_text_label(struct pprof_labels *labels, enum pprof_label_key key, uint32_t text)
{
	struct sample_labels *to = &labels->labels;

	switch (key) {
	case PPROF_KEY_THREAD:
		return take_string(labels, text, LABEL_COMM, &to->comm);
	case PPROF_KEY_CGROUP:
		return take_string(labels, text, LABEL_CGROUP, &to->cgroup);
	case PPROF_KEY_USER_END:
		return take_end(labels, text, &to->user_end);
	case PPROF_KEY_KERNEL_END:
		return take_end(labels, text, &to->kernel_end);
	default:
		return 0;
	}
}

static int take_number_label(struct pprof_labels *labels, enum pprof_label_key key, int64_t number)
{
	struct sample_labels *to = &labels->labels;

	switch (key) {
	case PPROF_KEY_PID:
		return take_number(labels, number, LABEL_PID, &to->pid);
	case PPROF_KEY_TID:
		return take_number(labels, number, LABEL_TID, &to->tid);
	case PPROF_KEY_CPU:
		return take_number(labels, number, LABEL_CPU, &to->cpu);
	default:
		return 0;
	}
}

/* 1: it was taken; 0: it is for the set; -ENOMEM. */
static int take(struct pprof_labels *labels, enum pprof_label_key key,
		const struct found_label *label)
{
	if (pprof_labels_have(labels, key))
		return 0;
	return label->text ? take_text_label(labels, key, label->text)
			   : take_number_label(labels, key, label->number);
}

/* --- those of the set ------------------------------------------------------------------------- */

static bool is_doubtful(const struct pprof_labels *labels, enum pprof_label_key key,
			const struct found_label *label)
{
	if (labels->place[key])
		return false;
	if (key == PPROF_KEY_PROCESS)
		return label->text;
	return (key == PPROF_KEY_SLICE_START || key == PPROF_KEY_SLICE_END) && !label->text &&
	       label->number >= 0 && is_text(text_of(labels, label->unit), PPROF_NANOSECONDS);
}

static int put_into_set(struct pprof_labels *labels, enum pprof_label_key key,
			const struct found_label *label)
{
	bool is_number = !label->text;
	int64_t name = pprof_strings_get(labels->strings, label->key);
	int64_t text = is_number ? 0 : pprof_strings_get(labels->strings, label->text);
	int64_t unit = is_number ? pprof_strings_get(labels->strings, label->unit) : 0;

	if (name < 0 || text < 0 || unit < 0)
		return -ENOMEM;
	/* Nothing that could be told from what is not there. */
	if (!name || (!text && !is_number) || (is_number && !label->number && !unit) ||
	    labels->nr_set == ARRAY_SIZE(labels->set)) {
		labels->notes->dropped_labels++;
		return 0;
	}
	labels->set[labels->nr_set++] = (struct set_label){
		.key = (uint32_t)name,
		.text = (uint32_t)text,
		.unit = (uint32_t)unit,
		.number = is_number ? label->number : 0,
	};
	if (is_doubtful(labels, key, label))
		labels->place[key] = labels->nr_set;
	return 0;
}

static void take_out_of_set(struct pprof_labels *labels, enum pprof_label_key key)
{
	size_t place = labels->place[key], i;

	memmove(&labels->set[place - 1], &labels->set[place],
		(labels->nr_set - place) * sizeof(labels->set[0]));
	labels->nr_set--;
	labels->place[key] = 0;
	for (i = 0; i < NR_PPROF_KEYS; i++)
		labels->place[i] -= labels->place[i] > place;
}

static void take_process(struct pprof_labels *labels)
{
	size_t place = labels->place[PPROF_KEY_PROCESS];

	if (!place || pprof_labels_have(labels, PPROF_KEY_THREAD))
		return;
	labels->labels.comm = labels->set[place - 1].text;
	labels->notes->labels |= LABEL_COMM;
	take_out_of_set(labels, PPROF_KEY_PROCESS);
}

/* More slices than a profile has room for stay labels of the set. */
static int take_slice(struct pprof_labels *labels)
{
	size_t start = labels->place[PPROF_KEY_SLICE_START];
	size_t end = labels->place[PPROF_KEY_SLICE_END];
	struct time_slice slice;
	int64_t number;

	if (!start || !end || labels->set[start - 1].number > labels->set[end - 1].number)
		return 0;
	slice.start_ns = (uint64_t)labels->set[start - 1].number;
	slice.end_ns = (uint64_t)labels->set[end - 1].number;
	number = profile_add_slice(labels->strings->profile, &slice);
	if (number < 0)
		return number == -E2BIG ? 0 : (int)number;
	labels->labels.slice = (uint32_t)number;
	labels->notes->labels |= LABEL_SLICE;
	take_out_of_set(labels, PPROF_KEY_SLICE_START);
	take_out_of_set(labels, PPROF_KEY_SLICE_END);
	return 0;
}

/* --- one sample ------------------------------------------------------------------------------- */

void pprof_labels_begin(struct pprof_labels *labels)
{
	labels->labels = (struct sample_labels){0};
	labels->taken = 0;
	labels->nr_set = 0;
	memset(labels->place, 0, sizeof(labels->place));
}

bool pprof_labels_have(const struct pprof_labels *labels, enum pprof_label_key key)
{
	return labels->taken & 1U << key;
}

/* False if it is broken, or a string is missing. */
static bool parse(struct bytes message, size_t nr_strings, struct found_label *ret)
{
	uint64_t key = 0, text = 0, unit = 0, number = 0;
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STR)
			text = field.value;
		else if (field.number == LABEL_NUM)
			number = field.value;
		else if (field.number == LABEL_NUM_UNIT)
			unit = field.value;
	}
	if (message.failed || key >= nr_strings || text >= nr_strings || unit >= nr_strings)
		return false;
	*ret = (struct found_label){(uint32_t)key, (uint32_t)text, (uint32_t)unit, (int64_t)number};
	return true;
}

int pprof_labels_read(struct pprof_labels *labels, struct bytes message, struct error *error)
{
	enum pprof_label_key key;
	struct found_label label;
	int taken;

	if (!parse(message, labels->strings->tables->nr_strings, &label))
		return error_set(error, -EBADMSG, "not a sound pprof profile: a label is broken");
	key = key_of(labels, label.key);
	taken = take(labels, key, &label);
	if (!taken)
		return put_into_set(labels, key, &label);
	labels->taken |= 1U << key;
	return taken < 0 ? taken : 0;
}

int pprof_labels_finish(struct pprof_labels *labels)
{
	int64_t set;
	int result;

	take_process(labels);
	result = take_slice(labels);
	if (result < 0)
		return result;
	if (labels->nr_set > LABEL_SET_MAX) {
		labels->notes->dropped_labels += labels->nr_set - LABEL_SET_MAX;
		labels->nr_set = LABEL_SET_MAX;
	}
	if (!labels->nr_set)
		return 0;
	set = profile_add_label_set(labels->strings->profile, labels->set, labels->nr_set);
	if (set < 0)
		return (int)set;
	labels->labels.set = (uint32_t)set;
	labels->notes->labels |= LABEL_SET;
	return 0;
}

int pprof_labels_init(struct pprof_labels *labels, struct pprof_strings *strings,
		      struct format_notes *notes)
{
	*labels = (struct pprof_labels){.strings = strings, .notes = notes};
	labels->keys = calloc(strings->tables->nr_strings + 1, sizeof(*labels->keys));
	return labels->keys ? 0 : -ENOMEM;
}

void pprof_labels_clear(struct pprof_labels *labels)
{
	free(labels->keys);
	*labels = (struct pprof_labels){0};
}
