/*
 * Shared by user space and the programs of probes: the counters of hits. `stook tally` has its own
 * protocol (tally_wire.h); the stacks of `stook stackcount` are sent like samples (wire.h).
 *
 * Each probe has a number, from 0 on. Counters are in one array that user space maps. They are
 * never cleared; the hits of an interval are the difference to the previous reading.
 */
#ifndef STOOK_BPF_PROBE_WIRE_H
#define STOOK_BPF_PROBE_WIRE_H

#ifndef STOOK_VMLINUX_H
#include <linux/types.h>
#endif

/* Counters of one CPU and probe, at index cpu * stride + number. */
struct wire_hits {
	__u64 counted;
	__u64 filtered; /* by our own or unselected tasks; they cost CPU time all the same */
};

/*
 * Identifies the probe where one event has many places. The device of the file is not a part of it: on btrfs and
 * overlayfs, the kernel's differs from that of stat(). A second file with that inode number is refused.
 */
struct wire_place {
	__u64 file;   /* inode number; 0: the kernel */
	__u64 offset; /* in the file; for the kernel: the address */
	__u64 is_return;
};

/*
 * A copy of a program that serves one probe has the probe's number patched into its instructions,
 * where this constant is loaded. The low half is the number and must be that of an existing probe:
 * otherwise the verifier would prove that the lookup fails and remove the code after it.
 */
#define WIRE_NUMBER_MARK 0x53746f6b00000000ULL

#define WIRE_NO_NUMBER 0xffffffffU

#endif
