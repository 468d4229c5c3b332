/*
 * Names of kernel addresses. Two sources stand behind one interface: the running kernel, asked
 * for the sampled addresses only (kernel/kernel_ask: microseconds), and /proc/kallsyms, read
 * whole (sym/kallsyms: some 80 ms of CPU), for kernels that cannot be asked.
 */
#ifndef STOOK_SYM_KERNEL_NAMES_H
#define STOOK_SYM_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kernel_names {
	/*
	 * Names nr addresses at once: calls add(context, i, name, module) for each address i that
	 * has a name; module is "" for the kernel proper. An add that returns a negative errno
	 * ends it. 0 or a negative errno, with *error filled.
	 */
	int (*name)(void *self, const uint64_t *addresses, size_t nr,
		    int (*add)(void *context, size_t i, const char *name, const char *module),
		    void *context, struct error *error);
	void *self;
};

#endif
