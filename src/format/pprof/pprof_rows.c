/*
 * The samples of a profile as rows of a pprof file, sorted by content: first by labels, then by
 * stacks from the root, so that neighbours are similar, which compresses better. Samples with the
 * same content in the file become one row: they differ only in labels that were not requested.
 *
 * Traces can have a million different samples, which must not be compared by their texts.
 * Everything that samples refer to is therefore ranked first: strings by their bytes, label sets by
 * the ranks of their strings, slices by time, stacks by the places of their frames. Different rows
 * of labels are compared by these ranks once; after that each sample is sorted by a single number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/pprof/pprof_writer.h"
#include "profile/profile.h"
#include "profile/sort.h"

/* --- labels of one sample --------------------------------------------------------------------- */

#define NR_LABEL_NUMBERS (sizeof(struct pprof_row_labels) / sizeof(uint32_t))

/* Returns the place of a sample's frame, counted from the leaf. */
static uint32_t place_of(const struct pprof_rows *rows, const struct sample *sample, size_t i)
{
	return rows->code->place_of_frame[profile_sample_frames(rows->profile, sample)[i]];
}

/* Returns the end that readers assume if there is no label. */
static uint8_t expected_end(size_t nr_frames, bool missed, uint8_t complete)
{
	if (nr_frames)
		return complete;
	return missed ? WALK_MISSED : WALK_NONE;
}

/*
 * True if a frame has the name of a missed stack, but none was missed: then the end must be
 * written.
 */
static bool looks_missed(const struct pprof_rows *rows, const struct sample *sample, size_t frame,
			 uint32_t missed)
{
	return frame < sample->nr_frames && place_of(rows, sample, frame) == missed;
}

static uint32_t end_to_write(uint8_t end, uint8_t expected)
{
	return end == expected || end >= NR_WALK_ENDS ? 0 : (uint32_t)end + 1;
}

/* Kernel frames are counted like in a reader: by their mappings. */
static void find_ends(const struct pprof_rows *rows, const struct sample *sample,
		      struct pprof_row_labels *row)
{
	const struct sample_labels *labels = &sample->labels;
	const struct format_options *options = rows->options;
	size_t nr_kernel = 0, nr_user;
	uint8_t user, kernel;

	while (nr_kernel < sample->nr_frames &&
	       pprof_code_is_kernel(rows->code, place_of(rows, sample, nr_kernel)))
		nr_kernel++;
	nr_user = sample->nr_frames - nr_kernel;
	row->missed_user = !nr_user && labels->user_end == WALK_MISSED && !options->no_user;
	row->missed_kernel = !nr_kernel && labels->kernel_end == WALK_MISSED && !options->no_kernel;
	user = expected_end(nr_user, row->missed_user, WALK_COMPLETE);
	kernel = expected_end(nr_kernel, row->missed_kernel, WALK_UNWOUND);
	if (nr_user == 1 && looks_missed(rows, sample, nr_kernel, rows->code->missed_user))
		user = NR_WALK_ENDS;
	if (!row->missed_kernel && looks_missed(rows, sample, 0, rows->code->missed_kernel))
		kernel = NR_WALK_ENDS;
	if (nr_user || !options->no_user)
		row->user_end = end_to_write(labels->user_end, user);
	if (nr_kernel || !options->no_kernel || kernel == NR_WALK_ENDS)
		row->kernel_end = end_to_write(labels->kernel_end, kernel);
}

/* Returns the number of the sample's row of labels, adding it if new; or -ENOMEM. */
static int64_t add_labels(struct pprof_rows *rows, const struct sample *sample)
{
	const struct sample_labels *labels = &sample->labels;
	unsigned wanted = rows->options->labels;
	struct pprof_row_labels row = {
		.comm = wanted & LABEL_COMM ? labels->comm : 0,
		.cgroup = wanted & LABEL_CGROUP ? labels->cgroup : 0,
		.probe = wanted & LABEL_PROBE ? labels->probe : 0,
		.pid = wanted & LABEL_PID ? labels->pid : 0,
		.tid = wanted & LABEL_TID ? labels->tid : 0,
		.cpu = wanted & LABEL_CPU ? labels->cpu : 0,
		.set = wanted & LABEL_SET ? labels->set : 0,
		.slice = wanted & LABEL_SLICE ? labels->slice : 0,
	};
	uint32_t numbers[NR_LABEL_NUMBERS];

	find_ends(rows, sample, &row);
	memcpy(numbers, &row, sizeof(row));
	return stack_table_add(&rows->label_rows, numbers, NR_LABEL_NUMBERS);
}

static struct pprof_row_labels get_labels(const struct pprof_rows *rows, uint32_t number)
{
	struct pprof_row_labels row;
	size_t nr;

	memcpy(&row, stack_table_get(&rows->label_rows, number, &nr), sizeof(row));
	return row;
}

/* --- the order of labels ---------------------------------------------------------------------- */

/*
 * A row's labels in order of precedence. Slices are first, so that readers see rows in order of
 * time.
 */
enum key {
	KEY_SLICE,
	KEY_COMM,
	KEY_CGROUP,
	KEY_PROBE,
	KEY_PID,
	KEY_TID,
	KEY_CPU,
	KEY_SET,
	KEY_ENDS,
	NR_KEYS,
};

struct label_order {
	const struct pprof_rows *rows;
	uint32_t *strings; /* ranks from 1 of the strings used in labels */
	uint32_t *sets;	   /* ranks */
	uint32_t *slices;
	size_t nr_sets; /* including the empty one */
	uint32_t (*keys)[NR_KEYS];
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

struct text {
	uint64_t start; /* the first bytes, which compare like a number */
	const char *rest;
	uint32_t string;
};

static struct text text_of(const struct profile *profile, uint32_t string)
{
	struct text text = {.rest = profile_string(profile, string), .string = string};
	size_t i;

	for (i = 0; i < sizeof(text.start); i++) {
		text.start = text.start << 8 | (unsigned char)*text.rest;
		text.rest += *text.rest != '\0';
	}
	return text;
}

static int compare_texts(const void *a, const void *b)
{
	const struct text *one = a, *other = b;

	return one->start == other->start ? strcmp(one->rest, other->rest)
					  : compare_numbers(one->start, other->start);
}

/* Sets order->strings to 1 for strings used in a row or a set. */
static void mark_strings(struct label_order *order)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr, k;
	uint32_t i;

	for (i = 0; i < order->rows->label_rows.nr; i++) {
		struct pprof_row_labels row = get_labels(order->rows, i);

		order->strings[row.comm] = 1;
		order->strings[row.cgroup] = 1;
		order->strings[row.probe] = 1;
		if (row.set >= order->nr_sets)
			order->nr_sets = (size_t)row.set + 1;
	}
	for (i = 0; i < order->nr_sets; i++) {
		nr = profile_label_set(order->rows->profile, i, labels);
		for (k = 0; k < nr; k++) {
			order->strings[labels[k].key] = 1;
			order->strings[labels[k].text] = 1;
			order->strings[labels[k].unit] = 1;
		}
	}
}

static int rank_strings(struct label_order *order)
{
	const struct profile *profile = order->rows->profile;
	uint32_t nr_strings = profile_nr_strings(profile), i;
	cleanup_free struct text *texts = NULL;
	size_t nr = 0;

	order->strings = calloc((size_t)nr_strings + 1, sizeof(*order->strings));
	if (!order->strings)
		return -ENOMEM;
	mark_strings(order);
	for (i = 0; i < nr_strings; i++)
		nr += order->strings[i];
	texts = calloc(nr + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (i = 0, nr = 0; i < nr_strings; i++)
		if (order->strings[i])
			texts[nr++] = text_of(profile, i);
	qsort(texts, nr, sizeof(*texts), compare_texts);
	for (i = 0; i < nr; i++)
		order->strings[texts[i].string] = i + 1;
	return 0;
}

static int compare_set_labels(const struct label_order *order, const struct set_label *a,
			      const struct set_label *b)
{
	int by_key = compare_numbers(order->strings[a->key], order->strings[b->key]);
	int by_text = compare_numbers(order->strings[a->text], order->strings[b->text]);

	if (by_key || by_text)
		return by_key ? by_key : by_text;
	if (a->number != b->number)
		return a->number > b->number ? 1 : -1;
	return compare_numbers(order->strings[a->unit], order->strings[b->unit]);
}

static int compare_sets(const void *a, const void *b, void *context)
{
	struct set_label labels_a[LABEL_SET_MAX], labels_b[LABEL_SET_MAX];
	const struct label_order *order = context;
	const struct profile *profile = order->rows->profile;
	size_t nr_a = profile_label_set(profile, *(const uint32_t *)a, labels_a);
	size_t nr_b = profile_label_set(profile, *(const uint32_t *)b, labels_b);
	size_t i;
	int result = 0;

	for (i = 0; !result && i < nr_a && i < nr_b; i++)
		result = compare_set_labels(order, &labels_a[i], &labels_b[i]);
	return result ? result : compare_numbers(nr_a, nr_b);
}

/* Number 0 means no slice. */
static int compare_slices(const void *a, const void *b, void *context)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	const struct label_order *order = context;
	struct time_slice slice_a, slice_b;

	if (!one || !other)
		return compare_numbers(one, other);
	slice_a = profile_slice(order->rows->profile, one);
	slice_b = profile_slice(order->rows->profile, other);
	return slice_a.start_ns == slice_b.start_ns
		       ? compare_numbers(slice_a.end_ns, slice_b.end_ns)
		       : compare_numbers(slice_a.start_ns, slice_b.start_ns);
}

static uint32_t key_of_number(int32_t number)
{
	return (uint32_t)number ^ 1U << 31;
}

static void make_key(const struct label_order *order, uint32_t number)
{
	struct pprof_row_labels row = get_labels(order->rows, number);
	uint32_t *key = order->keys[number];

	key[KEY_SLICE] = order->slices[row.slice];
	key[KEY_COMM] = order->strings[row.comm];
	key[KEY_CGROUP] = order->strings[row.cgroup];
	key[KEY_PROBE] = order->strings[row.probe];
	key[KEY_PID] = key_of_number(row.pid);
	key[KEY_TID] = key_of_number(row.tid);
	key[KEY_CPU] = key_of_number(row.cpu);
	key[KEY_SET] = order->sets[row.set];
	key[KEY_ENDS] = row.user_end << 24 | row.kernel_end << 16 | row.missed_user << 1 |
			row.missed_kernel;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct label_order *order = context;
	const uint32_t *one = order->keys[*(const uint32_t *)a];
	const uint32_t *other = order->keys[*(const uint32_t *)b];
	size_t i;

	for (i = 0; i < NR_KEYS; i++)
		if (one[i] != other[i])
			return one[i] > other[i] ? 1 : -1;
	return 0;
}

static void label_order_clear(struct label_order *order)
{
	free(order->strings);
	free(order->sets);
	free(order->slices);
	free(order->keys);
}

/* Returns the rank of each row of labels; NULL when out of memory. */
static uint32_t *rank_labels(const struct pprof_rows *rows)
{
	cleanup(label_order_clear) struct label_order order = {.rows = rows, .nr_sets = 1};
	size_t nr = rows->label_rows.nr;
	uint32_t i;

	if (rank_strings(&order) < 0)
		return NULL;
	order.sets = sort_ranks(order.nr_sets, compare_sets, &order);
	order.slices = sort_ranks(profile_nr_slices(rows->profile) + 1, compare_slices, &order);
	order.keys = calloc(nr + 1, sizeof(*order.keys));
	if (!order.sets || !order.slices || !order.keys)
		return NULL;
	for (i = 0; i < nr; i++)
		make_key(&order, i);
	return sort_ranks(nr, compare_rows, &order);
}

/* --- the order of stacks ---------------------------------------------------------------------- */

struct stack {
	const uint32_t *frames; /* leaf first; NULL: not used by a sample with a value */
	uint32_t nr_frames;
};

struct stacks {
	struct stack *stacks; /* indexed by number */
	const uint32_t *place_of_frame;
};

/* Returns the place + 1 at a depth from the root; 0 past the leaf. */
static uint32_t place_at(const void *context, uint32_t number, size_t depth)
{
	const struct stacks *stacks = context;
	const struct stack *stack = &stacks->stacks[number];

	if (depth >= stack->nr_frames)
		return 0;
	return stacks->place_of_frame[stack->frames[stack->nr_frames - 1 - depth]] + 1;
}

/*
 * Returns the rank of each stack, equal for stacks with the same places; NULL when out of memory.
 */
static uint32_t *rank_stacks(const struct pprof_rows *rows)
{
	const struct profile *profile = rows->profile;
	cleanup_free struct stack *stacks = NULL;
	cleanup_free struct sort_item *items = calloc(rows->nr + 1, sizeof(*items));
	size_t nr_numbers = 0, nr = 0, i;
	uint32_t *ranks, rank = 0;

	for (i = 0; i < rows->nr; i++) {
		uint32_t stack = profile_sample(profile, rows->samples[i].sample)->stack;

		if (stack >= nr_numbers)
			nr_numbers = (size_t)stack + 1;
	}
	stacks = calloc(nr_numbers + 1, sizeof(*stacks));
	ranks = calloc(nr_numbers + 1, sizeof(*ranks));
	if (!stacks || !items || !ranks) {
		free(ranks);
		return NULL;
	}
	for (i = 0; i < rows->nr; i++) {
		const struct sample *sample = profile_sample(profile, rows->samples[i].sample);
		struct stack *stack = &stacks[sample->stack];

		if (stack->frames)
			continue;
		stack->frames = profile_sample_frames(profile, sample);
		stack->nr_frames = sample->nr_frames;
		items[nr++].number = sample->stack;
	}
	sort_sequences(items, nr, place_at, &(struct stacks){stacks, rows->code->place_of_frame});
	for (i = 0; i < nr; i++) {
		rank += i && !items[i].is_same;
		ranks[items[i].number] = rank;
	}
	return ranks;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int collect(struct pprof_rows *rows)
{
	size_t nr = profile_nr_samples(rows->profile);
	uint32_t i;

	rows->samples = calloc(nr + 1, sizeof(*rows->samples));
	if (!rows->samples)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		int64_t label_row;

		if (!profile_has_value(rows->profile, i))
			continue;
		label_row = add_labels(rows, profile_sample(rows->profile, i));
		if (label_row < 0)
			return -ENOMEM;
		rows->samples[rows->nr++] =
			(struct pprof_row_sample){.sample = i, .label_row = (uint32_t)label_row};
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	return compare_numbers(((const struct pprof_row_sample *)a)->key,
			       ((const struct pprof_row_sample *)b)->key);
}

static int sort(struct pprof_rows *rows)
{
	cleanup_free uint32_t *label_ranks = rank_labels(rows);
	cleanup_free uint32_t *stack_ranks = rank_stacks(rows);
	size_t i;

	if (!label_ranks || !stack_ranks)
		return -ENOMEM;
	for (i = 0; i < rows->nr; i++) {
		struct pprof_row_sample *row = &rows->samples[i];
		uint32_t stack = profile_sample(rows->profile, row->sample)->stack;

		row->key = (uint64_t)label_ranks[row->label_row] << 32 | stack_ranks[stack];
	}
	qsort(rows->samples, rows->nr, sizeof(*rows->samples), compare_keys);
	return 0;
}

int pprof_rows_init(struct pprof_rows *rows, const struct profile *profile,
		    const struct format_options *options, const struct pprof_values *values,
		    struct pprof_code *code)
{
	uint32_t id = 0, i;

	*rows = (struct pprof_rows){
		.profile = profile, .options = options, .values = values, .code = code};
	if (collect(rows) < 0 || sort(rows) < 0)
		return -ENOMEM;
	for (i = 0; i < rows->label_rows.nr; i++) {
		struct pprof_row_labels labels = get_labels(rows, i);

		code->places[code->missed_user].is_used |= labels.missed_user;
		code->places[code->missed_kernel].is_used |= labels.missed_kernel;
	}
	for (i = 0; i < code->nr_places; i++)
		if (code->places[i].is_used)
			code->places[i].id = ++id;
	return 0;
}

void pprof_rows_clear(struct pprof_rows *rows)
{
	stack_table_clear(&rows->label_rows);
	free(rows->samples);
	*rows = (struct pprof_rows){0};
}

bool pprof_rows_next(const struct pprof_rows *rows, size_t *position, struct pprof_row *ret)
{
	const struct pprof_row_sample *first = &rows->samples[*position], *row;
	const struct sample *sample;
	size_t i;

	if (*position == rows->nr)
		return false;
	sample = profile_sample(rows->profile, first->sample);
	*ret = (struct pprof_row){
		.labels = get_labels(rows, first->label_row),
		.sample = sample,
		.frames = profile_sample_frames(rows->profile, sample),
	};
	for (; *position < rows->nr; ++*position) {
		row = &rows->samples[*position];
		if (row->key != first->key)
			break;
		for (i = 0; i < rows->values->nr; i++) {
			const struct profile_value *value = &rows->values->values[i];

			ret->values[i] += profile_value(rows->profile, row->sample, value->number) *
					  value->factor;
		}
	}
	return true;
}

size_t pprof_row_places(const struct pprof_row *row)
{
	return (size_t)row->sample->nr_frames + row->labels.missed_user + row->labels.missed_kernel;
}

uint32_t pprof_row_place(const struct pprof_code *code, const struct pprof_row *row, size_t i)
{
	if (row->labels.missed_kernel && !i)
		return code->missed_kernel;
	i -= row->labels.missed_kernel;
	return i < row->sample->nr_frames ? code->place_of_frame[row->frames[i]]
					  : code->missed_user;
}
