/*
 * Where a stack that leads to a probe begins: stackcount. What follows is as for samples: the same
 * unwinder, the same records and counts, the same epochs.
 *
 * The programs of probes run in their task, so the user's registers are those of the context (a
 * uprobe), or what the kernel's entry code has saved.
 */
#include "unwind.bpf.h"

#include "fetch.bpf.h"
#include "probe_hit.bpf.h"

/*
 * How many kernel frames are ours before the traced function's own: the program and its trampoline,
 * which have no fixed number of frames. The function is told by its address.
 */
#define MAX_OWN_FRAMES	8
#define MAX_ENTRY_BYTES 16 /* from a function's address to behind its call of the trampoline */

static __always_inline __u32 nr_own_frames(void *ctx)
{
	__u64 frames[MAX_OWN_FRAMES] = {};
	__u64 ip = bpf_get_func_ip(ctx);
	__u32 i;

	if (bpf_get_stack(ctx, frames, sizeof(frames), 0) <= 0)
		return 0;
	for (i = 0; i < MAX_OWN_FRAMES; i++)
		if (frames[i] - ip <= MAX_ENTRY_BYTES)
			return i;
	return 0;
}

/*
 * Thinning: of a probe whose stacks would cost more than the budget, only some hits have theirs taken,
 * and stand for the others. User space sets by how much, while the probe is hit: of each block of `value`
 * hits on a CPU one, at a place that the block's number draws. So the sum of the weights
 * is the number of hits, but for the last block of each CPU, and calls that take turns are not mistaken
 * for one another, as they would be if every n-th hit were taken.
 */
const volatile bool may_thin;

/* By probe; 0 and 1: all hits are taken. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} thinning SEC(".maps");

/* How many hits this one, the nr-th of its probe on this CPU, stands for; 0: another one stands for it. */
static __always_inline __u64 stands_for(__u32 number, __u64 nr)
{
	const volatile __u64 *value;
	__u64 block;
	__u32 one_of;

	if (!may_thin)
		return 1;
	value = bpf_map_lookup_elem(&thinning, &number);
	one_of = value ? *value : 0;
	if (one_of < 2)
		return 1;
	block = mix(hash_seed, (__u64)number << 32 | bpf_get_smp_processor_id());
	block = mix(block, nr / one_of);
	return nr % one_of == (block >> 8) % one_of ? one_of : 0;
}

/* Hits have a value of their own to add up. */
const volatile bool has_values;

/* The value of each probe's hits, if has_values. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_fetch);
} weights SEC(".maps");

volatile __u64 nr_unweighed; /* hits whose weight could not be read */

/* Weights are sizes: what is below 0 was an error, and weighs nothing. */
static __always_inline __u64 weigh(void *ctx, enum probe_way way, __u32 number)
{
	const struct tally_fetch *fetch = bpf_map_lookup_elem(&weights, &number);
	__s64 weight = 0;

	if (!fetch || !fetch_number(ctx, fetch, way, &weight)) {
		ATOMIC_ADD(nr_unweighed, 1);
		return 0;
	}
	return weight > 0 ? weight : 0;
}

static __always_inline int stack(void *ctx, enum probe_way way, __u32 number)
{
	bool is_function = way == WAY_FUNCTION_ENTRY || way == WAY_FUNCTION_EXIT;
	struct wire_counters *counters;
	struct scratch *scratch;
	__u64 time_ns, nr = 0, nr_hits;
	__u32 epoch_nr;

	counters = record_enter(&time_ns, &epoch_nr);
	if (!counters)
		return 0;
	switch (probe_hit(number, &nr)) {
	case HIT_WANTED:
		break;
	case HIT_OWN:
		ATOMIC_ADD(counters->own, 1);
		return 0;
	default:
		ATOMIC_ADD(counters->filtered, 1);
		return 0;
	}
	nr_hits = stands_for(number, nr);
	if (!nr_hits) {
		ATOMIC_ADD(counters->thinned, 1);
		return 0;
	}
	scratch = record_begin(counters, time_ns, epoch_nr,
			       (struct task_struct *)bpf_get_current_task());
	if (!scratch)
		return 0;
	scratch->record.probe = number;
	if (by_weight)
		scratch->record.weight = nr_hits * (has_values ? weigh(ctx, way, number) : 1);
	unwind_user(ctx, way == WAY_REGISTERS, scratch);
	unwind_kernel(ctx, is_function ? nr_own_frames(ctx) : 0, scratch);
	record_submit(scratch, counters);
	return 0;
}

PROBE_PROGRAMS(stack, stack)
