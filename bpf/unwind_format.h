/*
 * How unwind tables look: to the compiler that makes them (src/elf), to the step that reads them in
 * the kernel and in user space (unwind_step.h), and to the disk cache. No BPF in here.
 *
 * A *rule* says where a function's caller is to be found at some instruction. Registers have their
 * DWARF numbers. A rule of 24 bits says it for nearly all code; what does not fit is a *wide rule*
 * beside the table, and the packed one is its number.
 *
 * A *page* has the rules of 64 KiB of code:
 *
 *	u32 index[256]	for each 256 bytes of code: a packed rule, if one holds for all of them
 *			(UNWIND_INDEX_RULE is set), else where their rows are
 *	u32 rows[]	packed rule << 8 | from which of the 256 bytes on it holds; sorted, the
 *			first one from byte 0 on
 *
 * So a lookup touches two or three cache lines. Equal stretches of rows are there once.
 *
 * A *table* is a file's pages, in the order of file offsets, and its wide rules.
 */
#ifndef STOOK_BPF_UNWIND_FORMAT_H
#define STOOK_BPF_UNWIND_FORMAT_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

#define UNWIND_FORMAT_VERSION 5

/* Registers by their DWARF numbers: x86-64 has 0..16 (16: the return address), arm64 0..31. */
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
#define UNWIND_ADDRESS_MASK 0xffffffffffffULL /* above it: pointer authentication */
#else
#error "stook knows x86-64 and arm64"
#endif

/* What a wide rule says of the canonical frame address (CFA): the caller's stack pointer. */
enum unwind_cfa {
	UNWIND_CFA_NONE,     /* no rule is known: outside of all functions, or not understood */
	UNWIND_CFA_END,	     /* there is no caller: where a program or a thread begins */
	UNWIND_CFA_REGISTER, /* reg + offset */
	UNWIND_CFA_MEMORY,   /* *(reg + offset) + add: realigned stacks */
	UNWIND_CFA_PLT,	     /* sp + 8, or + 16 from byte `add` of each 16 on: lazy binding stubs */
	UNWIND_CFA_SIGNAL,   /* a signal handler's return: everything is in the frame at sp */
	UNWIND_CFA_CHAIN,    /* the frame pointer leads on, maybe to another stack: Go */
	UNWIND_CFA_GO_STACK, /* from Go's scheduler's stack to the goroutine's: see below */
};

/* Where a register's value of the caller is. */
enum unwind_where {
	UNWIND_SAME,	    /* in the register itself */
	UNWIND_AT_CFA,	    /* in memory at CFA + offset */
	UNWIND_AT_REGISTER, /* in memory at reg + offset */
	UNWIND_IN_REGISTER, /* in another register, plus offset */
	UNWIND_LOST,	    /* nowhere; of the return address: there is no caller */
};

struct unwind_place {
	__u8 where; /* enum unwind_where */
	__u8 reg;
	__s32 offset __attribute__((packed, aligned(2)));
};

struct unwind_rule {
	__u8 cfa; /* enum unwind_cfa */
	__u8 reg;
	__u8 is_signal_frame; /* of CFI: the caller was interrupted and not called */
	__u8 zero;
	__s32 offset;
	__s32 add;
	struct unwind_place ra, fp;
};

/*
 * UNWIND_CFA_GO_STACK, of Go's systemstack() and morestack(): `reg` has the g that runs, which is
 * the innermost frame's still, since no other Go code uses that register. At g + offset is its m; at
 * m the m's g0, at m + add its curg, the goroutine; at curg + ra.offset the stack pointer that was
 * saved, above it the program counter. Where the return address is says ra.where: UNWIND_SAME: it is
 * that program counter; UNWIND_AT_CFA: below the CFA, the saved stack pointer points at it.
 */

_Static_assert(sizeof(struct unwind_rule) == 24, "no padding: rules are compared as bytes");

/*
 * Packed rules: 24 bits.
 *
 *	bits 0..1	base: the CFA is sp or fp plus an offset; or a number follows
 *	bits 2..4	how the return address (ra) and the frame pointer were saved
 *	bits 5..16	the CFA's offset from its base, in units of 8
 *	bits 17..23	slot: how far below the CFA things were saved, in units of 8
 */
enum unwind_base {
	UNWIND_BASE_SPECIAL, /* bits 2..23: enum unwind_cfa: NONE, END or CHAIN */
	UNWIND_BASE_SP,
	UNWIND_BASE_FP,
	UNWIND_BASE_WIDE, /* bits 2..23: the number of a wide rule */
};

enum unwind_saved {
	UNWIND_SAVED_TOP,     /* ra at CFA - 8, fp as it is (x86) */
	UNWIND_SAVED_TOP_FP,  /* ra at CFA - 8, fp at CFA - slot (x86) */
	UNWIND_SAVED_LR,      /* ra in its register, fp as it is (arm64) */
	UNWIND_SAVED_PAIR,    /* fp at CFA - slot, ra right above it (arm64) */
	UNWIND_SAVED_AT_BASE, /* fp where the base register points, ra right above it (arm64) */
	UNWIND_SAVED_RA,      /* ra at CFA - slot, fp as it is (arm64) */
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

#define UNWIND_MAX_WIDE 32768 /* wide rules of a table */

/* Pages. */
#define UNWIND_PAGE_SHIFT    16
#define UNWIND_BUCKET_SHIFT  8
#define UNWIND_PAGE_BUCKETS  (1 << (UNWIND_PAGE_SHIFT - UNWIND_BUCKET_SHIFT))
#define UNWIND_PAGE_MAX_ROWS (1 << UNWIND_PAGE_SHIFT)

/* An entry of the index: the rule itself, or the first row (counted in the page) and how many. */
#define UNWIND_INDEX_RULE	  0x80000000U
#define UNWIND_INDEX(first, nr)	  ((__u32)(first) | (__u32)(nr) << 17) /* nr: 1 to 256 */
#define UNWIND_INDEX_FIRST(entry) ((entry)&0x1ffff)
#define UNWIND_INDEX_NR(entry)	  ((entry) >> 17 & 0x1ff)

#define UNWIND_ROW(offset, packed) ((__u32)(packed) << 8 | (__u32)(offset))
#define UNWIND_ROW_OFFSET(row)	   ((row)&0xff)
#define UNWIND_ROW_RULE(row)	   ((row) >> 8)

#endif
