/*
 * Memory that other CPUs, and programs that were interrupted, change at the same moment: adding to it,
 * and taking a flag.
 */
#ifndef STOOK_BPF_CLAIM_H
#define STOOK_BPF_CLAIM_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Without its result, which verifiers before Linux 5.12 don't know. */
#define ATOMIC_ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

/*
 * True if this kernel has compare and exchange (Linux 5.12); where it has not, claim_word() must
 * not be reached. Set before loading.
 */
extern const volatile bool claims_are_atomic;

/* Makes a 0 a 1; false if it was none. */
__hidden bool claim_word(__u32 *word);

/*
 * Takes a flag of this CPU's. Samples nest like interrupts do, last in, first out, so for them a plain
 * flag is enough. A probe's program can be preempted by another one just as it looks at the flag.
 */
static __always_inline bool claim(__u32 *busy)
{
	if (claims_are_atomic)
		return claim_word(busy);
	if (*busy)
		return false;
	*busy = 1;
	return true;
}

#endif
