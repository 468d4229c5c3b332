/* Looks up kernel symbols in the running kernel, for the sampled addresses only. */
#ifndef STOOK_KERNEL_KERNEL_ASK_H
#define STOOK_KERNEL_KERNEL_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Calls add(context, i, name, module) for each of the nr addresses that has a symbol; module is ""
 * for the kernel itself. Loads its BPF program at each call (about a millisecond) and keeps nothing
 * afterwards. Returns a negative errno if the kernel does not support this (before Linux 5.13).
 * `self` is unused: it makes the signature fit sym/kallsyms.h, which this layer may not include.
 */
int kernel_ask(void *self, const uint64_t *addresses, size_t nr,
	       int (*add)(void *context, size_t i, const char *name, const char *module),
	       void *context, struct error *error);

#endif
