/*
 * Entry point of samples: a perf event fires on whatever the CPU was doing. Idle and unselected
 * tasks are filtered first, cheaply; then the record is filled with the task and its stacks.
 *
 * The filters are constants set before loading, so the verifier removes the unused ones.
 */
#include "unwind.bpf.h"

#include "follow.bpf.h"

const volatile bool include_idle;

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct wire_counters *counters;
	struct task_struct *task;
	struct scratch *scratch;
	__u64 time_ns, pid_tgid;
	__u32 epoch_nr;

	counters = record_enter(&time_ns, &epoch_nr);
	if (!counters)
		return 0;
	ATOMIC_ADD(counters->weight, ctx->sample_period);
	pid_tgid = bpf_get_current_pid_tgid();
	if (!pid_tgid && !include_idle) {
		ATOMIC_ADD(counters->idle, 1);
		return 0;
	}
	if (is_own(pid_tgid >> 32)) {
		ATOMIC_ADD(counters->own, 1);
		return 0;
	}
	task = (struct task_struct *)bpf_get_current_task();
	if (!is_wanted(task)) {
		ATOMIC_ADD(counters->filtered, 1);
		return 0;
	}
	scratch = record_begin(counters, time_ns, epoch_nr, task);
	if (!scratch)
		return 0;
	unwind_user((struct stack_context *)ctx, true, scratch);
	unwind_kernel(ctx, 0, scratch);
	record_submit(scratch, counters);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
