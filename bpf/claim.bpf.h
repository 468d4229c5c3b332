/*
 * Updates of memory that other CPUs and interrupted programs change concurrently: atomic add, and
 * claiming a flag.
 */
#ifndef STOOK_BPF_CLAIM_H
#define STOOK_BPF_CLAIM_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

/* The result is discarded: verifiers before Linux 5.12 don't support the form that returns it. */
#define ATOMIC_ADD(counter, n) ((void)__sync_fetch_and_add(&(counter), (n)))

/*
 * True if the kernel supports compare and exchange (Linux 5.12). If false, claim_word() must not be
 * reachable. Set before loading.
 */
extern const volatile bool claims_are_atomic;

/* Atomically sets *word from 0 to 1. False if it was not 0. */
__hidden bool claim_word(__u32 *word);

/*
 * Claims a per-CPU flag; false if it is taken. Samples nest like interrupts (last in, first out),
 * so a plain flag is enough for them. A probe's program can be preempted by another one between
 * reading and setting the flag, so it needs the atomic exchange.
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
