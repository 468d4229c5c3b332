/* Handing a sample over to user space; see record.bpf.c. */
#ifndef STOOK_BPF_RECORD_H
#define STOOK_BPF_RECORD_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "wire.h"

/* A record being put together, with room for the deepest stacks. One a CPU. */
struct scratch {
	__u32 busy;
	__u32 zero;
	struct wire_record record;
	__u64 frames[WIRE_MAX_FRAMES]; /* right behind the record, as it is sent */
};

/* Begins a sample: fixes its time and epoch and counts the entry. NULL when it can't be taken. */
__hidden struct wire_counters *record_enter(__u64 *ret_time, __u32 *ret_epoch);

/* This CPU's scratch space, claimed; NULL (and the loss counted) if it is taken. */
__hidden struct scratch *record_claim(struct wire_counters *counters);

/*
 * Sends or counts the record in scratch, whose identity and frames are complete, and gives the
 * scratch space back.
 */
__hidden int record_submit(struct scratch *scratch, struct wire_counters *counters);

#define ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

#endif
