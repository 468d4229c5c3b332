/* The stacks of a sample; see unwind.bpf.c, and walk.bpf.c for the walk by unwind tables. */
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

/*
 * Fills the user part of the record in scratch. WALK_RAW asks for walk_capture(), because something
 * that the walk needs is not there yet.
 */
__hidden int walk_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch);

/* Makes the record a raw one, with the registers that walk_user() began with. */
__hidden int walk_capture(struct scratch *scratch);

#endif
