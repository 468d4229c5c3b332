/*
 * Minimum and maximum over several CPUs, in one word each. Like claim.bpf.c, this file is compiled
 * for -mcpu=v3, which has compare and exchange.
 *
 * An exchange fails only if another CPU's succeeded in the meantime, so a few tries suffice: each
 * of them brings the word closer to the extreme. On kernels without the instruction one CPU can
 * overwrite the update of another, so there the minimum and maximum may miss a few values.
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
