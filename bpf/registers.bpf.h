/*
 * Reads the user-space registers of a sample: from the context if the sample hit user space, else
 * from where the kernel's entry code saved them, at the end of the task's kernel stack.
 */
#ifndef STOOK_BPF_REGISTERS_H
#define STOOK_BPF_REGISTERS_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "unwind_walk.h"

/* The system call that a thread is in: its number, negative: none; that of a 32-bit program. */
struct system_call {
	long nr;
	bool is_narrow;
};

#if defined(__TARGET_ARCH_x86)
#include "registers_x86.bpf.h"
#else
#include "registers_arm64.bpf.h"
#endif

/*
 * The first member of the contexts of perf events, kprobes and uprobes. Other contexts have no
 * registers; these programs are entered from the kernel.
 */
struct stack_context {
	bpf_user_pt_regs_t regs;
};

/*
 * Offset of the saved registers from the lowest address of the kernel stack, for kernels without
 * bpf_task_pt_regs() (before 5.15); 0: call bpf_task_pt_regs().
 */
extern const volatile __u32 task_registers_at;

static __always_inline __u64 task_registers(void)
{
	struct task_struct *task;

	if (!task_registers_at)
		return bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (struct task_struct *)bpf_get_current_task();
	return (__u64)BPF_CORE_READ(task, stack) + task_registers_at;
}

/* The numbers of the other calls are the same everywhere. Kernels for 32-bit time have FUTEX_NARROW only. */
#define FUTEX_NARROW	    240
#define FUTEX_NARROW_TIME64 422
#define FUTEX_WAITV_CALL    449
#define FUTEX_WAIT_CALL	    455

/* True if any thread that is in the kernel is in a system call that waits for a futex. False before Linux 5.15. */
static __always_inline bool is_in_futex(struct task_struct *task)
{
	struct system_call call;

	if (task_registers_at)
		return false;
	call = system_call_of((struct pt_regs *)bpf_task_pt_regs(task));
	if (call.nr == FUTEX_WAITV_CALL || call.nr == FUTEX_WAIT_CALL)
		return true;
	return call.is_narrow ? call.nr == FUTEX_NARROW || call.nr == FUTEX_NARROW_TIME64
			      : call.nr == FUTEX_CALL;
}

enum registers {
	REGISTERS_NONE,
	REGISTERS_WIDE,
	REGISTERS_WIDE_IN_KERNEL, /* the sample hit in the kernel */
	REGISTERS_NARROW,	  /* 32-bit program */
};

/* A function of its own: the registers' stack space, most of which is needed once, is free again during the walk. */
static __noinline enum registers read_registers(struct stack_context *ctx, bool has_registers,
						struct unwind_walk *walk)
{
	user_registers saved;
	__u64 at;

	walk->known = UNWIND_FIRST_KNOWN;
	walk->is_exact = 1;
	walk->is_call = 0;
	walk->nr_jumps = 0;
	if (has_registers && IS_USER_MODE(&ctx->regs)) {
		COPY_REGISTERS(walk, &ctx->regs);
		return IS_WIDE_USER(&ctx->regs) ? REGISTERS_WIDE : REGISTERS_NARROW;
	}
	at = task_registers();
	if ((has_registers && ARE_HALF_SAVED(ctx, at)) ||
	    bpf_probe_read_kernel(&saved, sizeof(saved), (void *)at))
		return REGISTERS_NONE;
	COPY_REGISTERS(walk, &saved);
	walk->is_call = IS_SYSTEM_CALL(&saved);
	if (IS_WIDE_USER(&saved))
		return REGISTERS_WIDE_IN_KERNEL;
	return IS_NARROW_USER(&saved) ? REGISTERS_NARROW : REGISTERS_NONE;
}

#endif
