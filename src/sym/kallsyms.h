/*
 * Names of kernel addresses: the interface of their sources, and the one that reads
 * /proc/kallsyms.
 */
#ifndef STOOK_SYM_KALLSYMS_H
#define STOOK_SYM_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/*
 * Two sources stand behind one interface: the running kernel, asked for the sampled addresses only
 * (kernel/kernel_ask: microseconds), and /proc/kallsyms, read whole (some 80 ms of CPU), for kernels
 * that cannot be asked.
 */
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

/* --- /proc/kallsyms --------------------------------------------------------------------------- */

struct kallsyms;

/*
 * NULL on failure: unreadable, or all addresses hidden (-EPERM), whose remedy is in the hint. The
 * file stays the caller's.
 */
struct kallsyms *kallsyms_read(FILE *file, struct error *error);
void kallsyms_free(struct kallsyms *kallsyms);

/*
 * The name of the function at address, good until the free; *ret_module (which may be NULL) is
 * "" for the kernel proper. NULL if none is there, or none that could plausibly reach so far.
 */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
			  const char **ret_module);

size_t kallsyms_nr(const struct kallsyms *kallsyms);
size_t kallsyms_bytes(const struct kallsyms *kallsyms); /* memory held */

/*
 * A source that reads /proc/kallsyms at its first use and keeps it in *cache, which starts as
 * NULL, must outlive the source, and is freed by the caller.
 */
struct kernel_names kallsyms_names(struct kallsyms **cache);

#endif
