/* The two counters of a ratio, since the thread on this CPU was last sampled or got the CPU. See ratio.bpf.c. */
#ifndef STOOK_BPF_RATIO_H
#define STOOK_BPF_RATIO_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/* If set, records have a numerator. Set before loading. */
extern const volatile bool has_ratio;

/*
 * Ends the span of time before a sample of this weight, and begins the next one. Returns how many events of the
 * numerator the sample represents; 0 if they are not known, which is counted.
 */
__hidden __u64 ratio_take(__u64 weight);

#endif
