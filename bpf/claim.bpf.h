/* Taking a flag that others may want at the same moment; see claim.bpf.c. */
#ifndef STOOK_BPF_CLAIM_H
#define STOOK_BPF_CLAIM_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/*
 * Whether this kernel has the instruction for it (Linux 5.12); where it has not, claim_word() must
 * not be reached. Set before loading.
 */
extern const volatile bool claims_are_atomic;

/* Makes a 0 a 1; false if it was none. */
__hidden bool claim_word(__u32 *word);

#endif
