/* The state of a walk: the registers of one frame. See unwind_step.h. */
#ifndef STOOK_BPF_UNWIND_WALK_H
#define STOOK_BPF_UNWIND_WALK_H

#include "unwind_format.h"

/* Registers known in the innermost frame, as bits by DWARF number. */
#if UNWIND_REG_RA == 16
#define UNWIND_FIRST_KNOWN 0xffffU
#else
#define UNWIND_FIRST_KNOWN 0xffffffffU
#endif

/* How often a walk may continue at a lower address: signal stacks, Go's stacks. */
#define UNWIND_MAX_JUMPS 8

struct unwind_walk {
	__u64 pc;
	__u64 regs[UNWIND_NR_REGS];
	__u32 known;	/* registers valid for this frame, as bits */
	__u32 is_exact; /* pc was interrupted there: innermost frame, or interrupted by a signal */
	__u32 is_call;	/* pc is after an unfinished call, of a function or of the kernel */
	__u32 nr_jumps;
};

/*
 * The address to look up. The byte after a call may belong to another function, so it is the byte
 * before.
 */
static inline __u64 unwind_address(const struct unwind_walk *walk)
{
	return walk->pc - walk->is_call;
}

#endif
