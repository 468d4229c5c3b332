/* x86-64's part of vmlinux.h: the register file as BPF programs see it. */
#ifndef STOOK_VMLINUX_X86_H
#define STOOK_VMLINUX_X86_H

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

#endif
