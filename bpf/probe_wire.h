/*
 * What user space and the programs of probes agree on: how hits are counted, and what `stook tally`
 * takes from them. The stacks of `stook stackcount` travel as samples do (wire.h).
 *
 * Each probe has a number, from 0 on. Counters lie in one array that user space has mapped: nobody
 * clears them, and what an interval brought is the difference to the last reading.
 */
#ifndef STOOK_BPF_PROBE_WIRE_H
#define STOOK_BPF_PROBE_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

/* Of each CPU and probe: the index is cpu * stride + number. */
struct wire_hits {
	__u64 counted;
	__u64 filtered; /* of our own and of tasks that were not asked for: they cost */
};

/* Where one event has many places, the place tells the probe. */
struct wire_place {
	__u64 file;   /* inode number; 0: the kernel */
	__u64 offset; /* in the file; the address in the kernel */
	__u64 is_return;
};

/*
 * The number of a program that has one probe to itself is put into its instructions where this
 * constant is loaded. Its low half, which is the number, is that of a probe that there is: else the
 * verifier would see that nothing can come of it, and throw away what follows.
 */
#define WIRE_NUMBER_MARK 0x53746f6b00000000ULL

#define WIRE_NO_NUMBER 0xffffffffU

#endif
