/*
 * One step of a walk: computes the caller's registers from a frame's registers and the rule at its
 * address. Plain C, compiled for the kernel side (walk.bpf.c), for user space (collect/unwind/
 * stack_walk.c) and for tests, so that the three can't differ.
 *
 * Define `struct unwind_memory` and these two functions before including it:
 *
 *	int unwind_read(memory, address, &word)		reads a word of the stack; 0 or negative
 *	const struct unwind_rule *unwind_wide(memory, number)	of the frame's table; NULL if none
 *
 * Only the caller's stack pointer, frame pointer and program counter are recovered. Rules that use
 * other registers work for the innermost frame only, which is where they occur.
 */
#ifndef STOOK_BPF_UNWIND_STEP_H
#define STOOK_BPF_UNWIND_STEP_H

#include "unwind_format.h"
#include "unwind_walk.h"
#include "walk_end.h"

#define UNWIND_BIT(reg)	      (1U << ((reg)&31))
#define UNWIND_KNOWS(walk, r) ((walk)->known & UNWIND_BIT(r))

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
/*
 * Offsets in the kernel's rt_sigframe from sp at the handler's return, where sp points to the
 * ucontext.
 */
#define UNWIND_SIGNAL_FP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168
#define UNWIND_SIGNAL_RA 168 /* no such register */
#else
/* sp points to the siginfo; the ucontext is at sp + 128, its registers at 184 in the ucontext. */
#define UNWIND_SIGNAL_FP (312 + 29 * 8)
#define UNWIND_SIGNAL_SP (312 + 31 * 8)
#define UNWIND_SIGNAL_PC (312 + 32 * 8)
#define UNWIND_SIGNAL_RA (312 + 30 * 8)
#endif

/* The caller's registers. */
struct unwind_caller {
	__u64 pc, sp, fp;
	__u32 knows_fp;
	__u32 may_be_below; /* sp may be lower: the caller may be on another stack */
	__u32 is_exact;
};

/* Makes the caller the current frame. Returns WALK_NONE or the reason why the walk ends. */
static __always_inline int unwind_enter(struct unwind_walk *walk,
					const struct unwind_caller *caller)
{
	__u64 sp = walk->regs[UNWIND_REG_SP];

	if (!caller->pc)
		return WALK_COMPLETE; /* a return address of 0: start of a thread without CFI */
	if (caller->sp & 7)
		return WALK_NO_PROGRESS;
	if (caller->may_be_below && caller->sp < sp && walk->nr_jumps++ >= UNWIND_MAX_JUMPS)
		return WALK_NO_PROGRESS;
	if (!caller->may_be_below && (caller->sp < sp || (caller->sp == sp && !walk->is_exact)))
		return WALK_NO_PROGRESS;
	walk->pc = caller->pc & UNWIND_ADDRESS_MASK;
	walk->regs[UNWIND_REG_SP] = caller->sp;
	walk->regs[UNWIND_REG_FP] = caller->fp;
	walk->known =
		UNWIND_BIT(UNWIND_REG_SP) | (caller->knows_fp ? UNWIND_BIT(UNWIND_REG_FP) : 0);
	walk->is_exact = caller->is_exact;
	walk->is_call = !caller->is_exact;
	return WALK_NONE;
}

/*
 * Follows the frame pointer: it points to the caller's saved frame pointer, and the return address
 * is right above that. Where all code keeps frame pointers (is_kept), they may lead to another
 * stack.
 */
static __always_inline int unwind_by_frame_pointer(struct unwind_memory *memory,
						   struct unwind_walk *walk, __u32 is_kept)
{
	struct unwind_caller caller = {.knows_fp = 1, .may_be_below = is_kept};
	__u64 fp = walk->regs[UNWIND_REG_FP];

	if (!UNWIND_KNOWS(walk, UNWIND_REG_FP))
		return WALK_NO_RULE;
	if (!fp) /* in the innermost frame the register may hold any value, including 0 */
		return walk->is_exact && !is_kept ? WALK_NO_RULE : WALK_COMPLETE;
	if ((fp & 7) || (fp < walk->regs[UNWIND_REG_SP] && !is_kept))
		return WALK_NO_RULE;
	if (unwind_read(memory, fp, &caller.fp) || unwind_read(memory, fp + 8, &caller.pc))
		return WALK_FAULT;
	if (caller.fp == fp)
		return WALK_NO_PROGRESS;
	caller.sp = fp + 16;
	return unwind_enter(walk, &caller);
}

/* Leaves a signal handler: the kernel has saved all registers on the stack. */
static __always_inline int unwind_signal(struct unwind_memory *memory, struct unwind_walk *walk)
{
	struct unwind_caller caller = {.knows_fp = 1, .is_exact = 1, .may_be_below = 1};
	__u64 sp = walk->regs[UNWIND_REG_SP];
	__u64 ra = 0;
	int end;

	if (unwind_read(memory, sp + UNWIND_SIGNAL_FP, &caller.fp) ||
	    unwind_read(memory, sp + UNWIND_SIGNAL_RA, &ra) ||
	    unwind_read(memory, sp + UNWIND_SIGNAL_SP, &caller.sp) ||
	    unwind_read(memory, sp + UNWIND_SIGNAL_PC, &caller.pc))
		return WALK_FAULT;
	end = unwind_enter(walk, &caller);
	if (UNWIND_SIGNAL_RA != UNWIND_SIGNAL_PC) {
		walk->regs[UNWIND_REG_RA] = ra;
		walk->known |= UNWIND_BIT(UNWIND_REG_RA);
	}
	return end;
}

/*
 * Switches from the stack of Go's scheduler to that of the goroutine for which it runs, as Go's own
 * traceback does. The register holds a g of this thread or, for all we know, any other value, so
 * the g0 found through it must point back to the same m. A thread without a goroutine has no caller
 * there. Where this memory can't be read (raw records don't include it), the frame pointer leads to
 * the same stack.
 */
static __always_inline int unwind_go_stack(struct unwind_memory *memory, struct unwind_walk *walk,
					   const struct unwind_rule *rule)
{
	struct unwind_caller caller = {.may_be_below = 1};
	__u64 g = walk->regs[rule->reg & (UNWIND_NR_REGS - 1)];
	__u64 m, g0, m_of_g0, saved_at;

	if (unwind_read(memory, g + (__s64)rule->offset, &m) || unwind_read(memory, m, &g0) ||
	    unwind_read(memory, g0 + (__s64)rule->offset, &m_of_g0) || m_of_g0 != m || !m ||
	    unwind_read(memory, m + (__s64)rule->add, &g))
		return unwind_by_frame_pointer(memory, walk, 1);
	if (!g)
		return WALK_COMPLETE;
	saved_at = g + (__s64)rule->ra.offset;
	if (unwind_read(memory, saved_at, &caller.sp) ||
	    unwind_read(memory, saved_at + 8, &caller.pc))
		return WALK_FAULT;
	if (!caller.sp) /* not switched away from, or already resumed */
		return unwind_by_frame_pointer(memory, walk, 1);
	if (rule->ra.where == UNWIND_AT_CFA) {
		if (unwind_read(memory, caller.sp, &caller.pc))
			return WALK_FAULT;
		caller.sp += 8;
	}
	caller.fp = walk->regs[UNWIND_REG_FP];
	caller.knows_fp = UNWIND_KNOWS(walk, UNWIND_REG_FP) != 0;
	return unwind_enter(walk, &caller);
}

/* Applies a packed rule that needs no wide rule: nearly every frame. */
static __always_inline int unwind_by_packed(struct unwind_memory *memory, struct unwind_walk *walk,
					    __u32 packed)
{
	struct unwind_caller caller = {0};
	__u32 saved = UNWIND_PACKED_SAVED(packed);
	__u64 base, fp_at = 0, ra_at = 0;

	if (UNWIND_PACKED_BASE(packed) == UNWIND_BASE_SP) {
		base = walk->regs[UNWIND_REG_SP];
	} else {
		base = walk->regs[UNWIND_REG_FP];
		if (!UNWIND_KNOWS(walk, UNWIND_REG_FP))
			return WALK_NO_RULE;
	}
	caller.sp = base + UNWIND_PACKED_OFFSET(packed);
	if (saved == UNWIND_SAVED_TOP) {
		ra_at = caller.sp - 8;
	} else if (saved == UNWIND_SAVED_TOP_FP) {
		fp_at = caller.sp - UNWIND_PACKED_SLOT(packed);
		ra_at = caller.sp - 8;
	} else if (saved == UNWIND_SAVED_PAIR) {
		fp_at = caller.sp - UNWIND_PACKED_SLOT(packed);
		ra_at = fp_at + 8;
	} else if (saved == UNWIND_SAVED_AT_BASE) {
		fp_at = base;
		ra_at = base + 8;
	} else if (saved == UNWIND_SAVED_RA) {
		ra_at = caller.sp - UNWIND_PACKED_SLOT(packed);
	}
	caller.fp = walk->regs[UNWIND_REG_FP];
	caller.knows_fp = fp_at || UNWIND_KNOWS(walk, UNWIND_REG_FP);
	if (fp_at && unwind_read(memory, fp_at, &caller.fp))
		return WALK_FAULT;
	if (ra_at) {
		if (unwind_read(memory, ra_at, &caller.pc))
			return WALK_FAULT;
	} else {
		if (!UNWIND_KNOWS(walk, UNWIND_REG_RA))
			return WALK_NO_RULE;
		caller.pc = walk->regs[UNWIND_REG_RA & (UNWIND_NR_REGS - 1)];
	}
	return unwind_enter(walk, &caller);
}

/* Reads the caller's value of a register. Returns WALK_NONE, or the reason for failure. */
static __always_inline int unwind_fetch(struct unwind_memory *memory,
					const struct unwind_walk *walk, struct unwind_place place,
					__u32 own, __u64 cfa, __u64 *ret)
{
	__u32 reg = (place.where == UNWIND_SAME ? own : place.reg) & (UNWIND_NR_REGS - 1);
	__u64 base = walk->regs[reg] + (place.where == UNWIND_SAME ? 0 : (__s64)place.offset);

	if (place.where == UNWIND_LOST)
		return WALK_NO_RULE;
	if (place.where == UNWIND_AT_CFA)
		return unwind_read(memory, cfa + (__s64)place.offset, ret) ? WALK_FAULT : WALK_NONE;
	if (!(walk->known & UNWIND_BIT(reg)))
		return WALK_NO_RULE;
	if (place.where == UNWIND_AT_REGISTER)
		return unwind_read(memory, base, ret) ? WALK_FAULT : WALK_NONE;
	*ret = base;
	return WALK_NONE;
}

/*
 * Computes the canonical frame address of a wide rule. Returns WALK_NONE, or the reason for
 * failure.
 */
static __always_inline int unwind_cfa_of(struct unwind_memory *memory,
					 const struct unwind_walk *walk,
					 const struct unwind_rule *rule, __u64 *ret)
{
	__u32 reg = rule->reg & (UNWIND_NR_REGS - 1);
	__u64 cfa = walk->regs[reg] + (__s64)rule->offset;

	if (!(walk->known & UNWIND_BIT(reg)))
		return WALK_NO_RULE;
	if (rule->cfa == UNWIND_CFA_MEMORY) {
		if (unwind_read(memory, cfa, &cfa))
			return WALK_FAULT;
		cfa += (__s64)rule->add;
	} else if (rule->cfa == UNWIND_CFA_PLT) {
		cfa = walk->regs[UNWIND_REG_SP] + 8;
		if ((walk->pc & 15) >= (__u32)rule->add)
			cfa += 8;
	}
	*ret = cfa;
	return WALK_NONE;
}

static __always_inline int unwind_by_wide(struct unwind_memory *memory, struct unwind_walk *walk,
					  __u32 number)
{
	const struct unwind_rule *rule = unwind_wide(memory, number);
	struct unwind_caller caller = {0};
	int end;

	if (!rule)
		return WALK_NO_RULE;
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return unwind_signal(memory, walk);
	if (rule->cfa == UNWIND_CFA_GO_STACK)
		return unwind_go_stack(memory, walk, rule);
	end = unwind_cfa_of(memory, walk, rule, &caller.sp);
	if (end)
		return end;
	if (unwind_fetch(memory, walk, rule->fp, UNWIND_REG_FP, caller.sp, &caller.fp) == WALK_NONE)
		caller.knows_fp = 1;
	end = unwind_fetch(memory, walk, rule->ra, UNWIND_REG_RA, caller.sp, &caller.pc);
	if (end)
		return end;
	caller.is_exact = caller.may_be_below = rule->is_signal_frame;
	return unwind_enter(walk, &caller);
}

/* Returns WALK_NONE if walk is now the caller's frame, else how the walk ended. */
static __always_inline int unwind_step(struct unwind_memory *memory, struct unwind_walk *walk,
				       __u32 packed)
{
	switch (UNWIND_PACKED_BASE(packed)) {
	case UNWIND_BASE_SPECIAL:
		if (packed == UNWIND_PACKED_END)
			return WALK_COMPLETE;
		return unwind_by_frame_pointer(memory, walk, packed == UNWIND_PACKED_CHAIN);
	case UNWIND_BASE_WIDE:
		return unwind_by_wide(memory, walk, UNWIND_PACKED_NUMBER(packed));
	default:
		return unwind_by_packed(memory, walk, packed);
	}
}

#endif
