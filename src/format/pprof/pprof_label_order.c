/*
 * Everything that label rows refer to is ranked first: strings by their bytes, sets by the ranks of
 * their strings, slices by their times. Then rows are rows of numbers to be compared. So sorting a
 * million of different rows, as traces make them, looks at no text twenty million times.
 */
#include "format/pprof/pprof_row_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"

/* Numbers of a row in the order of their weight. Slices first: who reads the file sees time go on. */
enum key {
	KEY_SLICE,
	KEY_COMM,
	KEY_CGROUP,
	KEY_PID,
	KEY_TID,
	KEY_CPU,
	KEY_SET,
	KEY_ENDS,
	NR_KEYS,
};

struct order {
	const struct profile *profile;
	const struct pprof_label_rows *rows;
	uint32_t *strings; /* ranks, from 1, of those that labels have */
	uint32_t *sets;	   /* ranks */
	uint32_t *slices;
	size_t nr_sets; /* the empty one included */
	uint32_t (*keys)[NR_KEYS];
};

/* --- ranks ------------------------------------------------------------------------------------ */

/* Where each of the numbers up to nr comes when they are sorted; NULL when out of memory. */
static uint32_t *rank(size_t nr, int (*compare)(const void *a, const void *b, void *order),
		      struct order *order)
{
	cleanup_free uint32_t *sorted = calloc(nr + 1, sizeof(*sorted));
	uint32_t *ranks = calloc(nr + 1, sizeof(*ranks));
	size_t i;

	if (!sorted || !ranks) {
		free(ranks);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, nr, sizeof(*sorted), compare, order);
	for (i = 0; i < nr; i++)
		ranks[sorted[i]] = (uint32_t)i;
	return ranks;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* --- strings ---------------------------------------------------------------------------------- */

struct text {
	uint64_t start; /* its first bytes: they compare as a number does */
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

/* Notes which strings the labels of rows and sets have: 1 each. */
static void mark_strings(struct order *order)
{
	struct set_label labels[LABEL_SET_MAX];
	size_t nr, k;
	uint32_t i;

	for (i = 0; i < order->rows->table.nr; i++) {
		struct pprof_row_labels row = pprof_label_rows_get(order->rows, i);

		order->strings[row.labels.comm] = 1;
		order->strings[row.labels.cgroup] = 1;
		if (row.labels.set >= order->nr_sets)
			order->nr_sets = (size_t)row.labels.set + 1;
	}
	for (i = 0; i < order->nr_sets; i++) {
		nr = profile_label_set(order->profile, i, labels);
		for (k = 0; k < nr; k++) {
			order->strings[labels[k].key] = 1;
			order->strings[labels[k].text] = 1;
			order->strings[labels[k].unit] = 1;
		}
	}
}

static int rank_strings(struct order *order)
{
	uint32_t nr_strings = profile_nr_strings(order->profile), i;
	cleanup_free struct text *texts = NULL;
	size_t nr = 0;

	order->strings = calloc((size_t)nr_strings + 1, sizeof(*order->strings));
	if (!order->strings)
		return -1;
	mark_strings(order);
	for (i = 0; i < nr_strings; i++)
		nr += order->strings[i];
	texts = calloc(nr + 1, sizeof(*texts));
	if (!texts)
		return -1;
	for (i = 0, nr = 0; i < nr_strings; i++)
		if (order->strings[i])
			texts[nr++] = text_of(order->profile, i);
	qsort(texts, nr, sizeof(*texts), compare_texts);
	for (i = 0; i < nr; i++)
		order->strings[texts[i].string] = i + 1;
	return 0;
}

/* --- sets, slices, rows ----------------------------------------------------------------------- */

static int compare_set_labels(const struct order *order, const struct set_label *a,
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
	const struct order *order = context;
	size_t nr_a = profile_label_set(order->profile, *(const uint32_t *)a, labels_a);
	size_t nr_b = profile_label_set(order->profile, *(const uint32_t *)b, labels_b);
	size_t i;
	int result = 0;

	for (i = 0; !result && i < nr_a && i < nr_b; i++)
		result = compare_set_labels(order, &labels_a[i], &labels_b[i]);
	return result ? result : compare_numbers(nr_a, nr_b);
}

/* Number 0 is no slice. */
static int compare_slices(const void *a, const void *b, void *context)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	const struct order *order = context;
	struct time_slice slice_a, slice_b;

	if (!one || !other)
		return compare_numbers(one, other);
	slice_a = profile_slice(order->profile, one);
	slice_b = profile_slice(order->profile, other);
	return slice_a.start_ns == slice_b.start_ns
		       ? compare_numbers(slice_a.end_ns, slice_b.end_ns)
		       : compare_numbers(slice_a.start_ns, slice_b.start_ns);
}

static uint32_t key_of_number(int32_t number)
{
	return (uint32_t)number ^ 1U << 31;
}

static void make_key(const struct order *order, uint32_t number)
{
	struct pprof_row_labels row = pprof_label_rows_get(order->rows, number);
	const struct sample_labels *labels = &row.labels;
	uint32_t *key = order->keys[number];

	key[KEY_SLICE] = order->slices[labels->slice];
	key[KEY_COMM] = order->strings[labels->comm];
	key[KEY_CGROUP] = order->strings[labels->cgroup];
	key[KEY_PID] = key_of_number(labels->pid);
	key[KEY_TID] = key_of_number(labels->tid);
	key[KEY_CPU] = key_of_number(labels->cpu);
	key[KEY_SET] = order->sets[labels->set];
	key[KEY_ENDS] = pprof_label_rows_ends(order->rows, number);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const uint32_t *one = order->keys[*(const uint32_t *)a];
	const uint32_t *other = order->keys[*(const uint32_t *)b];
	size_t i;

	for (i = 0; i < NR_KEYS; i++)
		if (one[i] != other[i])
			return one[i] > other[i] ? 1 : -1;
	return 0;
}

static uint32_t *rank_rows(struct order *order)
{
	size_t nr = order->rows->table.nr;
	uint32_t i;

	if (rank_strings(order) < 0)
		return NULL;
	order->sets = rank(order->nr_sets, compare_sets, order);
	order->slices = rank(profile_nr_slices(order->profile) + 1, compare_slices, order);
	order->keys = calloc(nr + 1, sizeof(*order->keys));
	if (!order->sets || !order->slices || !order->keys)
		return NULL;
	for (i = 0; i < nr; i++)
		make_key(order, i);
	return rank(nr, compare_rows, order);
}

uint32_t *pprof_label_rows_order(const struct pprof_label_rows *rows)
{
	struct order order = {.profile = rows->profile, .rows = rows, .nr_sets = 1};
	uint32_t *ranks = rank_rows(&order);

	free(order.strings);
	free(order.sets);
	free(order.slices);
	free(order.keys);
	return ranks;
}
