/* Takes the stacks of a sample; see unwind.bpf.c, and walk.bpf.c for the walk by unwind tables. */
#ifndef STOOK_BPF_UNWIND_H
#define STOOK_BPF_UNWIND_H

#include "record.bpf.h"
#include "registers.bpf.h"

/* 0: no such stack is requested. */
extern const volatile __u32 max_user_frames, max_kernel_frames;

/*
 * Fill the user part, then the kernel part, of the record in scratch: frames, their number, how the
 * walk ended. skip: number of innermost kernel frames to leave out, those of the program itself.
 */
__hidden int unwind_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch);
__hidden int unwind_kernel(void *ctx, __u32 skip, struct scratch *scratch);

/*
 * Fills the user part of the record in scratch and returns its enum walk_end. WALK_RAW means that
 * data needed for the walk is not available yet: the caller should call walk_capture().
 */
__hidden int walk_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch);

/* Turns the record into a raw one, with the registers that walk_user() started with. */
__hidden int walk_capture(struct scratch *scratch);

/* The address at which walk_user() ended with WALK_RAW: its mapping or table is not known. */
__hidden __u64 walk_stopped_at(struct scratch *scratch);

#endif
