/* arm64: user registers by their DWARF numbers. See registers.bpf.h. */
#ifndef STOOK_BPF_REGISTERS_ARM64_H
#define STOOK_BPF_REGISTERS_ARM64_H

#define PSR_MODE_MASK  0xf
#define PSR_MODE32_BIT 0x10

#define COPY_4(walk, from, i)                                                                 \
	(walk)->regs[(i)] = (from)->regs[(i)], (walk)->regs[(i) + 1] = (from)->regs[(i) + 1], \
	(walk)->regs[(i) + 2] = (from)->regs[(i) + 2],                                        \
	(walk)->regs[(i) + 3] = (from)->regs[(i) + 3]

/* from: struct user_pt_regs, of the context (verifier rewrites the accesses) or a copy. */
#define COPY_REGISTERS(walk, from)                                                        \
	do {                                                                              \
		COPY_4(walk, from, 0), COPY_4(walk, from, 4), COPY_4(walk, from, 8);      \
		COPY_4(walk, from, 12), COPY_4(walk, from, 16), COPY_4(walk, from, 20);   \
		COPY_4(walk, from, 24);                                                   \
		(walk)->regs[28] = (from)->regs[28], (walk)->regs[29] = (from)->regs[29]; \
		(walk)->regs[30] = (from)->regs[30], (walk)->regs[31] = (from)->sp;       \
		(walk)->pc = (from)->pc;                                                  \
	} while (0)

#define IS_USER_MODE(regs)   (((regs)->pstate & PSR_MODE_MASK) == 0)
#define IS_WIDE_USER(regs)   (((regs)->pstate & (PSR_MODE_MASK | PSR_MODE32_BIT)) == 0)
#define IS_NARROW_USER(regs) (((regs)->pstate & PSR_MODE32_BIT) != 0)

#define USER_PC(from) ((from)->pc)

/* At a function's first instruction, its return address is in the link register. */
#define READ_CALLER(from, ret) (*(ret) = (from)->regs[30], 0)

typedef struct user_pt_regs user_registers;

/*
 * Unknown: the saved registers don't show it. The pc is looked up as it is then; the byte after a
 * system call nearly always belongs to the same function.
 */
#define IS_SYSTEM_CALL(regs) 0

#define FUTEX_CALL 98

static __always_inline struct system_call system_call_of(struct pt_regs *saved)
{
	struct user_pt_regs *user = (struct user_pt_regs *)saved;
	struct system_call call = {BPF_CORE_READ(saved, syscallno), false};
	__u64 pstate = 0;

	bpf_probe_read_kernel(&pstate, sizeof(pstate), &user->pstate);
	call.is_narrow = pstate & PSR_MODE32_BIT;
	return call;
}

/* Never: interrupts are masked until the entry code has saved the registers. */
#define ARE_HALF_SAVED(ctx, at) 0

#endif
