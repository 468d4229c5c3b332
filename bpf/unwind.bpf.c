/*
 * The two stacks of a sample: the kernel's by its own means; the user's by unwind tables
 * (walk.bpf.c) or, where those are not wanted or of no use, by frame pointers.
 */
#include "unwind.bpf.h"
#include <bpf/bpf_core_read.h>

#include "walk.bpf.h"

/*
 * 0: not wanted, and the code is gone. At most the wire's limits and kernel.perf_event_max_stack.
 */
const volatile __u32 max_user_frames = 127;
const volatile __u32 max_kernel_frames = 127;

#define PF_KTHREAD 0x00200000

const volatile bool by_tables;

static bool has_user_stack(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return !(BPF_CORE_READ(task, flags) & PF_KTHREAD) && BPF_CORE_READ(task, mm);
}

static int by_frame_pointers(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_user_frames * sizeof(__u64);
	long got;

	record->nr_user = 0;
	record->user_end = WALK_MISSED;
	if (!bytes || bytes > WIRE_MAX_USER_FRAMES * sizeof(__u64))
		return 0;
	got = bpf_get_stack(ctx, scratch->frames, bytes, BPF_F_USER_STACK);
	if (got <= 0)
		return 0;
	record->nr_user = (__u32)got / sizeof(__u64);
	record->user_end = got == bytes ? WALK_TRUNCATED : WALK_UNWOUND;
	return 0;
}

/* What the kernel finds along frame pointers is better than nothing, if it is called what it is. */
static int by_unwind_tables(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	int end = walk_user(ctx, scratch);

	if (end == WALK_RAW && record_has_room() && !walk_capture(scratch))
		return 0;
	if (end != WALK_RAW && scratch->record.nr_user)
		return 0;
	by_frame_pointers(ctx, scratch);
	if (end == WALK_RAW)
		scratch->record.user_end = WALK_NO_TABLE;
	return 0;
}

__hidden int unwind_user(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	scratch->record.nr_user = 0;
	scratch->record.user_end = WALK_NONE;
	if (!max_user_frames || !has_user_stack())
		return 0;
	return by_tables ? by_unwind_tables(ctx, scratch) : by_frame_pointers(ctx, scratch);
}

__hidden int unwind_kernel(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_kernel_frames * sizeof(__u64);
	__u32 first = record->nr_user;
	long got;

	record->nr_kernel = 0;
	record->kernel_end = WALK_NONE;
	if (!bytes || bytes > WIRE_MAX_KERNEL_FRAMES * sizeof(__u64) || first > WIRE_MAX_RAW_WORDS)
		return 0;
	got = bpf_get_stack(ctx, &scratch->frames[first], bytes, 0);
	if (got <= 0)
		return 0; /* the sample hit in user mode */
	record->nr_kernel = (__u32)got / sizeof(__u64);
	record->kernel_end = got == bytes ? WALK_TRUNCATED : WALK_UNWOUND;
	return 0;
}
