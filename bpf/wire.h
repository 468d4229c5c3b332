/*
 * All that user space and the BPF programs agree on: the record of a stack, the counters, the
 * reasons for loss. Both sides compile this one header.
 *
 * The protocol. Time is cut into epochs. On the first sight of a stack in an epoch its whole
 * record goes through the ring, and its id into that epoch's count map with the value 0; each
 * later sight adds one there. So a record is a sample, and a count says how many more like it
 * there were. Where samples have weights (bytes asked for, or the hits of a probe that one of them
 * stands for), a value has their sum as well.
 *
 * Epoch n uses slot n % 3 of the count maps and of the counters. User space begins epoch n + 1 by
 * writing `epoch`, and then puts a fresh map into the slot of epoch n + 2, which nobody uses. That
 * update returns only once every program that was running has finished: from then on everything
 * of epoch n is at rest, its counters too. (With two slots the fresh map would go where a program
 * that read `epoch` just before still looks for epoch n's.)
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

/* id, name, and the sentence that the report of a run has for it. */
#define WIRE_LOSS_REASONS(X)                                                            \
	X(RING_FULL, "ring_full", "the ring buffer was full: user space came too late") \
	X(RING_BUSY, "ring_busy", "the ring buffer's lock was held by another CPU")     \
	X(SCRATCH, "scratch", "no scratch space: the sample hit inside another one")

enum wire_loss {
#define X(id, name, sentence) LOST_##id,
	WIRE_LOSS_REASONS(X)
#undef X
		WIRE_NR_LOSS_REASONS
};

/*
 * One per CPU and slot, never cleared: what an epoch brought is the difference to its last reading.
 */
struct wire_counters {
	__u64 entries;
	__u64 idle;
	__u64 own; /* of the profiler's own processes, where these are left out */
	__u64 filtered;
	__u64 recorded;
	__u64 counted;
	__u64 thinned; /* hits of probes that others stand for, see bpf/stack.bpf.c */
	__u64 lost[WIRE_NR_LOSS_REASONS];
	__u64 weight; /* of all entries: the sum of the event's periods */
};

/*
 * A stack that could not be walked in the kernel comes raw (WALK_RAW): its user words are not
 * frames but registers, by DWARF number and with the program counter last (its highest bit says
 * that it is behind a system call that is under way), and then the stack's memory, from a red
 * zone's length below the stack pointer (rounded down to a multiple of 8) on: functions may keep
 * things there, and in their last instructions a saved register may still be there. Such a record
 * is never counted.
 */
#define WIRE_RAW_REGS	     33
#define WIRE_RAW_PC	     32
#define WIRE_RAW_STACK_BYTES 32768
#define WIRE_RAW_IN_CALL     (1ULL << 63)
#define WIRE_RAW_RED_ZONE    128
#define WIRE_RAW_STACK	     (WIRE_RAW_REGS + WIRE_RAW_RED_ZONE / 8) /* the word at sp */
#define WIRE_MAX_RAW_WORDS   (WIRE_RAW_STACK + WIRE_RAW_STACK_BYTES / 8)

/*
 * A stack and whose it is. Everything from `start_time_ns` to the last frame is what the id is a
 * hash of: fields that are not to tell samples apart are 0. There is no padding.
 */
struct wire_record {
	__u64 id;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 epoch;
	__u32 reserved;
	__u64 weight; /* of this sample */

	__u64 start_time_ns; /* of the process; tells apart two that had one pid */
	__u64 exec_id;	     /* grows with every exec, which changes neither pid nor start time */
	__u64 cgroup;
	__u32 pid, tid; /* as the profiler's pid namespace has them; 0: not visible there */
	__u32 cpu;
	__u16 nr_user, nr_kernel;
	char comm[WIRE_COMM_BYTES];
	__u8 user_end, kernel_end; /* enum walk_end */
	__u16 zero;
	__u32 probe; /* its number, where stacks lead to probes; else 0 */
		     /*
	 * __u64 frames[nr_user + nr_kernel] follow: user, then kernel, each leaf first. All but the
	 * first of each are return addresses. Code that a signal interrupted has returned nowhere:
	 * there it is the address plus one, so that the byte before is the one to look up.
	 */
};

_Static_assert(sizeof(struct wire_record) == 96, "no padding: the id is a hash over these bytes");

/* Of a count map; without weights it has only the first of these. */
struct wire_count {
	__u64 count;
	__u64 weight;
};

/* With its frames. */
static inline __u64 wire_record_bytes(const struct wire_record *record)
{
	return sizeof(*record) + ((__u64)record->nr_user + record->nr_kernel) * sizeof(__u64);
}

#endif
