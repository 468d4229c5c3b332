/*
 * stackcount: takes the stack that leads to a probe. Everything after the hit is as for samples:
 * the same unwinder, records, counts and epochs.
 *
 * Programs of probes run in the task that hit the probe, so the user's registers are in the context
 * (uprobe) or were saved by the kernel's entry code.
 */
#include "unwind.bpf.h"

#include "fetch.bpf.h"
#include "probe_hit.bpf.h"

/*
 * Number of innermost kernel frames that belong to the program and its trampoline, which have no
 * fixed number of frames. The traced function is recognised by its address.
 */
#define MAX_OWN_FRAMES	8
#define MAX_ENTRY_BYTES 16 /* from a function's address to after its trampoline call */

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
 * If the stacks of a probe would exceed the CPU budget, only one of `value` hits on each CPU has its stack taken, see
 * represented(). User space changes the value while the probe is active.
 */
const volatile bool may_thin;

/* By probe; 0 or 1: every hit is taken. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} thinning SEC(".maps");

/*
 * The weight, in hits, of the nr-th hit of a probe on this CPU; 0: skip it, another hit represents
 * it.
 */
static __always_inline __u64 hits_represented(__u32 number, __u64 nr)
{
	const volatile __u64 *value;

	if (!may_thin)
		return 1;
	value = bpf_map_lookup_elem(&thinning, &number);
	return represented(value ? *value : 0, (__u64)number << 32 | bpf_get_smp_processor_id(),
			   nr);
}

/* If set, each hit has a value to be summed. */
const volatile bool has_values;

/* Where to read the value of each probe's hits, if has_values. Sized before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_fetch);
} weights SEC(".maps");

volatile __u64 nr_unweighed; /* hits whose value could not be read */

/* Values are sizes; a negative one is an error code and counts as 0. */
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
	nr_hits = hits_represented(number, nr);
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
