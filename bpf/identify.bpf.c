/* Who runs: what of a record tells tasks apart, as far as it is asked for. */
#include "identify.bpf.h"
#include <bpf/bpf_core_read.h>

#include "follow.bpf.h"

const volatile bool by_tid, by_cpu, by_cgroup;

__hidden int identify_task(struct wire_record *record, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	record->start_time_ns = BPF_CORE_READ(leader, start_time);
	record->exec_id = BPF_CORE_READ(task, self_exec_id);
	record->pid = visible_pid(leader);
	record->tid = by_tid ? visible_pid(task) : 0;
	record->cpu = by_cpu ? bpf_get_smp_processor_id() : 0;
	record->cgroup = by_cgroup ? bpf_get_current_cgroup_id() : 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
	return 0;
}
