/*
 * The format of unwind tables, shared by the compiler that makes them (src/elf), the code that
 * reads them in the kernel and in user space (unwind_step.h), and the disk cache. No BPF in here.
 *
 * A *rule* describes how to find a function's caller from some instruction. Registers have their
 * DWARF numbers. Nearly all code is described by packed rules of 24 bits; other rules are stored as
 * *wide rules* beside the table, and the packed rule is then the number of the wide one.
 *
 * A *page* has the rules of 64 KiB of code:
 *
 *	u32 index[256]	for each 256 bytes of code: a packed rule, if one rule applies to all of them
 *			(UNWIND_INDEX_RULE is set), else the position of their rows
 *	u32 rows[]	packed rule << 8 | first byte (0..255) to which it applies; sorted, the
 *			first one is for byte 0
 *
 * So a lookup touches two or three cache lines. Equal sequences of rows are stored once.
 *
 * A *table* consists of a file's pages, in the order of file offsets, and its wide rules.
 */
#ifndef STOOK_BPF_UNWIND_FORMAT_H
#define STOOK_BPF_UNWIND_FORMAT_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

#define UNWIND_FORMAT_VERSION 5

/* DWARF register numbers: x86-64 has 0..16 (16: the return address), arm64 0..31. */
#define UNWIND_NR_REGS 32

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define UNWIND_REG_FP	    6
#define UNWIND_REG_SP	    7
#define UNWIND_REG_RA	    16
#define UNWIND_ADDRESS_MASK 0x7fffffffffffULL
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define UNWIND_REG_FP	    29
#define UNWIND_REG_SP	    31
#define UNWIND_REG_RA	    30
#define UNWIND_ADDRESS_MASK 0xffffffffffffULL /* the bits above are for pointer authentication */
#else
#error "stook knows x86-64 and arm64"
#endif

/* How to compute the canonical frame address (CFA), the caller's stack pointer. */
enum unwind_cfa {
	UNWIND_CFA_NONE,     /* no rule is known: outside all functions, or not understood */
	UNWIND_CFA_END,	     /* there is no caller: a program or a thread begins here */
	UNWIND_CFA_REGISTER, /* reg + offset */
	UNWIND_CFA_MEMORY,   /* *(reg + offset) + add: realigned stacks */
	UNWIND_CFA_PLT,	     /* lazy PLT stubs of 16 bytes: sp + 8; from byte `add` on sp + 16 */
	UNWIND_CFA_SIGNAL,   /* return of a signal handler: all registers are in the frame at sp */
	UNWIND_CFA_CHAIN,    /* follow the frame pointer, possibly to another stack: Go */
	UNWIND_CFA_GO_STACK, /* from the stack of Go's scheduler to the goroutine's: see below */
};

/* Where the caller's value of a register is. */
enum unwind_where {
	UNWIND_SAME,	    /* in the register itself */
	UNWIND_AT_CFA,	    /* in memory at CFA + offset */
	UNWIND_AT_REGISTER, /* in memory at reg + offset */
	UNWIND_IN_REGISTER, /* in another register, plus offset */
	UNWIND_LOST,	    /* not recoverable; for the return address: there is no caller */
};

struct unwind_place {
	__u8 where; /* enum unwind_where */
	__u8 reg;
	__s32 offset __attribute__((packed, aligned(2)));
};

struct unwind_rule {
	__u8 cfa; /* enum unwind_cfa */
	__u8 reg;
	__u8 is_signal_frame; /* from CFI: the caller was interrupted, it made no call */
	__u8 zero;
	__s32 offset;
	__s32 add;
	struct unwind_place ra, fp;
};

/*
 * UNWIND_CFA_GO_STACK, for Go's systemstack() and morestack(): `reg` holds the running g; its value
 * is still that of the innermost frame, since no other Go code uses that register. g + offset
 * points to its m, m to the m's g0, and m + add to its curg, the goroutine. At curg + ra.offset is
 * the saved stack pointer, followed by the saved program counter. ra.where gives the return
 * address: UNWIND_SAME: it is the saved program counter; UNWIND_AT_CFA: it is below the CFA, the
 * saved stack pointer points to it.
 */

_Static_assert(sizeof(struct unwind_rule) == 24, "no padding: rules are compared as bytes");

/*
 * Packed rules: 24 bits.
 *
 *	bits 0..1	base: the CFA is sp or fp plus an offset; or the rest is a number
 *	bits 2..4	how the return address (ra) and the frame pointer were saved
 *	bits 5..16	the CFA's offset from its base, in units of 8
 *	bits 17..23	slot: how far below the CFA registers were saved, in units of 8
 */
enum unwind_base {
	UNWIND_BASE_SPECIAL, /* bits 2..23: enum unwind_cfa: NONE, END or CHAIN */
	UNWIND_BASE_SP,
	UNWIND_BASE_FP,
	UNWIND_BASE_WIDE, /* bits 2..23: the number of a wide rule */
};

enum unwind_saved {
	UNWIND_SAVED_TOP,     /* ra at CFA - 8, fp unchanged (x86) */
	UNWIND_SAVED_TOP_FP,  /* ra at CFA - 8, fp at CFA - slot (x86) */
	UNWIND_SAVED_LR,      /* ra in its register, fp unchanged (arm64) */
	UNWIND_SAVED_PAIR,    /* fp at CFA - slot, ra right above it (arm64) */
	UNWIND_SAVED_AT_BASE, /* fp where the base register points, ra right above it (arm64) */
	UNWIND_SAVED_RA,      /* ra at CFA - slot, fp unchanged (arm64) */
};

#define UNWIND_OFFSET_MAX 4095 /* units of 8 */
#define UNWIND_SLOT_MAX	  127

#define UNWIND_PACK(base, saved, offset, slot) \
	((__u32)(base) | (__u32)(saved) << 2 | (__u32)(offset) << 5 | (__u32)(slot) << 17)
#define UNWIND_PACK_NUMBER(base, number) ((__u32)(base) | (__u32)(number) << 2)

#define UNWIND_PACKED_BASE(packed)   ((packed)&3)
#define UNWIND_PACKED_NUMBER(packed) ((packed) >> 2 & 0x3fffff)
#define UNWIND_PACKED_SAVED(packed)  ((packed) >> 2 & 7)
#define UNWIND_PACKED_OFFSET(packed) (((packed) >> 5 & 0xfff) * 8)
#define UNWIND_PACKED_SLOT(packed)   (((packed) >> 17 & 0x7f) * 8)

#define UNWIND_PACKED_NONE  UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, UNWIND_CFA_NONE)
#define UNWIND_PACKED_END   UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, UNWIND_CFA_END)
#define UNWIND_PACKED_CHAIN UNWIND_PACK_NUMBER(UNWIND_BASE_SPECIAL, UNWIND_CFA_CHAIN)

#define UNWIND_MAX_WIDE 32768 /* wide rules per table */

/* Pages. */
#define UNWIND_PAGE_SHIFT    16
#define UNWIND_BUCKET_SHIFT  8
#define UNWIND_PAGE_BUCKETS  (1 << (UNWIND_PAGE_SHIFT - UNWIND_BUCKET_SHIFT))
#define UNWIND_PAGE_MAX_ROWS (1 << UNWIND_PAGE_SHIFT)

/*
 * An index entry: the rule itself, or the first row (number within the page) and the number of
 * rows.
 */
#define UNWIND_INDEX_RULE	  0x80000000U
#define UNWIND_INDEX(first, nr)	  ((__u32)(first) | (__u32)(nr) << 17) /* nr: 1 to 256 */
#define UNWIND_INDEX_FIRST(entry) ((entry)&0x1ffff)
#define UNWIND_INDEX_NR(entry)	  ((entry) >> 17 & 0x1ff)

#define UNWIND_ROW(offset, packed) ((__u32)(packed) << 8 | (__u32)(offset))
#define UNWIND_ROW_OFFSET(row)	   ((row)&0xff)
#define UNWIND_ROW_RULE(row)	   ((row) >> 8)

#endif
