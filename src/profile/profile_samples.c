/*
 * Samples with their counts and labels, and the limit on their memory.
 *
 * Stacks are interned, so finding a sample compares labels and one number. A label set is a row of
 * numbers, NUMBERS_EACH per label, interned in a stack table, which takes any rows of numbers.
 */
#include "profile/profile_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define OTHER_STACKS_NAME "[other stacks]"

static uint64_t hash_of_sample(const struct sample *sample)
{
	const struct sample_labels *labels = &sample->labels;
	uint64_t hash = hash_u64((uint64_t)labels->comm << 32 | sample->stack);

	hash = hash_add(hash, (uint64_t)labels->cgroup << 32 | labels->slice);
	hash = hash_add(hash, (uint64_t)(uint32_t)labels->pid << 32 | (uint32_t)labels->tid);
	hash = hash_add(hash, (uint64_t)labels->set << 32 | (uint32_t)labels->cpu);
	return hash_add(hash, (uint64_t)labels->probe << 32 | (uint64_t)labels->user_end << 8 |
				      labels->kernel_end);
}

static bool same_sample(const struct sample *a, const struct sample *b)
{
	return a->stack == b->stack && a->nr_kernel_frames == b->nr_kernel_frames &&
	       a->labels.comm == b->labels.comm && a->labels.cgroup == b->labels.cgroup &&
	       a->labels.probe == b->labels.probe && a->labels.pid == b->labels.pid &&
	       a->labels.tid == b->labels.tid && a->labels.cpu == b->labels.cpu &&
	       a->labels.set == b->labels.set && a->labels.slice == b->labels.slice &&
	       a->labels.user_end == b->labels.user_end &&
	       a->labels.kernel_end == b->labels.kernel_end &&
	       a->labels.gave_up == b->labels.gave_up;
}

static int64_t find_sample(const struct profile *profile, const struct sample *sample,
			   uint64_t hash)
{
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->sample_index, hash, &probe, &number))
		if (same_sample(&profile->samples[number], sample))
			return number;
	return -ENOENT;
}

void profile_keep_order(struct profile *profile)
{
	profile->keeps_order = true;
}

/* Like find_sample(), but looks at the last one only. */
static int64_t find_last(const struct profile *profile, const struct sample *sample)
{
	const size_t nr = profile->nr_samples;

	return nr && same_sample(&profile->samples[nr - 1], sample) ? (int64_t)nr - 1 : -ENOENT;
}

static int64_t intern_sample(struct profile *profile, const struct sample *sample)
{
	uint64_t hash = hash_of_sample(sample);
	int64_t known = profile->keeps_order ? find_last(profile, sample)
					     : find_sample(profile, sample, hash);
	uint32_t number;

	if (known >= 0)
		return known;
	if (profile->nr_samples >= UINT32_MAX - 1 ||
	    array_reserve(&profile->samples, &profile->cap_samples, profile->nr_samples + 1,
			  sizeof(*profile->samples)) < 0 ||
	    number_index_reserve(&profile->sample_index) < 0)
		return -ENOMEM;
	number = (uint32_t)profile->nr_samples++;
	profile->samples[number] = *sample;
	number_index_add(&profile->sample_index, hash, number);
	return number;
}

/* The bytes that the limit applies to: bytes in use, since allocated memory grows by doubling. */
static size_t limited_bytes(const struct profile *profile)
{
	return stack_table_used_bytes(&profile->stacks) +
	       profile->nr_samples * (sizeof(*profile->samples) + NUMBER_INDEX_BYTES_EACH) +
	       profile->nr_frames * (sizeof(*profile->frames) + NUMBER_INDEX_BYTES_EACH);
}

bool profile_is_at_limit(const struct profile *profile)
{
	return profile->limit_bytes && limited_bytes(profile) >= profile->limit_bytes;
}

/* Returns the number of the stack "[other stacks]", which is added if needed; or -ENOMEM. */
static int64_t other_stack(struct profile *profile)
{
	int64_t frame;
	uint32_t number;

	if (profile->other_stack >= 0)
		return profile->other_stack;
	frame = profile_add_frame(profile, FRAME_USER, MODULE_NR_UNKNOWN, OTHER_STACKS_ADDRESS);
	if (frame < 0 || profile_set_function(profile, (uint32_t)frame, OTHER_STACKS_NAME) < 0)
		return -ENOMEM;
	number = (uint32_t)frame;
	profile->other_stack = stack_table_add(&profile->stacks, &number, 1);
	return profile->other_stack;
}

static int64_t intern_other(struct profile *profile, const struct sample_labels *labels)
{
	struct sample sample = {.nr_frames = 1};
	int64_t stack = other_stack(profile);

	if (stack < 0)
		return stack;
	sample.stack = (uint32_t)stack;
	if (limited_bytes(profile) / 2 < profile->limit_bytes)
		sample.labels = *labels;
	sample.labels.user_end = WALK_UNWOUND;
	sample.labels.kernel_end = WALK_NONE;
	return intern_sample(profile, &sample);
}

/* At the limit: known samples are counted as before, new ones under "[other stacks]". */
static int64_t intern_known(struct profile *profile, struct sample *sample, const uint32_t *frames)
{
	int64_t stack = stack_table_find(&profile->stacks, frames, sample->nr_frames);
	int64_t known;

	if (stack < 0)
		return intern_other(profile, &sample->labels);
	sample->stack = (uint32_t)stack;
	known = find_sample(profile, sample, hash_of_sample(sample));
	return known >= 0 ? known : intern_other(profile, &sample->labels);
}

static bool is_known(const struct profile *profile, struct sample *sample, const uint32_t *frames)
{
	int64_t stack = stack_table_find(&profile->stacks, frames, sample->nr_frames);

	sample->stack = (uint32_t)stack;
	return stack >= 0 && find_sample(profile, sample, hash_of_sample(sample)) >= 0;
}

/* Past half of the limit, drops the spare labels of a sample that is not known yet. */
static void give_up_labels(const struct profile *profile, struct sample *sample,
			   const uint32_t *frames)
{
	struct sample_labels *labels = &sample->labels;

	if (!profile->spare_labels || !profile->limit_bytes ||
	    limited_bytes(profile) < profile->limit_bytes / 2 || is_known(profile, sample, frames))
		return;
	if (profile->spare_labels & LABEL_PID)
		labels->pid = 0;
	if (profile->spare_labels & LABEL_TID)
		labels->tid = 0;
	labels->gave_up = true;
}

int64_t profile_add_sample(struct profile *profile, const struct sample_labels *labels,
			   const uint32_t *frames, size_t nr_frames, size_t nr_kernel_frames,
			   uint64_t count)
{
	struct sample sample = {
		.labels = *labels,
		.nr_frames = (uint16_t)nr_frames,
		.nr_kernel_frames = (uint16_t)nr_kernel_frames,
	};
	int64_t number;

	if (nr_frames > UINT16_MAX || nr_kernel_frames > nr_frames)
		return -EINVAL;
	give_up_labels(profile, &sample, frames);
	if (profile_is_at_limit(profile)) {
		number = intern_known(profile, &sample, frames);
	} else {
		number = stack_table_add(&profile->stacks, frames, nr_frames);
		if (number < 0)
			return number;
		sample.stack = (uint32_t)number;
		number = intern_sample(profile, &sample);
	}
	if (number >= 0)
		profile_add_count(profile, (uint32_t)number, count);
	return number;
}

void profile_add_count(struct profile *profile, uint32_t sample, uint64_t count)
{
	profile->samples[sample].count += count;
	profile->total += count;
	if (profile->samples[sample].stack == profile->other_stack)
		profile->other_count += count;
	if (profile->samples[sample].labels.gave_up)
		profile->unlabelled_count += count;
}

void profile_set_limit(struct profile *profile, size_t bytes)
{
	profile->limit_bytes = bytes;
}

void profile_set_spare_labels(struct profile *profile, unsigned labels)
{
	profile->spare_labels = labels;
}

uint64_t profile_unlabelled_count(const struct profile *profile)
{
	return profile->unlabelled_count;
}

size_t profile_nr_samples(const struct profile *profile)
{
	return profile->nr_samples;
}

const struct sample *profile_sample(const struct profile *profile, uint32_t sample)
{
	return &profile->samples[sample];
}

const uint32_t *profile_sample_frames(const struct profile *profile, const struct sample *sample)
{
	size_t nr;

	return stack_table_get(&profile->stacks, sample->stack, &nr);
}

uint64_t profile_total(const struct profile *profile)
{
	return profile->total;
}

uint64_t profile_other_count(const struct profile *profile)
{
	return profile->other_count;
}

/* --- the whole ------------------------------------------------------------------------------- */

void profile_drop_sample(struct profile *profile, uint32_t sample)
{
	uint64_t count = profile->samples[sample].count;
	size_t i;

	profile->samples[sample].count = 0;
	profile->total -= count;
	if (profile->samples[sample].stack == profile->other_stack)
		profile->other_count -= count;
	if (profile->samples[sample].labels.gave_up)
		profile->unlabelled_count -= count;
	for (i = 0; i < profile->nr_columns; i++) {
		struct value_column *column = &profile->columns[i];

		if (sample >= column->nr)
			continue;
		column->total -= column->amounts[sample];
		column->amounts[sample] = 0;
	}
}

int profile_relabel_sample(struct profile *profile, uint32_t sample,
			   const struct sample_labels *labels)
{
	const struct sample from = profile->samples[sample];
	int64_t to = profile_add_sample(profile, labels, profile_sample_frames(profile, &from),
					from.nr_frames, from.nr_kernel_frames, 0);
	size_t i;

	if (to < 0 || to == sample)
		return to < 0 ? (int)to : 0;
	for (i = 0; i < profile_nr_values(profile); i++)
		if (profile_add_value(profile, (uint32_t)to, i, profile_value(profile, sample, i)) <
		    0)
			return -ENOMEM;
	profile_drop_sample(profile, sample);
	return 0;
}

void profile_reset_samples(struct profile *profile)
{
	size_t i;

	for (i = 1; i <= profile->nr_columns; i++)
		profile_clear_value(profile, i);
	stack_table_reset(&profile->stacks);
	number_index_reset(&profile->sample_index);
	number_index_reset(&profile->slice_index);
	profile->nr_slices = 0;
	stack_table_reset(&profile->label_sets);
	profile->nr_samples = 0;
	profile->total = 0;
	profile->other_stack = -1;
	profile->other_count = 0;
	profile->unlabelled_count = 0;
}

/* --- label sets ------------------------------------------------------------------------------ */

#define NUMBERS_EACH 5

int64_t profile_add_label_set(struct profile *profile, const struct set_label *labels, size_t nr)
{
	uint32_t numbers[LABEL_SET_MAX * NUMBERS_EACH];
	int64_t row;
	size_t i;

	if (!nr)
		return 0;
	if (nr > LABEL_SET_MAX)
		return -E2BIG;
	for (i = 0; i < nr; i++) {
		uint32_t *at = numbers + i * NUMBERS_EACH;

		at[0] = labels[i].key;
		at[1] = labels[i].text;
		at[2] = labels[i].unit;
		at[3] = (uint32_t)((uint64_t)labels[i].number >> 32);
		at[4] = (uint32_t)labels[i].number;
	}
	row = stack_table_add(&profile->label_sets, numbers, nr * NUMBERS_EACH);
	return row < 0 ? row : row + 1;
}

size_t profile_label_set(const struct profile *profile, uint32_t set,
			 struct set_label ret[LABEL_SET_MAX])
{
	const uint32_t *numbers;
	size_t nr, i;

	if (!set)
		return 0;
	numbers = stack_table_get(&profile->label_sets, set - 1, &nr);
	for (i = 0; i < nr / NUMBERS_EACH; i++, numbers += NUMBERS_EACH)
		ret[i] = (struct set_label){
			.key = numbers[0],
			.text = numbers[1],
			.unit = numbers[2],
			.number = (int64_t)((uint64_t)numbers[3] << 32 | numbers[4]),
		};
	return nr / NUMBERS_EACH;
}

const char *profile_label_text(const struct profile *profile, const struct sample_labels *labels,
			       const struct set_label *others, size_t nr, const char *key,
			       char number[LABEL_NUMBER_BYTES])
{
	const struct {
		const char *key;
		uint32_t string;
		int64_t number;
	} fixed[] = {
		{"comm", labels->comm, 0},   {"cgroup", labels->cgroup, 0},
		{"probe", labels->probe, 0}, {"state", labels->probe, 0},
		{"pid", 0, labels->pid},     {"tid", 0, labels->tid},
		{"cpu", 0, labels->cpu},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (strcmp(fixed[i].key, key) != 0)
			continue;
		if (fixed[i].string)
			return profile_string(profile, fixed[i].string);
		(void)snprintf(number, LABEL_NUMBER_BYTES, "%" PRId64, fixed[i].number);
		return fixed[i].number ? number : NULL;
	}
	for (i = 0; i < nr; i++) {
		if (strcmp(profile_string(profile, others[i].key), key) != 0)
			continue;
		if (others[i].text)
			return profile_string(profile, others[i].text);
		(void)snprintf(number, LABEL_NUMBER_BYTES, "%" PRId64, others[i].number);
		return number;
	}
	return NULL;
}

/* --- slices of time -------------------------------------------------------------------------- */

static uint64_t hash_slice(const struct time_slice *slice)
{
	return hash_add(hash_u64(slice->start_ns), slice->end_ns);
}

int64_t profile_add_slice(struct profile *profile, const struct time_slice *slice)
{
	uint64_t hash = hash_slice(slice);
	size_t probe = 0;
	uint32_t number;

	while (number_index_next(&profile->slice_index, hash, &probe, &number))
		if (profile->slices[number].start_ns == slice->start_ns &&
		    profile->slices[number].end_ns == slice->end_ns)
			return (int64_t)number + 1;
	if (profile->nr_slices == PROFILE_MAX_SLICES)
		return -E2BIG;
	if (array_reserve(&profile->slices, &profile->cap_slices, profile->nr_slices + 1,
			  sizeof(*slice)) < 0 ||
	    number_index_reserve(&profile->slice_index) < 0)
		return -ENOMEM;
	number_index_add(&profile->slice_index, hash, (uint32_t)profile->nr_slices);
	profile->slices[profile->nr_slices++] = *slice;
	return (int64_t)profile->nr_slices;
}

/* Slices keep their numbers; the index is rebuilt for their new ends. */
void profile_end_slices(struct profile *profile, uint64_t end_ns)
{
	size_t i;

	number_index_reset(&profile->slice_index);
	for (i = 0; i < profile->nr_slices; i++) {
		struct time_slice *slice = &profile->slices[i];

		if (slice->start_ns < end_ns && slice->end_ns > end_ns)
			slice->end_ns = end_ns;
		number_index_add(&profile->slice_index, hash_slice(slice), (uint32_t)i);
	}
}

size_t profile_nr_slices(const struct profile *profile)
{
	return profile->nr_slices;
}

struct time_slice profile_slice(const struct profile *profile, uint32_t number)
{
	return profile->slices[number - 1];
}
