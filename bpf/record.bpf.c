/*
 * Records: identifies the task of a sample and sends the sample to user space. The first occurrence
 * of a stack in an epoch sends the whole record through the ring; later ones add one in the count
 * map.
 * The protocol is described in wire.h; this file owns its maps.
 *
 * The record is submitted before its id is inserted, so that every key in a count map at rest has
 * its record in the ring. A failing insert is harmless, be it because the map is full or another
 * CPU won the race: the record itself counts as one sample.
 */
#include "record.bpf.h"

#include <bpf/bpf_core_read.h>

#include "claim.bpf.h"
#include "follow.bpf.h"
#include "ratio.bpf.h"

#define MAX_SCRATCH_SLOTS 8

/* Sizes are set by user space before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* clang 14 loses the types of an inner map's key and value, so only their sizes are given. */
struct counts {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u64));
	__uint(value_size, sizeof(__u64));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WIRE_EPOCH_SLOTS);
	__uint(key_size, sizeof(__u32));
	__array(values, struct counts);
} counts_by_slot SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_EPOCH_SLOTS);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters_by_slot SEC(".maps");

/*
 * scratch_slots for each possible CPU, sized before loading. Not a per-CPU map: on older kernels a
 * lookup is inlined for a plain array but is a call for a per-CPU one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch_space SEC(".maps");

/* Written by user space only. */
volatile __u32 epoch;
volatile __u32 raw_is_expected; /* user space is about to read the ring: no wakeup needed */

const volatile __u64 hash_seed = 1; /* also the seed of the random choice in stack.bpf.c */

/* If set, samples have weights and the values of count maps are struct wire_count. */
const volatile bool by_weight;

/* If set, samples are also distinguished by these fields. */
const volatile bool by_tid, by_cpu, by_cgroup;

/* Scratch spaces per CPU. Samples need one; probes can be preempted and need more. */
const volatile __u32 scratch_slots = 1;

#define IDENTITY_WORDS \
	((sizeof(struct wire_record) - __builtin_offsetof(struct wire_record, start_time_ns)) / 8)

/* The task of the sample. Fields that samples are not distinguished by are 0. */
static __always_inline void identify(struct wire_record *record, struct task_struct *task,
				     bool is_current)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	record->start_time_ns = BPF_CORE_READ(leader, start_time);
	record->exec_id = BPF_CORE_READ(task, self_exec_id);
	record->pid = visible_pid(leader);
	record->tid = by_tid ? visible_pid(task) : 0;
	record->cpu = by_cpu ? bpf_get_smp_processor_id() : 0;
	record->cgroup = !by_cgroup   ? 0
			 : is_current ? bpf_get_current_cgroup_id()
				      : cgroup_of(task);
	if (is_current)
		bpf_get_current_comm(record->comm, sizeof(record->comm));
	else
		BPF_CORE_READ_INTO(&record->comm, task, comm);
}

/* The time is read before the epoch, so that no record of epoch n is later than the end of n. */
__hidden struct wire_counters *record_enter(__u64 *ret_time, __u32 *ret_epoch)
{
	struct wire_counters *counters;
	__u32 slot;

	*ret_time = bpf_ktime_get_ns();
	*ret_epoch = epoch;
	slot = *ret_epoch % WIRE_EPOCH_SLOTS;
	counters = bpf_map_lookup_elem(&counters_by_slot, &slot);
	if (counters)
		ATOMIC_ADD(counters->entries, 1);
	return counters;
}

__hidden struct scratch *record_scratch(__u32 slot)
{
	return bpf_map_lookup_elem(&scratch_space, &slot);
}

__hidden bool record_has_room(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <
	       bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2;
}

__hidden struct scratch *record_begin(struct wire_counters *counters, __u64 time_ns, __u32 epoch_nr,
				      struct task_struct *task)
{
	__u32 first = bpf_get_smp_processor_id() * scratch_slots, i;

	for (i = 0; i < MAX_SCRATCH_SLOTS && i < scratch_slots; i++) {
		struct scratch *scratch = record_scratch(first + i);

		if (scratch && claim(&scratch->busy)) {
			scratch->slot = first + i;
			scratch->record.time_ns = time_ns;
			scratch->record.epoch = epoch_nr;
			identify(&scratch->record, task, true);
			return scratch;
		}
	}
	ATOMIC_ADD(counters->lost[LOST_SCRATCH], 1);
	return NULL;
}

__hidden void record_identify(struct scratch *scratch, __u64 time_ns, __u32 epoch_nr,
			      struct task_struct *task, bool is_current)
{
	scratch->record.time_ns = time_ns;
	scratch->record.epoch = epoch_nr;
	identify(&scratch->record, task, is_current);
}

/* Not on the stack, which the walk needs. */
static const struct wire_count no_count;

__hidden struct wire_count *record_count(__u32 epoch_nr, const struct wire_count_key *key)
{
	__u32 slot = epoch_nr % WIRE_EPOCH_SLOTS;
	void *counts = bpf_map_lookup_elem(&counts_by_slot, &slot);
	struct wire_count_key wanted = *key;
	struct wire_count *count;

	if (!counts)
		return NULL;
	count = bpf_map_lookup_elem(counts, &wanted);
	if (count || !wanted.waker)
		return count;
	/* The records of both ids have been sent already. */
	bpf_map_update_elem(counts, &wanted, &no_count, BPF_NOEXIST);
	return bpf_map_lookup_elem(counts, &wanted);
}

__hidden int record_send_wait(struct wire_wait *wait)
{
	return bpf_ringbuf_output(&ring, wait, sizeof(*wait), BPF_RB_NO_WAKEUP);
}

static __u64 hash_record(const struct wire_record *record)
{
	const __u64 *words = (const __u64 *)&record->start_time_ns;
	__u32 nr = IDENTITY_WORDS + record->nr_user + record->nr_kernel;
	__u64 hash = hash_seed;
	__u32 i;

	for (i = 0; i < IDENTITY_WORDS + WIRE_MAX_FRAMES; i++) {
		if (i >= nr)
			break;
		hash = mix(hash, words[i]);
	}
	return mix(hash, nr);
}

static bool is_full(__u64 bytes)
{
	__u64 used = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);

	return used + bytes + 16 > size;
}

/*
 * Before Linux 6.15, an NMI tries the ring's lock once, and gets no space while another CPU holds it,
 * which takes some hundred ns. With 128 CPUs, that are several percent of the samples; so it tries again, for at most
 * some microseconds, the time of a stack walk.
 */
#define OUTPUT_TRIES 32

/* Returns 0, or the reason of the loss + 1. */
static int output(const struct wire_record *record, __u64 bytes, __u64 flags)
{
	__u32 i;

	for (i = 0; i < OUTPUT_TRIES; i++) {
		if (!bpf_ringbuf_output(&ring, (void *)record, bytes, flags))
			return 0;
		if (is_full(bytes))
			return LOST_RING_FULL + 1;
	}
	return LOST_RING_BUSY + 1;
}

static void count_another(struct wire_count *count, const struct wire_record *record)
{
	ATOMIC_ADD(count->count, 1);
	if (by_weight)
		ATOMIC_ADD(count->weight, record->weight);
	if (has_ratio)
		ATOMIC_ADD(count->numerator, record->numerator);
}

/* False: the record is lost. */
static bool send(struct scratch *scratch, struct wire_counters *counters, void *counts)
{
	struct wire_record *record = &scratch->record;
	struct wire_count_key key = {.id = record->id};
	__u64 bytes = wire_record_bytes(record);
	bool is_raw = record->user_end == WALK_RAW;
	int lost;

	if (bytes > sizeof(*record) + sizeof(scratch->frames))
		bytes = sizeof(*record) + sizeof(scratch->frames);
	/* A raw record asks user space for something that is missing; wake it to be quick. */
	lost = output(record, bytes,
		      is_raw && !raw_is_expected ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	if (lost) {
		if (lost == LOST_RING_FULL + 1)
			ATOMIC_ADD(counters->lost[LOST_RING_FULL], 1);
		else
			ATOMIC_ADD(counters->lost[LOST_RING_BUSY], 1);
		return false;
	}
	ATOMIC_ADD(counters->recorded, 1);
	if (counts && !is_raw)
		bpf_map_update_elem(counts, &key, &no_count, BPF_NOEXIST);
	return true;
}

__hidden int record_send(struct scratch *scratch, struct wire_counters *counters)
{
	struct wire_record *record = &scratch->record;
	__u32 slot = record->epoch % WIRE_EPOCH_SLOTS;
	void *counts = bpf_map_lookup_elem(&counts_by_slot, &slot);
	struct wire_count_key key = {};
	struct wire_count *count = NULL;
	bool known = true;

	record->id = record->user_end == WALK_RAW ? 0 : hash_record(record);
	key.id = record->id;
	if (counts && key.id)
		count = bpf_map_lookup_elem(counts, &key);
	if (count) {
		count_another(count, record);
		ATOMIC_ADD(counters->counted, 1);
	} else {
		known = send(scratch, counters, counts);
	}
	return known;
}

__hidden int record_submit(struct scratch *scratch, struct wire_counters *counters)
{
	int known = record_send(scratch, counters);

	scratch->busy = 0;
	return known;
}
