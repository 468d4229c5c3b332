/* A record: who runs, and its way to user space; see record.bpf.c. */
#ifndef STOOK_BPF_RECORD_H
#define STOOK_BPF_RECORD_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "claim.bpf.h"
#include "wire.h"

#define SCRATCH_SPARE_WORDS \
	512 /* a page: what bounds the verifier knows is coarser than the truth */

/* A record being put together, with room for the largest. */
struct scratch {
	__u32 busy;
	__u32 slot; /* its own number */
	struct wire_record record;
	/* Right behind the record, as it is sent: user words, then kernel frames. */
	__u64 frames[WIRE_MAX_RAW_WORDS + SCRATCH_SPARE_WORDS];
};

_Static_assert(WIRE_MAX_USER_FRAMES <= WIRE_MAX_RAW_WORDS, "frames fit where raw words do");
_Static_assert(WIRE_MAX_KERNEL_FRAMES <= SCRATCH_SPARE_WORDS, "kernel frames fit behind them");

/* Records have weights, which are summed up beside their counts. Set before loading. */
extern const volatile bool by_weight;

extern const volatile __u64 hash_seed;

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xd6e8feb86659fd93ULL;
	return hash ^ (hash >> 32);
}

/* Begins a sample: fixes its time and epoch and counts the entry. NULL when it can't be taken. */
__hidden struct wire_counters *record_enter(__u64 *ret_time, __u32 *ret_epoch);

/* The scratch space of a slot; for code that is called by who has claimed it. */
__hidden struct scratch *record_scratch(__u32 slot);

/*
 * One of this CPU's scratch spaces, claimed, with a record of this time, epoch and task (of the fields
 * that tell tasks apart, the ones that are asked for); NULL (and the loss counted) if all are taken.
 */
__hidden struct scratch *record_begin(struct wire_counters *counters, __u64 time_ns, __u32 epoch_nr,
				      struct task_struct *task);

/* True if a large record may be sent: less than half of the ring is taken. */
__hidden bool record_has_room(void);

/*
 * Sends or counts the record in scratch, whose identity and frames are complete, and gives the
 * scratch space back.
 */
__hidden int record_submit(struct scratch *scratch, struct wire_counters *counters);

#endif
