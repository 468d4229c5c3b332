/*
 * The two stacks of a sample, as the kernel walks them: its own by its own means, the user's by
 * frame pointers. This is the seam behind which a walk by unwind tables belongs.
 */
#include "unwind.bpf.h"
#include <bpf/bpf_core_read.h>

/*
 * 0: not wanted, and the code is gone. At most the wire's limits and kernel.perf_event_max_stack.
 */
const volatile __u32 max_user_frames = 127;
const volatile __u32 max_kernel_frames = 127;

#define PF_KTHREAD 0x00200000

static bool has_user_stack(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return !(BPF_CORE_READ(task, flags) & PF_KTHREAD) && BPF_CORE_READ(task, mm);
}

__hidden int unwind_user(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_user_frames * sizeof(__u64);
	long got;

	record->nr_user = 0;
	record->user_end = WIRE_END_NONE;
	if (!bytes || bytes > WIRE_MAX_USER_FRAMES * sizeof(__u64))
		return 0;
	got = bpf_get_stack(ctx, scratch->frames, bytes, BPF_F_USER_STACK);
	if (got <= 0) {
		record->user_end = has_user_stack() ? WIRE_END_MISSED : WIRE_END_NONE;
		return 0;
	}
	record->nr_user = (__u32)got / sizeof(__u64);
	record->user_end = got == bytes ? WIRE_END_TRUNCATED : WIRE_END_UNWOUND;
	return 0;
}

__hidden int unwind_kernel(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_kernel_frames * sizeof(__u64);
	__u32 first = record->nr_user;
	long got;

	record->nr_kernel = 0;
	record->kernel_end = WIRE_END_NONE;
	if (!bytes || bytes > WIRE_MAX_KERNEL_FRAMES * sizeof(__u64) ||
	    first > WIRE_MAX_USER_FRAMES)
		return 0;
	got = bpf_get_stack(ctx, &scratch->frames[first], bytes, 0);
	if (got <= 0)
		return 0; /* the sample hit in user mode */
	record->nr_kernel = (__u32)got / sizeof(__u64);
	record->kernel_end = got == bytes ? WIRE_END_TRUNCATED : WIRE_END_UNWOUND;
	return 0;
}
