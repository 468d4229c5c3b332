/* Who runs; see identify.bpf.c. */
#ifndef STOOK_BPF_IDENTIFY_H
#define STOOK_BPF_IDENTIFY_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "wire.h"

/* Fills in the current task. */
__hidden int identify_task(struct wire_record *record, struct task_struct *task);

#endif
