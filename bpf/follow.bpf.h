/* Which tasks are wanted; see follow.bpf.c. */
#ifndef STOOK_BPF_FOLLOW_H
#define STOOK_BPF_FOLLOW_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/* A thread's number (its tid; for a leader the pid) as the profiler sees it; 0 if it can't. */
__hidden __u32 visible_pid(struct task_struct *task);

/* True if samples of the current task are asked for. */
__hidden bool is_wanted(struct task_struct *task);

#endif
