/*
 * The least and the most of what several CPUs have seen, in one word each. A file of its own: like
 * claim.bpf.c it is compiled for -mcpu=v3, which knows compare and exchange.
 *
 * An exchange fails only if another one succeeded in the meantime, so a few tries suffice: after
 * each of them the word is closer to what is wanted of it. On kernels without the instruction one
 * CPU can undo what another has just written, so there least and most are those of nearly all.
 */
#include "tally.bpf.h"

#include "claim.bpf.h"

#define TRIES 64

__hidden int tally_raise(__s64 *most, __s64 value)
{
	__s64 seen = *(volatile __s64 *)most;
	__u32 i;

	if (!claims_are_atomic) {
		if (value > seen)
			*most = value;
		return 0;
	}
	for (i = 0; i < TRIES && value > seen; i++) {
		__s64 before = __sync_val_compare_and_swap(most, seen, value);

		if (before == seen)
			break;
		seen = before;
	}
	return 0;
}

__hidden int tally_lower(__s64 *least, __s64 value)
{
	__s64 seen = *(volatile __s64 *)least;
	__u32 i;

	if (!claims_are_atomic) {
		if (value < seen)
			*least = value;
		return 0;
	}
	for (i = 0; i < TRIES && value < seen; i++) {
		__s64 before = __sync_val_compare_and_swap(least, seen, value);

		if (before == seen)
			break;
		seen = before;
	}
	return 0;
}
