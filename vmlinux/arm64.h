/* arm64's part of vmlinux.h: the register file as BPF programs see it. */
#ifndef STOOK_VMLINUX_ARM64_H
#define STOOK_VMLINUX_ARM64_H

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;

/* Begins with the user's registers. */
struct pt_regs {
	int syscallno; /* negative: not in a system call */
} __attribute__((preserve_access_index));

#endif
