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

/* True if the task's process, which has a pid of ours, is ours and not a later process with the pid of a fork. */
__hidden bool is_own_process(struct task_struct *task);

/* False for nearly all processes, without a look at the task. 0 is the idle task. */
static __always_inline bool has_own_pid(__u32 tgid)
{
	return leaves_out_own && tgid && (tgid == own_tgid || own_forks[tgid % OWN_SLOTS] == tgid);
}

/* True if the current process, tgid, is ours and must be excluded. */
static __always_inline bool is_own(__u32 tgid)
{
	return has_own_pid(tgid) && is_own_process((struct task_struct *)bpf_get_current_task());
}

/* Likewise, of any task. */
static __always_inline bool is_own_task(struct task_struct *task, __u32 tgid)
{
	return has_own_pid(tgid) && is_own_process(task);
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

/* The task states of the kernel; these are unchanged since 4.14. */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED	     0x4
#define TASK_TRACED	     0x8
#define TASK_PARKED	     0x40
#define TASK_DEAD	     0x80
#define TASK_NOLOAD	     0x400

/* Uninterruptible in /proc, though it has a bit of its own: a spinlock of PREEMPT_RT (5.15), frozen (6.1). */
#define TASK_SHOWN_AS_D (0x1000 | 0x8000)

/* The state of a task that the verifier knows as one, so that its members are read without a helper. */
static __always_inline __u32 task_state(struct task_struct *task)
{
	struct task_struct___named_state *old = (void *)task;

	return bpf_core_field_exists(task->__state) ? task->__state : old->state;
}

#endif
