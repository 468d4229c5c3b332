/* Kernel names from the running kernel itself, for the sampled addresses only. */
#ifndef STOOK_KERNEL_KERNEL_ASK_H
#define STOOK_KERNEL_KERNEL_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Calls add(context, i, name, module) for each of the nr addresses that has a name; module is ""
 * for the kernel proper. Loads its program at each use, in about a millisecond, and holds nothing
 * between. A negative errno where the kernel can't be asked (before Linux 5.13). `self` is not
 * used: it makes this fit sym/kallsyms.h, which this layer doesn't know.
 */
int kernel_ask(void *self, const uint64_t *addresses, size_t nr,
	       int (*add)(void *context, size_t i, const char *name, const char *module),
	       void *context, struct error *error);

#endif
