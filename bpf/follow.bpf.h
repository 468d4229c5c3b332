/* Selects the tasks to sample; see follow.bpf.c. */
#ifndef STOOK_BPF_FOLLOW_H
#define STOOK_BPF_FOLLOW_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/*
 * The profiler's own processes: itself and the children it forks while the programs are loaded.
 * They are identified by their pid in the initial pid namespace, which costs one comparison. A fork
 * is stored in the slot that its pid selects; slots are never cleared, and a reused pid is detected
 * by its parent.
 */
#define OWN_SLOTS 1024

extern const volatile bool leaves_out_own, filter_cgroup;
extern volatile __u32 own_tgid, own_forks[OWN_SLOTS];

/*
 * True if the task's process, whose pid is in its slot, is a fork of ours and not a later process with the same pid.
 */
__hidden bool is_own_fork(struct task_struct *task);

static __always_inline bool may_be_own_fork(__u32 tgid)
{
	return leaves_out_own && tgid && own_forks[tgid % OWN_SLOTS] == tgid;
}

/* True if the current process, tgid, is ours and must be excluded. 0 is the idle task. */
static __always_inline bool is_own(__u32 tgid)
{
	return (leaves_out_own && tgid == own_tgid) ||
	       (may_be_own_fork(tgid) && is_own_fork((struct task_struct *)bpf_get_current_task()));
}

/* Likewise, of any task. */
static __always_inline bool is_own_task(struct task_struct *task, __u32 tgid)
{
	return (leaves_out_own && tgid == own_tgid) || (may_be_own_fork(tgid) && is_own_fork(task));
}

/* A thread's tid (a leader's pid) in the profiler's pid namespace; 0 if not visible there. */
__hidden __u32 visible_pid(struct task_struct *task);

/* True if the current task is selected. */
__hidden bool is_wanted(struct task_struct *task);

/* Likewise, of any task. Slower: the task's cgroup is read step by step. */
__hidden bool is_wanted_task(struct task_struct *task);

/* The id of any task's cgroup. */
__hidden __u64 cgroup_of(struct task_struct *task);

/* True if any task is selected by pid and tid; its cgroup is not looked at. */
__hidden bool is_wanted_by_number(struct task_struct *task);

/* True if threads with this task's name are left out (wire.h). */
__hidden bool has_refused_name(struct task_struct *task);

/* The state of a task that the verifier knows as one, so that its members are read without a helper. */
static __always_inline __u32 task_state(struct task_struct *task)
{
	struct task_struct___named_state *old = (void *)task;

	return bpf_core_field_exists(task->__state) ? task->__state : old->state;
}

#endif
