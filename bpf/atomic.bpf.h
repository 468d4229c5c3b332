/* Adding to what other CPUs, and programs that were interrupted by this one, add to as well. */
#ifndef STOOK_BPF_ATOMIC_H
#define STOOK_BPF_ATOMIC_H

/* Without its result, which verifiers before Linux 5.12 don't know. */
#define ATOMIC_ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

#endif
