/* Which tasks are wanted; see follow.bpf.c. */
#ifndef STOOK_BPF_FOLLOW_H
#define STOOK_BPF_FOLLOW_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/*
 * Our own processes: this one and what it forks while the programs are loaded. They are known by their
 * numbers in the initial pid namespace, which cost one comparison; forks by a slot that their number
 * chooses, and which nobody clears: a number that came round again is told by its parent.
 */
#define OWN_SLOTS 1024

extern const volatile bool leaves_out_own;
extern volatile __u32 own_tgid, own_forks[OWN_SLOTS];

/* True if the current process, whose number is in its slot, is still the one that was put there. */
__hidden bool is_own_fork(void);

/* True if the current process, with this number, is ours and to be left out. 0 is the idle task. */
static __always_inline bool is_own(__u32 tgid)
{
	return leaves_out_own && tgid &&
	       (tgid == own_tgid || (own_forks[tgid % OWN_SLOTS] == tgid && is_own_fork()));
}

/* A thread's number (its tid; for a leader the pid) as the profiler sees it; 0 if it can't. */
__hidden __u32 visible_pid(struct task_struct *task);

/* True if samples of the current task are asked for. */
__hidden bool is_wanted(struct task_struct *task);

#endif
