/*
 * Takes the two stacks of a sample: the kernel's with the kernel's own unwinder; the user's by
 * unwind tables (walk.bpf.c) or, if these are not requested or not available, by frame pointers.
 */
#include "unwind.bpf.h"
#include <bpf/bpf_core_read.h>

/*
 * 0: no such stack is requested, and its code is removed. At most the limits of wire.h and
 * kernel.perf_event_max_stack.
 */
const volatile __u32 max_user_frames = 127;
const volatile __u32 max_kernel_frames = 127;

/*
 * Threads that run only in the kernel: its own, and the workers of io_uring and vhost, which have the memory of a
 * process but no user registers. Before Linux 5.17 the third flag was that of module loaders.
 */
#define PF_KTHREAD     0x00200000
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define KERNEL_ONLY    (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)

const volatile bool by_tables;

/*
 * If set, records are never raw: where data for the walk is missing, the record is walked by frame
 * pointers, and its weight is the address where the walk ended, for user space to provide it.
 */
const volatile bool never_raw;

/* If set, registers in a context are those at a function's first instruction. */
const volatile bool hits_are_entries;

static bool has_user_stack(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return !(BPF_CORE_READ(task, flags) & KERNEL_ONLY) && BPF_CORE_READ(task, mm);
}

/*
 * At its first instruction a function has no frame yet, so the frame pointer leads to the caller's
 * caller. The caller is put in front of the nr frames that begin at the second entry, unless the kernel has done so
 * (x86, Linux 6.11) or it cannot be read: false.
 */
static bool add_caller(struct stack_context *ctx, struct scratch *scratch, __u32 nr)
{
	__u64 caller;

	if (READ_CALLER(&ctx->regs, &caller) || (nr > 1 && scratch->frames[2] == caller))
		return false;
	scratch->frames[0] = USER_PC(&ctx->regs);
	scratch->frames[1] = caller;
	return true;
}

static int by_frame_pointers(struct stack_context *ctx, bool has_registers, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	bool at_entry = hits_are_entries && max_user_frames > 1 && has_registers &&
			IS_USER_MODE(&ctx->regs);
	__u32 bytes = (max_user_frames - at_entry) * sizeof(__u64);
	long got;

	record->nr_user = 0;
	record->user_end = WALK_MISSED;
	if (!bytes || bytes > WIRE_MAX_USER_FRAMES * sizeof(__u64))
		return 0;
	/* One entry is left free for the caller. */
	got = bpf_get_stack(ctx, &scratch->frames[at_entry], bytes, BPF_F_USER_STACK);
	if (got > 0 && at_entry && !add_caller(ctx, scratch, (__u32)got / sizeof(__u64))) {
		at_entry = false;
		got = bpf_get_stack(ctx, scratch->frames, bytes, BPF_F_USER_STACK);
	}
	if (got <= 0)
		return 0;
	record->user_end = got == bytes ? WALK_TRUNCATED : WALK_UNWOUND;
	record->nr_user = (__u32)got / sizeof(__u64) + at_entry;
	return 0;
}

/* Falls back to frame pointers, which is better than no stack; user_end shows which was used. */
static int by_unwind_tables(struct stack_context *ctx, bool has_registers, struct scratch *scratch)
{
	int end = walk_user(ctx, has_registers, scratch);

	if (end == WALK_RAW && !never_raw && record_has_room() && !walk_capture(scratch))
		return 0;
	if (end != WALK_RAW && scratch->record.nr_user)
		return 0;
	by_frame_pointers(ctx, has_registers, scratch);
	if (end == WALK_RAW)
		scratch->record.user_end = never_raw ? WALK_NO_TABLE : WALK_TOO_MANY;
	if (end == WALK_RAW && never_raw)
		scratch->record.weight = walk_stopped_at(scratch);
	return 0;
}

__hidden int unwind_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch)
{
	scratch->record.nr_user = 0;
	scratch->record.user_end = WALK_NONE;
	if (!max_user_frames || !has_user_stack())
		return 0;
	return by_tables ? by_unwind_tables(ctx, has_registers, scratch)
			 : by_frame_pointers(ctx, has_registers, scratch);
}

__hidden int unwind_kernel(void *ctx, __u32 skip, struct scratch *scratch)
{
	struct wire_record *record = &scratch->record;
	__u32 bytes = max_kernel_frames * sizeof(__u64);
	__u32 first = record->nr_user;
	long got;

	record->nr_kernel = 0;
	record->kernel_end = WALK_NONE;
	if (!bytes || bytes > WIRE_MAX_KERNEL_FRAMES * sizeof(__u64) || first > WIRE_MAX_RAW_WORDS)
		return 0;
	got = bpf_get_stack(ctx, &scratch->frames[first], bytes, skip & BPF_F_SKIP_FIELD_MASK);
	if (got <= 0)
		return 0; /* the sample hit in user mode */
	record->nr_kernel = (__u32)got / sizeof(__u64);
	record->kernel_end = got == bytes ? WALK_TRUNCATED : WALK_UNWOUND;
	return 0;
}
