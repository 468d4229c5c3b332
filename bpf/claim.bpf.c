/*
 * Compare and exchange, in a file of its own: it is compiled for -mcpu=v3, which knows the
 * instruction. Verifiers before Linux 5.12 don't, and refuse it even where it can't be reached: for
 * them kernel/load takes it out before loading.
 */
#include "claim.bpf.h"

const volatile bool claims_are_atomic = false;

__hidden bool claim_word(__u32 *word)
{
	return __sync_val_compare_and_swap(word, 0, 1) == 0;
}
