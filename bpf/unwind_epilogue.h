/*
 * Unwinds JIT-compiled code by decoding the instructions from the current one up to the return:
 * their effect on the stack pointer gives the location of the return address. Nothing is guessed:
 * only instructions that move the stack pointer, save or restore the frame pointer, or call are
 * followed; for any other one there is no rule. That is enough for the trampolines that CPython
 * puts between its functions (-X perf), in the variants of all its versions:
 *
 *	sub $8, %rsp; call *%rcx; add $8, %rsp; ret			x86-64, 3.12 and 3.13
 *	push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret		x86-64, 3.14
 *	stp x29, x30, [sp, -16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], 16; ret	arm64
 *
 * Plain C, for the kernel side and for tests. Each call decodes one instruction, with all state in
 * memory: the kernel side calls it as a global function, so the verifier checks the code only once.
 */
#ifndef STOOK_BPF_UNWIND_EPILOGUE_H
#define STOOK_BPF_UNWIND_EPILOGUE_H

#include "unwind_format.h"

#define UNWIND_CODE_BYTES	 32 /* a power of two: offsets are kept within bounds by masks */
#define UNWIND_CODE_INSTRUCTIONS 12

/* Register numbers in instructions. */
#define UNWIND_X86_RSP 4
#define UNWIND_X86_RBP 5

/*
 * The rule for CPython's trampoline after its call, where frame pointers don't lead out of it. For
 * walks that can't read code.
 */
#if UNWIND_REG_RA == 16
#define UNWIND_PACKED_TRAMPOLINE UNWIND_PACK(UNWIND_BASE_SP, UNWIND_SAVED_TOP, 2, 0)
#else
#define UNWIND_PACKED_TRAMPOLINE UNWIND_PACKED_NONE
#endif

/* Where the caller's value of a register is after the instructions decoded so far. */
enum unwind_kept {
	UNWIND_KEPT,  /* in the register */
	UNWIND_SAVED, /* on the stack, from before the first instruction decoded */
	UNWIND_GONE,
};

struct unwind_epilogue {
	__u8 code[UNWIND_CODE_BYTES + 8]; /* from the program counter on; unreadable bytes are 0 */
	__u32 at;			  /* offset of the next instruction */
	__s32 sp;			  /* change of the stack pointer so far */
	__s32 saved_at;	 /* where the frame pointer was saved, in the same coordinates as sp */
	__s32 pushed_at; /* where the decoded instructions pushed it; 0: not pushed */
	__u32 fp, ra;	 /* enum unwind_kept */
	__u32 packed;	 /* the resulting rule */
};

enum unwind_epilogue_end {
	UNWIND_EPILOGUE_ON,
	UNWIND_EPILOGUE_RETURNS, /* packed is valid */
	UNWIND_EPILOGUE_UNKNOWN,
};

static __always_inline __u32 unwind_code_word(const struct unwind_epilogue *epilogue)
{
	__u32 at = epilogue->at & (UNWIND_CODE_BYTES - 1);

	return epilogue->code[at] | epilogue->code[at + 1] << 8 | epilogue->code[at + 2] << 16 |
	       (__u32)epilogue->code[at + 3] << 24;
}

/* Handles a return with the stack pointer `top` bytes above its initial value. */
static __always_inline int unwind_epilogue_return(struct unwind_epilogue *epilogue, __s32 top,
						  enum unwind_saved kept, enum unwind_saved saved)
{
	__u32 slot = epilogue->fp == UNWIND_SAVED ? top - epilogue->saved_at : 0;

	if (epilogue->fp == UNWIND_GONE || epilogue->ra == UNWIND_GONE || epilogue->sp < 0 ||
	    (top & 7) || top / 8 > UNWIND_OFFSET_MAX || (slot & 7) || slot / 8 > UNWIND_SLOT_MAX)
		return UNWIND_EPILOGUE_UNKNOWN;
	epilogue->packed = UNWIND_PACK(UNWIND_BASE_SP, slot ? saved : kept, top / 8, slot / 8);
	return UNWIND_EPILOGUE_RETURNS;
}

/*
 * Moves the stack pointer. Signal handlers may overwrite memory below it. So if the stack pointer
 * has risen above its initial value, past the values saved for the caller, a later decrease means
 * that the code was misunderstood.
 */
static __always_inline int unwind_epilogue_move(struct unwind_epilogue *epilogue, __s32 bytes)
{
	if (bytes < 0 && epilogue->sp > 0)
		return UNWIND_EPILOGUE_UNKNOWN;
	epilogue->sp += bytes;
	if (epilogue->pushed_at < epilogue->sp)
		epilogue->pushed_at = 0;
	return UNWIND_EPILOGUE_ON;
}

/* Pushes the frame pointer (on arm64 along with the return address) to the top of the stack. */
static __always_inline void unwind_epilogue_push_fp(struct unwind_epilogue *epilogue)
{
	epilogue->pushed_at = epilogue->fp == UNWIND_KEPT ? epilogue->sp : 0;
}

/* Pops the frame pointer from the top of the stack. */
static __always_inline void unwind_epilogue_pop_fp(struct unwind_epilogue *epilogue)
{
	if (epilogue->pushed_at && epilogue->sp == epilogue->pushed_at)
		epilogue->fp = UNWIND_KEPT;
	else
		epilogue->fp = epilogue->sp < 0 ? UNWIND_GONE : UNWIND_SAVED;
	epilogue->saved_at = epilogue->sp;
}

/* Decodes the next instruction. Returns enum unwind_epilogue_end. */
static __always_inline int unwind_epilogue_next_x86(struct unwind_epilogue *epilogue)
{
	__u32 word = unwind_code_word(epilogue), nr = 1;
	__s32 number = (__s32)word >> 24; /* a signed 8-bit immediate, the fourth byte */
	__s32 move = 0;

	if (epilogue->at >= UNWIND_CODE_BYTES)
		return UNWIND_EPILOGUE_UNKNOWN;
	if ((word & 0xff) == 0xc3 || (word & 0xffff) == 0xc3f3) /* ret */
		return unwind_epilogue_return(epilogue, epilogue->sp + 8, UNWIND_SAVED_TOP,
					      UNWIND_SAVED_TOP_FP);
	if ((word & 0xf0ff) == 0x5041) { /* push or pop of r8 to r15; which one doesn't matter */
		word = word >> 8 & 0xf8;
		nr = 2;
	}
	if ((word & 0xf8) == 0x50) { /* push */
		move = -8;
	} else if ((word & 0xf8) == 0x58) { /* pop */
		if ((word & 7) == UNWIND_X86_RSP)
			return UNWIND_EPILOGUE_UNKNOWN;
		if ((word & 7) == UNWIND_X86_RBP)
			unwind_epilogue_pop_fp(epilogue);
		move = 8;
	} else if ((word & 0xffffff) == 0xc48348) { /* add $number, %rsp */
		move = number;
		nr = 4;
	} else if ((word & 0xffffff) == 0xec8348) { /* sub $number, %rsp */
		move = -number;
		nr = 4;
	} else if ((word & 0xffffff) == 0xe58948) { /* mov %rsp, %rbp */
		epilogue->fp = UNWIND_GONE;
		nr = 3;
	} else if ((word & 0xf8ff) == 0xd0ff) { /* call *register */
		nr = 2;
	} else if ((word & 0xf8ffff) == 0xd0ff41) {
		nr = 3;
	} else if (word == 0xfa1e0ff3) { /* endbr64 */
		nr = 4;
	} else {
		return UNWIND_EPILOGUE_UNKNOWN;
	}
	epilogue->at += nr;
	if (unwind_epilogue_move(epilogue, move))
		return UNWIND_EPILOGUE_UNKNOWN;
	if ((word & 0xff) == (0x50 | UNWIND_X86_RBP))
		unwind_epilogue_push_fp(epilogue);
	return UNWIND_EPILOGUE_ON;
}

static __always_inline int unwind_epilogue_next_arm64(struct unwind_epilogue *epilogue)
{
	__u32 word = unwind_code_word(epilogue);
	__s32 pair = ((__s32)(word << 10) >> 25) * 8; /* offset in a load or store of a pair */
	__s32 move = 0;

	if (epilogue->at >= UNWIND_CODE_BYTES)
		return UNWIND_EPILOGUE_UNKNOWN;
	if (word == 0xd65f03c0 || word == 0xd65f0bff) /* ret, retaa */
		return unwind_epilogue_return(epilogue, epilogue->sp, UNWIND_SAVED_LR,
					      UNWIND_SAVED_PAIR);
	if ((word & 0xffc07fff) == 0xa9807bfd) { /* stp x29, x30, [sp, pair]! */
		move = pair;
		if (move >= 0)
			return UNWIND_EPILOGUE_UNKNOWN;
	} else if ((word & 0xffc07fff) == 0xa8c07bfd) { /* ldp x29, x30, [sp], pair */
		unwind_epilogue_pop_fp(epilogue);
		epilogue->ra = epilogue->fp;
		move = pair;
	} else if ((word & 0xffc003ff) == 0x910003ff) { /* add sp, sp, number */
		move = word >> 10 & 0xfff;
	} else if ((word & 0xffc003ff) == 0xd10003ff) { /* sub sp, sp, number */
		move = -(__s32)(word >> 10 & 0xfff);
	} else if (word == 0x910003fd) { /* mov x29, sp */
		epilogue->fp = UNWIND_GONE;
	} else if ((word & 0xfffffc1f) == 0xd63f0000) { /* blr */
		epilogue->ra = UNWIND_GONE;
	} else if ((word & 0xfffff01f) != 0xd503201f) { /* hints: bti, paciasp, … */
		return UNWIND_EPILOGUE_UNKNOWN;
	}
	epilogue->at += 4;
	if (unwind_epilogue_move(epilogue, move))
		return UNWIND_EPILOGUE_UNKNOWN;
	if ((word & 0xffc07fff) == 0xa9807bfd)
		unwind_epilogue_push_fp(epilogue);
	return UNWIND_EPILOGUE_ON;
}

#if UNWIND_REG_RA == 16
#define unwind_epilogue_next unwind_epilogue_next_x86
#else
#define unwind_epilogue_next unwind_epilogue_next_arm64
#endif

#endif
