/* Records: identify the current task and send samples to user space. See record.bpf.c. */
#ifndef STOOK_BPF_RECORD_H
#define STOOK_BPF_RECORD_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "claim.bpf.h"
#include "wire.h"

#define SCRATCH_SPARE_WORDS 512 /* one page: the verifier's bounds are coarser than the real ones */

/* A record under construction, with room for the largest one. */
struct scratch {
	__u32 busy;
	__u32 slot; /* index of this scratch space */
	struct wire_record record;
	/* Directly follows the record, as in the ring: user words, then kernel frames. */
	__u64 frames[WIRE_MAX_RAW_WORDS + SCRATCH_SPARE_WORDS];
};

_Static_assert(WIRE_MAX_USER_FRAMES <= WIRE_MAX_RAW_WORDS, "frames fit where raw words do");
_Static_assert(WIRE_MAX_KERNEL_FRAMES <= SCRATCH_SPARE_WORDS, "kernel frames fit behind them");

/* If set, records have weights, which are summed along with their counts. Set before loading. */
extern const volatile bool by_weight;

extern const volatile __u64 hash_seed;

/* If set, samples are also distinguished by these fields. */
extern const volatile bool by_tid, by_cpu, by_cgroup;

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xd6e8feb86659fd93ULL;
	return hash ^ (hash >> 32);
}

/*
 * Thinning: of `one_of` events in a row, one is taken with a weight of `one_of`. Returns the weight of event number
 * `nr` of a stream; 0: another event represents it. The one that is taken is chosen pseudo-randomly within each block
 * of `one_of` events, seeded by the stream and the block's number, so that a repeating pattern is not misrepresented,
 * as it would be if every n-th event were taken. The sum of the weights is the number of events, except for the last,
 * incomplete block.
 */
static __always_inline __u64 represented(__u32 one_of, __u64 stream, __u64 nr)
{
	__u64 block;

	if (one_of < 2)
		return 1;
	block = mix(mix(hash_seed, stream), nr / one_of);
	return nr % one_of == (block >> 8) % one_of ? one_of : 0;
}

/*
 * Begins a sample: fixes its time and epoch and counts the entry. NULL if the sample can't be
 * taken.
 */
__hidden struct wire_counters *record_enter(__u64 *ret_time, __u32 *ret_epoch);

/* The scratch space with index slot; for code whose caller has claimed it. */
__hidden struct scratch *record_scratch(__u32 slot);

/*
 * Claims one of this CPU's scratch spaces and fills in a record's time, epoch and task (optional
 * fields that were not asked for are 0). NULL if all are taken; the loss is counted.
 */
__hidden struct scratch *record_begin(struct wire_counters *counters, __u64 time_ns, __u32 epoch_nr,
				      struct task_struct *task);

/* Likewise fills in a record in scratch space that belongs to the caller, and of any task. */
__hidden void record_identify(struct scratch *scratch, __u64 time_ns, __u32 epoch_nr,
			      struct task_struct *task, bool is_current);

/*
 * Returns the count of a record's id in an epoch. One with a waker is made if there is none; else NULL if the record is
 * not counted.
 */
__hidden struct wire_count *record_count(__u32 epoch_nr, const struct wire_count_key *key);

/* Sends other data than a record, without a wake-up. Returns 0 if the ring took it. */
__hidden int record_send_wait(struct wire_wait *wait);

/* True if less than half of the ring is in use, so that a large record may be sent. */
__hidden bool record_has_room(void);

/*
 * Send or count the record in scratch, whose identity and frames are complete. record_submit() releases the scratch
 * space, too. Return 0 if the record is lost; else the record has its id.
 */
__hidden int record_send(struct scratch *scratch, struct wire_counters *counters);
__hidden int record_submit(struct scratch *scratch, struct wire_counters *counters);

#endif
