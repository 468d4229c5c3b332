/*
 * Matches returns with their calls. Each thread has a stack of its open calls, of all probes
 * together. Each call records the position of its frame: the stack pointer at its first
 * instruction, which is the same after it has returned. Calls that never return (longjmp, an
 * exception, a missed return) are recognised by that position: a stack grows downwards, so calls at
 * or below the position of a new call, or below that of a return, have been left. A return without
 * a call is counted as such. A return can be matched with the wrong call only if two hits of the
 * thread in a row were lost: a call's return, and the next call at the same position. Therefore
 * paired probes are attached for the whole run and not detached to keep the CPU budget.
 *
 * Two calls have the same position if the second one is a tail call (jump) at the end of the first.
 * Then its return address is the kernel's uretprobe trampoline, to which the first one's return was
 * redirected.
 *
 * For a thread that switches between several stacks (coroutines), calls may be considered left:
 * they are counted as abandoned, and their returns as having no call.
 */
#include "tally.bpf.h"

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Kernel types that only this file needs: the page of the uretprobe trampoline. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
};

#pragma clang attribute pop

#define KERNEL_STACK_SHIFT 14 /* kernel stacks are at least this large, and aligned to it */

/*
 * kprobes report the stack pointer of a kernel function with a difference of a few words between
 * its call and its return, depending on the kernel. The frame of its caller is farther away than
 * this.
 */
#define KERNEL_SLACK 32

struct thread {
	__u64 start_time; /* detects reuse of the task_struct's memory */
	__u32 nr;
	__u32 deepest;
};

struct call_place {
	__u64 task;
	__u64 depth;
};

/* Both are sized before loading; a value of calls has room for the plan's operands and texts. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct call_place));
	__uint(value_size, sizeof(struct tally_call));
} calls SEC(".maps");

/* A zeroed struct tally_call, to insert. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct tally_call));
} empty_call SEC(".maps");

static struct thread *this_thread(bool is_call)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct thread fresh = {.start_time = BPF_CORE_READ(task, start_time)};
	__u64 key = (__u64)task;
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (!thread && is_call) {
		bpf_map_update_elem(&threads, &key, &fresh, BPF_NOEXIST);
		thread = bpf_map_lookup_elem(&threads, &key);
	}
	if (thread && thread->start_time != fresh.start_time)
		*thread = fresh;
	return thread;
}

static struct tally_call *call_at(__u32 depth)
{
	struct call_place place = {.task = bpf_get_current_task(), .depth = depth};

	return bpf_map_lookup_elem(&calls, &place);
}

static struct tally_call *make_call(__u32 depth)
{
	struct call_place place = {.task = bpf_get_current_task(), .depth = depth};
	struct tally_call *call = bpf_map_lookup_elem(&calls, &place);
	__u32 zero = 0;
	void *empty;

	if (call)
		return call;
	empty = bpf_map_lookup_elem(&empty_call, &zero);
	if (empty)
		bpf_map_update_elem(&calls, &place, empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&calls, &place);
}

static __u64 trampoline(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * Interrupts run on stacks of their own, and calls in them end before the interrupted code
 * continues.
 */
static bool on_one_stack(const struct tally_hit *hit, const struct tally_call *call)
{
	return !hit->is_kernel || hit->at >> KERNEL_STACK_SHIFT == call->at >> KERNEL_STACK_SHIFT;
}

static bool is_left_by_call(const struct tally_hit *hit, const struct tally_call *call)
{
	if (!on_one_stack(hit, call) || call->at > hit->at)
		return false;
	return call->at < hit->at || !hit->return_address || hit->return_address != trampoline();
}

static void leave_calls(struct tally_hit *hit, struct tally_counters *counters,
			struct thread *thread)
{
	__u32 i;

	for (i = 0; i < TALLY_MAX_DEPTH; i++) {
		struct tally_call *call = thread->nr ? call_at(thread->nr - 1) : NULL;

		if (!call || !is_left_by_call(hit, call))
			break;
		thread->nr--;
		ATOMIC_ADD(counters->abandoned, 1);
	}
}

static void save_words(const struct tally_hit *hit, struct tally_call *call)
{
	__u32 i;

	call->unknown = hit->values.unknown;
	call->unknown_texts = hit->values.unknown_texts;
	for (i = 0; i < TALLY_MAX_OPERANDS && i < plan.nr_operands; i++)
		call->words[i] = hit->values.words[i];
	for (i = 0; i < TALLY_MAX_TEXTS * TALLY_TEXT_WORDS; i++) {
		if (i >= plan.nr_texts * TALLY_TEXT_WORDS)
			break;
		call->words[plan.nr_operands + i] = hit->values.words[TALLY_MAX_NUMBERS + i];
	}
}

static void restore_words(struct tally_hit *hit, const struct tally_call *call)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 i;

	hit->values.unknown = call->unknown;
	hit->values.unknown_texts = call->unknown_texts;
	for (i = 0; i < TALLY_MAX_OPERANDS && i < plan.nr_operands; i++)
		hit->values.words[i] =
			plan.operands[i] == TALLY_LATENCY ? now - call->time_ns : call->words[i];
	for (i = 0; i < TALLY_MAX_TEXTS * TALLY_TEXT_WORDS; i++) {
		if (i >= plan.nr_texts * TALLY_TEXT_WORDS)
			break;
		hit->values.words[TALLY_MAX_NUMBERS + i] = call->words[plan.nr_operands + i];
	}
}

__hidden int tally_call(struct tally_hit *hit, struct tally_counters *counters)
{
	struct thread *thread = this_thread(true);
	struct tally_call *call;
	__u32 depth;

	if (thread)
		leave_calls(hit, counters, thread);
	if (thread && thread->nr >= TALLY_MAX_DEPTH) {
		ATOMIC_ADD(counters->lost[TALLY_LOST_TOO_DEEP], 1);
		return 0;
	}
	depth = thread ? thread->nr : 0;
	call = thread ? make_call(depth) : NULL;
	if (!call) {
		ATOMIC_ADD(counters->lost[TALLY_LOST_CALLS_FULL], 1);
		return 0;
	}
	/* Reserved first: an interrupt arriving now uses the next position. */
	*(volatile __u32 *)&thread->nr = depth + 1;
	if (thread->deepest <= depth)
		thread->deepest = depth + 1;
	call->at = hit->at;
	call->function = hit->function;
	save_words(hit, call);
	call->time_ns = bpf_ktime_get_ns();
	ATOMIC_ADD(counters->calls, 1);
	return 0;
}

__hidden bool tally_return(struct tally_hit *hit, struct tally_counters *counters)
{
	struct thread *thread = this_thread(false);
	__u64 slack = hit->is_kernel ? KERNEL_SLACK : 0;
	__u32 i;

	for (i = 0; thread && i <= TALLY_MAX_DEPTH; i++) {
		struct tally_call *call = thread->nr ? call_at(thread->nr - 1) : NULL;

		if (!call || (on_one_stack(hit, call) && call->at > hit->at + slack))
			break;
		if (on_one_stack(hit, call) && call->at + slack >= hit->at &&
		    call->function == hit->function) {
			restore_words(hit, call);
			thread->nr--;
			ATOMIC_ADD(counters->returns, 1);
			return true;
		}
		thread->nr--;
		ATOMIC_ADD(counters->abandoned, 1);
	}
	ATOMIC_ADD(counters->lost[TALLY_LOST_NO_CALL], 1);
	return false;
}

/* When a task_struct is freed, the task can cause no more hits. */
SEC("raw_tracepoint/sched_process_free")
int forget_calls(struct bpf_raw_tracepoint_args *ctx)
{
	struct call_place place = {.task = ctx->args[0]};
	struct thread *thread = bpf_map_lookup_elem(&threads, &place.task);
	struct tally_counters *counters;
	__u32 slot, i;

	if (!thread)
		return 0;
	counters = tally_enter(&slot);
	if (counters)
		ATOMIC_ADD(counters->abandoned, thread->nr);
	for (i = 0; i < TALLY_MAX_DEPTH; i++) {
		if (i >= thread->deepest)
			break;
		place.depth = i;
		bpf_map_delete_elem(&calls, &place);
	}
	bpf_map_delete_elem(&threads, &place.task);
	return 0;
}
