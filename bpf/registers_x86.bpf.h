/* x86-64: user registers by their DWARF numbers. See registers.bpf.h. */
#ifndef STOOK_BPF_REGISTERS_X86_H
#define STOOK_BPF_REGISTERS_X86_H

#define USER_CS	    0x33
#define XEN_USER_CS 0xe033 /* in paravirtual guests, for interrupts */
#define USER32_CS   0x23

/* from: struct pt_regs, of the context (verifier rewrites the accesses) or a copy. */
#define COPY_REGISTERS(walk, from)                                              \
	do {                                                                    \
		(walk)->regs[0] = (from)->ax, (walk)->regs[1] = (from)->dx;     \
		(walk)->regs[2] = (from)->cx, (walk)->regs[3] = (from)->bx;     \
		(walk)->regs[4] = (from)->si, (walk)->regs[5] = (from)->di;     \
		(walk)->regs[6] = (from)->bp, (walk)->regs[7] = (from)->sp;     \
		(walk)->regs[8] = (from)->r8, (walk)->regs[9] = (from)->r9;     \
		(walk)->regs[10] = (from)->r10, (walk)->regs[11] = (from)->r11; \
		(walk)->regs[12] = (from)->r12, (walk)->regs[13] = (from)->r13; \
		(walk)->regs[14] = (from)->r14, (walk)->regs[15] = (from)->r15; \
		(walk)->pc = (from)->ip;                                        \
	} while (0)

#define IS_USER_MODE(regs)   (((regs)->cs & 3) == 3)
#define IS_WIDE_USER(regs)   ((regs)->cs == USER_CS || (regs)->cs == XEN_USER_CS)
#define IS_NARROW_USER(regs) ((regs)->cs == USER32_CS)

#define USER_PC(regs) ((regs)->ip)

/* At a function's first instruction, its return address is on top of the stack. */
#define READ_CALLER(regs, ret) bpf_probe_read_user((ret), 8, (void *)(regs)->sp)

typedef struct pt_regs user_registers;

/* orig_ax is -1 for interrupts and exceptions. */
#define IS_SYSTEM_CALL(regs) ((regs)->orig_ax != -1UL)

#define FUTEX_CALL 202

static __always_inline struct system_call system_call_of(struct pt_regs *saved)
{
	struct system_call call = {-1, false};
	__u64 cs = 0;

	bpf_probe_read_kernel(&call.nr, sizeof(call.nr), &saved->orig_ax);
	bpf_probe_read_kernel(&cs, sizeof(cs), &saved->cs);
	call.is_narrow = cs == USER32_CS;
	return call;
}

/*
 * True if an NMI hit while the kernel's entry code had not yet saved all registers where we read
 * them. The stack pointer is then inside the saved registers, still the user's, not a stack address
 * (while page tables are switched), or in the entry stack of the CPU entry area.
 */
#define CPU_ENTRY_AREA	     0xfffffe0000000000UL
#define CPU_ENTRY_AREA_BYTES (1UL << 39)

#define ARE_HALF_SAVED(ctx, at)                                                                 \
	((long)(ctx)->regs.sp >= 0 || (ctx)->regs.sp - CPU_ENTRY_AREA < CPU_ENTRY_AREA_BYTES || \
	 ((ctx)->regs.sp > (at) && (ctx)->regs.sp <= (at) + sizeof(struct pt_regs)))

#endif
