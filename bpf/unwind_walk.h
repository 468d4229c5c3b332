/* Where a walk is: the registers of one frame. See unwind_step.h. */
#ifndef STOOK_BPF_UNWIND_WALK_H
#define STOOK_BPF_UNWIND_WALK_H

#include "unwind_format.h"

struct unwind_walk {
	__u64 pc;
	__u64 regs[UNWIND_NR_REGS]; /* by DWARF number */
	__u32 known;		    /* which of them are this frame's: bits */
	__u32 is_exact; /* pc was interrupted there: the innermost frame, or one below a signal's */
};

#endif
