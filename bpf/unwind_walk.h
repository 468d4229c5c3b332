/* Where a walk is: the registers of one frame. See unwind_step.h. */
#ifndef STOOK_BPF_UNWIND_WALK_H
#define STOOK_BPF_UNWIND_WALK_H

#include "unwind_format.h"

/* Registers that are known of an innermost frame: bits, by DWARF number. */
#if UNWIND_REG_RA == 16
#define UNWIND_FIRST_KNOWN 0xffffU
#else
#define UNWIND_FIRST_KNOWN 0xffffffffU
#endif

/* How often a walk may go on at a lower address: signal stacks, Go's stacks. */
#define UNWIND_MAX_JUMPS 8

struct unwind_walk {
	__u64 pc;
	__u64 regs[UNWIND_NR_REGS];
	__u32 known;	/* which of them are this frame's: bits */
	__u32 is_exact; /* pc was interrupted there: the innermost frame, or one below a signal's */
	__u32 is_call;	/* pc is behind a call that is under way, of a function or of the kernel */
	__u32 nr_jumps;
};

/* The address to look up: what is behind a call may be another function already. */
static inline __u64 unwind_address(const struct unwind_walk *walk)
{
	return walk->pc - walk->is_call;
}

#endif
