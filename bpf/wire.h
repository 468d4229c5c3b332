/*
 * The protocol between user space and the BPF programs: the record of a stack, the counters, the
 * reasons for loss. Both sides compile this header.
 *
 * Time is divided into epochs. On the first occurrence of a stack in an epoch its whole record goes
 * through the ring, and its id is inserted into that epoch's count map with the value 0; each later
 * occurrence adds one there. So a record is one sample, and a count is the number of further equal
 * samples. Where samples have weights (requested bytes, or the number of a probe's hits that one
 * sample represents), count maps also have the sum of the weights.
 *
 * Epoch n uses slot n % 3 of the count maps and of the counters. User space begins epoch n + 1 by
 * writing `epoch`, and then puts an empty map into the slot of epoch n + 2, which is unused. That
 * update returns only after all programs that were running have finished: from then on all data of
 * epoch n is at rest, including its counters. (With two slots the empty map would replace the map
 * of epoch n while a program that read `epoch` just before still uses it.)
 *
 * At rest, for each epoch, in samples and exactly:
 *	entries = idle + own + filtered + recorded + counted + thinned + the sum of lost[]
 */
#ifndef STOOK_BPF_WIRE_H
#define STOOK_BPF_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

#include "walk_end.h"

#define WIRE_COMM_BYTES	       16
#define WIRE_MAX_USER_FRAMES   512
#define WIRE_MAX_KERNEL_FRAMES 256
#define WIRE_MAX_FRAMES	       (WIRE_MAX_USER_FRAMES + WIRE_MAX_KERNEL_FRAMES)
#define WIRE_EPOCH_SLOTS       3

/* id, name, and the text in the report of a run. */
#define WIRE_LOSS_REASONS(X)                                                \
	X(RING_FULL, "ring_full", "ring buffer full: not read in time")     \
	X(RING_BUSY, "ring_busy", "ring buffer's lock held by another CPU") \
	X(SCRATCH, "scratch", "no scratch space: sample interrupted another one")

enum wire_loss {
#define X(id, name, sentence) LOST_##id,
	WIRE_LOSS_REASONS(X)
#undef X
		WIRE_NR_LOSS_REASONS
};

/* One per CPU and slot, never cleared: an epoch's counts are the difference to the last reading. */
struct wire_counters {
	__u64 entries;
	__u64 idle;
	__u64 own; /* by the profiler's own processes, if these are excluded */
	__u64 filtered;
	__u64 recorded;
	__u64 counted;
	__u64 thinned; /* hits of probes represented by others, see bpf/stack.bpf.c */
	__u64 lost[WIRE_NR_LOSS_REASONS];
	__u64 weight; /* of all entries: the sum of the event's periods */
};

/*
 * A stack that could not be walked in the kernel is sent raw (WALK_RAW). Its user words are not
 * frames but registers, by DWARF number and with the program counter last (its highest bit is set
 * inside a system call), followed by the stack's memory. That starts below the stack pointer
 * (rounded down to a multiple of 8) by the length of a red zone: functions may keep data there, and
 * in their last instructions still have a saved register there. Raw records are never counted in
 * count maps.
 */
#define WIRE_RAW_REGS	     33
#define WIRE_RAW_PC	     32
#define WIRE_RAW_STACK_BYTES 32768
#define WIRE_RAW_IN_CALL     (1ULL << 63)
#define WIRE_RAW_RED_ZONE    128
#define WIRE_RAW_STACK	     (WIRE_RAW_REGS + WIRE_RAW_RED_ZONE / 8) /* index of the word at sp */
#define WIRE_MAX_RAW_WORDS   (WIRE_RAW_STACK + WIRE_RAW_STACK_BYTES / 8)

/*
 * A stack and the task it belongs to. The id is a hash of everything from `start_time_ns` to the
 * last frame: fields that samples are not distinguished by are 0. There is no padding.
 */
struct wire_record {
	__u64 id;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 epoch;
	__u32 reserved;
	__u64 weight; /* of this sample */

	__u64 start_time_ns; /* of the process; distinguishes two that had the same pid */
	__u64 exec_id;	     /* incremented by exec, which changes neither pid nor start time */
	__u64 cgroup;
	__u32 pid, tid; /* in the profiler's pid namespace; 0: not visible there */
	__u32 cpu;
	__u16 nr_user, nr_kernel;
	char comm[WIRE_COMM_BYTES];
	__u8 user_end, kernel_end; /* enum walk_end */
	__u16 zero;
	__u32 probe; /* the probe's number, for stacks that lead to probes; else 0 */

	/*
	 * __u64 frames[nr_user + nr_kernel] follow: user, then kernel, each leaf first. All but the
	 * first of each are return addresses. Code interrupted by a signal has no return address;
	 * its frame is the address plus one, so that the byte before is the one to look up, as for
	 * the others.
	 */
};

_Static_assert(sizeof(struct wire_record) == 96, "no padding: the id is a hash over these bytes");

/* A value of a count map; without weights it has only the first member. */
struct wire_count {
	__u64 count;
	__u64 weight;
};

/* The size of a record with its frames. */
static inline __u64 wire_record_bytes(const struct wire_record *record)
{
	return sizeof(*record) + ((__u64)record->nr_user + record->nr_kernel) * sizeof(__u64);
}

#endif
