/*
 * Where a sample begins: a perf event fires, on whatever the CPU was doing. Idle and unwanted tasks
 * are told apart first and cheaply; then the record is put together from who runs and what the
 * stacks are.
 *
 * What is filtered and told apart is fixed before loading, so the verifier drops the rest.
 */
#include "unwind.bpf.h"
#include <bpf/bpf_core_read.h>

#include "follow.bpf.h"

const volatile bool include_idle;
const volatile bool by_tid, by_cpu, by_cgroup;

static void identify(struct wire_record *record, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	record->start_time_ns = BPF_CORE_READ(leader, start_time);
	record->exec_id = BPF_CORE_READ(task, self_exec_id);
	record->pid = visible_pid(leader);
	record->tid = by_tid ? visible_pid(task) : 0;
	record->cpu = by_cpu ? bpf_get_smp_processor_id() : 0;
	record->cgroup = by_cgroup ? bpf_get_current_cgroup_id() : 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct wire_counters *counters;
	struct task_struct *task;
	struct scratch *scratch;
	__u64 time_ns;
	__u32 epoch_nr;

	counters = record_enter(&time_ns, &epoch_nr);
	if (!counters)
		return 0;
	ADD(counters->weight, ctx->sample_period);
	if (!bpf_get_current_pid_tgid() && !include_idle) {
		ADD(counters->idle, 1);
		return 0;
	}
	task = (struct task_struct *)bpf_get_current_task();
	if (!is_wanted(task)) {
		ADD(counters->filtered, 1);
		return 0;
	}
	scratch = record_claim(counters);
	if (!scratch)
		return 0;
	scratch->record.time_ns = time_ns;
	scratch->record.epoch = epoch_nr;
	identify(&scratch->record, task);
	unwind_user(ctx, scratch);
	unwind_kernel(ctx, scratch);
	record_submit(scratch, counters);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
