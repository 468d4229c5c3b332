/* The stacks of a sample; see unwind.bpf.c. */
#ifndef STOOK_BPF_UNWIND_H
#define STOOK_BPF_UNWIND_H

#include "record.bpf.h"

/*
 * Fill the user part, then the kernel part, of the record in scratch: frames, their number, how the
 * walk ended.
 */
__hidden int unwind_user(struct bpf_perf_event_data *ctx, struct scratch *scratch);
__hidden int unwind_kernel(struct bpf_perf_event_data *ctx, struct scratch *scratch);

#endif
