/*
 * Compare and exchange. This file is compiled separately, for -mcpu=v3, because only that
 * instruction set has the instruction. Verifiers before Linux 5.12 don't know it and reject it even
 * in dead code; for them kernel/load removes it before loading.
 */
#include "claim.bpf.h"

const volatile bool claims_are_atomic = false;

__hidden bool claim_word(__u32 *word)
{
	return __sync_val_compare_and_swap(word, 0, 1) == 0;
}
