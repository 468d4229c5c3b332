/*
 * Evaluates the plan's steps (tally_steps.h) and adds hits to rows, the sums of all hits with the
 * same key. This file owns the maps of rows, one per epoch slot (tally_wire.h).
 *
 * The first hit of a key inserts an empty row and then adds to it like every other hit, so that
 * nothing is lost when two CPUs insert at the same time. Adds are atomic: programs of probes can be
 * preempted.
 */
#include "tally.bpf.h"

#define E2BIG 7

/* Sizes come from the plan and are set before loading; clang 14 loses the types of inner maps. */
struct rows {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u64));
	__uint(value_size, sizeof(__u64));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WIRE_EPOCH_SLOTS);
	__uint(key_size, sizeof(__u32));
	__array(values, struct rows);
} rows_by_slot SEC(".maps");

/* An empty row, to insert. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64));
} empty_row SEC(".maps");

static void make_key(struct tally_hit *hit)
{
	__u64 unknown = 0;
	__u32 i;

	for (i = 0; i < TALLY_MAX_KEY; i++) {
		__u32 word = plan.key[i] % TALLY_MAX_WORDS;
		bool is_gone;

		if (i >= plan.nr_key)
			break;
		if (word < TALLY_MAX_NUMBERS)
			is_gone = tally_is_unknown(&hit->values, word);
		else
			is_gone = hit->values.unknown_texts >>
					  ((word - TALLY_MAX_NUMBERS) / TALLY_TEXT_WORDS) &
				  1;
		hit->key[i + 1] = is_gone ? 0 : hit->values.words[word];
		if (is_gone)
			unknown |= 1ULL << i;
	}
	hit->key[0] = unknown;
}

/* The row of the hit's key, created if needed. NULL if that fails; *ret_loss is the reason. */
static struct tally_row *find_row(struct tally_hit *hit, __u32 slot, enum tally_loss *ret_loss)
{
	void *rows = bpf_map_lookup_elem(&rows_by_slot, &slot);
	struct tally_row *row;
	__u32 zero = 0;
	void *empty;
	int err; /* older kernels set only the low 32 bits of the result */

	*ret_loss = TALLY_LOST_BUSY;
	if (!rows)
		return NULL;
	row = bpf_map_lookup_elem(rows, hit->key);
	if (row)
		return row;
	empty = bpf_map_lookup_elem(&empty_row, &zero);
	if (!empty)
		return NULL;
	err = bpf_map_update_elem(rows, hit->key, empty, BPF_NOEXIST);
	if (err == -E2BIG)
		*ret_loss = TALLY_LOST_FULL;
	return bpf_map_lookup_elem(rows, hit->key);
}

static __u32 nr_bits(__u64 number)
{
	__u32 nr = 0, half;

	for (half = 32; half; half /= 2) {
		if (number >> half) {
			number >>= half;
			nr += half;
		}
	}
	return nr + (number != 0);
}

static __u32 bucket_of(__s64 value)
{
	__u64 steps;

	if (plan.histogram == TALLY_LOG2)
		return value < 0 ? 0 : 1 + nr_bits((__u64)value / plan.divisor);
	if (value < plan.from)
		return 0;
	steps = ((__u64)value - plan.from) / plan.step;
	return steps < plan.nr_buckets - 2 ? 1 + steps : plan.nr_buckets - 1;
}

static void add_value(struct tally_row *row, __s64 value)
{
	__u32 bucket;

	ATOMIC_ADD(row->sum, value);
	tally_raise(&row->most, value);
	tally_lower(&row->least, value);
	if (!plan.nr_buckets)
		return;
	bucket = bucket_of(value);
	if (bucket < plan.nr_buckets)
		ATOMIC_ADD(row->buckets[bucket], 1);
}

__hidden int tally_add(struct tally_hit *hit, struct tally_counters *counters, __u32 slot)
{
	enum tally_loss loss;
	struct tally_row *row;

	make_key(hit);
	row = find_row(hit, slot, &loss);
	if (!row) {
		if (loss == TALLY_LOST_FULL)
			ATOMIC_ADD(counters->lost[TALLY_LOST_FULL], 1);
		else
			ATOMIC_ADD(counters->lost[TALLY_LOST_BUSY], 1);
		return 0;
	}
	ATOMIC_ADD(row->count, 1);
	if (plan.value != TALLY_NO_WORD)
		add_value(row, hit->values.words[plan.value % TALLY_MAX_NUMBERS]);
	ATOMIC_ADD(counters->tallied, 1);
	return 0;
}

__hidden int tally_evaluate(struct tally_hit *hit)
{
	tally_run_steps(&hit->values, &plan);
	return 0;
}
