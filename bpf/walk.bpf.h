/* Walking a user stack by unwind tables; see walk.bpf.c. */
#ifndef STOOK_BPF_WALK_H
#define STOOK_BPF_WALK_H

#include "record.bpf.h"
#include "registers.bpf.h"

/*
 * Fills the user part of the record in scratch. WALK_RAW asks for walk_capture(), because something
 * that the walk needs is not there yet.
 */
__hidden int walk_user(struct stack_context *ctx, bool has_registers, struct scratch *scratch);

/* Makes the record a raw one, with the registers that walk_user() began with. */
__hidden int walk_capture(struct scratch *scratch);

#endif
