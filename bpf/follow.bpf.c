/*
 * Selects tasks by pid, tid, cgroup or name. A child of a selected process is selected at its fork, and
 * an exited process is removed before its pid can be reused.
 *
 * Pids are those of the profiler's own pid namespace, the ones its user typed. The exclusion of the
 * profiler's own processes is checked at every hit and therefore uses the pid that is cheapest to
 * read, the one in the initial namespace.
 */
#include "follow.bpf.h"
#include <bpf/bpf_core_read.h>

#include "wire.h"

const volatile __u32 pidns_inum; /* the profiler's pid namespace; 0: the initial one */
const volatile bool filter_pids, filter_tids, filter_cgroup;
const volatile __u64 wanted_cgroup_id;

#define MAX_PIDNS_LEVELS 33 /* the kernel's MAX_PID_NS_LEVEL plus the initial one */
#define MAX_CGROUP_STEPS 32 /* from a task's cgroup up to the wanted one */
#define ENDING_SLOTS	 4096
#define PF_EXITING	 0x00000004

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} wanted_pids SEC(".maps"), wanted_tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} wanted_cgroup SEC(".maps");

/*
 * Start times of selected processes that are exiting. Since Linux 6.16 the exit tracepoint comes
 * before the memory is torn down, which takes long for a large process and still counts as its own
 * time. If a slot is overwritten too early, only the rest of that exit is filtered out.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDING_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} ending SEC(".maps");

volatile __u64 nr_not_followed; /* children not followed: map full */

__hidden __u32 visible_pid(struct task_struct *task)
{
	struct upid *numbers;
	struct pid *pid;
	__u32 level, i;

	if (!pidns_inum)
		return BPF_CORE_READ(task, pid);
	pid = BPF_CORE_READ(task, thread_pid);
	numbers = __builtin_preserve_access_index(&pid->numbers[0]);
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i < MAX_PIDNS_LEVELS && i <= level; i++) {
		struct upid *number = (void *)numbers + i * bpf_core_type_size(struct upid);

		if (BPF_CORE_READ(number, ns, ns.inum) == pidns_inum)
			return BPF_CORE_READ(number, nr);
	}
	return 0;
}

/* --- our own processes ------------------------------------------------------------------------ */

const volatile bool leaves_out_own;

volatile __u32 own_tgid, own_forks[OWN_SLOTS];

static bool is_marked(__u32 tgid)
{
	return tgid == own_tgid || own_forks[tgid % OWN_SLOTS] == tgid;
}

__hidden bool is_own_process(struct task_struct *task)
{
	return BPF_CORE_READ(task, tgid) == own_tgid ||
	       is_marked(BPF_CORE_READ(task, group_leader, real_parent, tgid));
}

/*
 * Never attached. User space runs it with BPF_PROG_TEST_RUN (Linux 5.10), so the current process is
 * the profiler.
 */
SEC("raw_tracepoint")
int learn_own(void *ctx)
{
	own_tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

SEC("raw_tracepoint/sched_process_fork")
int mark_own_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (is_own(tgid)) {
		tgid = BPF_CORE_READ(child, tgid);
		own_forks[tgid % OWN_SLOTS] = tgid;
	}
	return 0;
}

/* --- selected tasks -------------------------------------------------------------------------- */

static __u64 *ending_slot(__u64 start_time)
{
	__u32 slot = (start_time * 0x9e3779b97f4a7c15ULL >> 32) % ENDING_SLOTS;

	return bpf_map_lookup_elem(&ending, &slot);
}

static bool is_ending(struct task_struct *task, __u64 start_time)
{
	__u64 *known;

	if (!(BPF_CORE_READ(task, flags) & PF_EXITING))
		return false;
	known = ending_slot(start_time);
	return known && start_time && *known == start_time;
}

static bool is_wanted_pid(struct task_struct *task)
{
	struct task_struct *leader;
	__u32 pid;

	if (!filter_pids)
		return false;
	leader = BPF_CORE_READ(task, group_leader);
	pid = visible_pid(leader);
	if (bpf_map_lookup_elem(&wanted_pids, &pid))
		return true;
	return is_ending(task, BPF_CORE_READ(leader, start_time));
}

static bool is_wanted_tid(struct task_struct *task)
{
	__u32 tid;

	if (!filter_tids)
		return false;
	tid = visible_pid(task);
	return bpf_map_lookup_elem(&wanted_tids, &tid) != NULL;
}

__hidden bool is_wanted_by_number(struct task_struct *task)
{
	return !(filter_pids || filter_tids) || is_wanted_pid(task) || is_wanted_tid(task);
}

__hidden bool is_wanted(struct task_struct *task)
{
	if (!is_wanted_by_number(task))
		return false;
	return !filter_cgroup || bpf_current_task_under_cgroup(&wanted_cgroup, 0) == 1;
}

__hidden __u64 cgroup_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static bool is_in_wanted_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	__u32 i;

	for (i = 0; i < MAX_CGROUP_STEPS && cgroup; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == wanted_cgroup_id)
			return true;
		cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
	}
	return false;
}

__hidden bool is_wanted_task(struct task_struct *task)
{
	return is_wanted_by_number(task) && (!filter_cgroup || is_in_wanted_cgroup(task));
}

/* --- names ------------------------------------------------------------------------------------ */

const volatile bool filter_names;

/* Sized before loading. User space writes to it without a call into the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct wire_refused_name);
} refused_names SEC(".maps");

__hidden bool has_refused_name(struct task_struct *task)
{
	__u64 name[WIRE_COMM_BYTES / 8] = {};
	struct wire_refused_name *refused;
	__u32 slot;

	if (!filter_names)
		return false;
	/* Up to its end: older kernels leave the rest of a longer name behind it. */
	bpf_core_read_str(name, sizeof(name), &task->comm);
	slot = wire_name_hash(name) % WIRE_NAME_SLOTS;
	refused = bpf_map_lookup_elem(&refused_names, &slot);
	return refused && refused->words[0] == name[0] && refused->words[1] == name[1] &&
	       refused->check == wire_name_check(name);
}

SEC("raw_tracepoint/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	struct task_struct *child_leader = BPF_CORE_READ(child, group_leader);
	__u32 parent_pid = visible_pid(BPF_CORE_READ(parent, group_leader));
	__u32 child_pid;
	__u8 yes = 1;

	if (child_leader != child || !bpf_map_lookup_elem(&wanted_pids, &parent_pid))
		return 0;
	child_pid = visible_pid(child);
	if (bpf_map_update_elem(&wanted_pids, &child_pid, &yes, BPF_ANY))
		__sync_fetch_and_add(&nr_not_followed, 1);
	return 0;
}

SEC("raw_tracepoint/sched_process_exit")
int forget_exited(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u32 pid = visible_pid(leader), tid = visible_pid(task);
	__u64 start_time, *slot;

	if (filter_tids)
		bpf_map_delete_elem(&wanted_tids, &tid);
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0; /* other threads are still running */
	if (!bpf_map_lookup_elem(&wanted_pids, &pid))
		return 0;
	start_time = BPF_CORE_READ(leader, start_time);
	slot = ending_slot(start_time);
	if (slot)
		*slot = start_time;
	bpf_map_delete_elem(&wanted_pids, &pid);
	return 0;
}
