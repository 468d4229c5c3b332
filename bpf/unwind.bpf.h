/* The stacks of a sample; see unwind.bpf.c. */
#ifndef STOOK_BPF_UNWIND_H
#define STOOK_BPF_UNWIND_H

#include "record.bpf.h"
#include "registers.bpf.h"

/*
 * Fill the user part, then the kernel part, of the record in scratch: frames, their number, how the
 * walk ended. skip: of the innermost kernel frames, those of our own making.
 */
__hidden int unwind_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch);
__hidden int unwind_kernel(void *ctx, __u32 skip, struct scratch *scratch);

#endif
