/*
 * Names of kernel addresses: the interface of a source, and the source that reads /proc/kallsyms.
 */
#ifndef STOOK_SYM_KALLSYMS_H
#define STOOK_SYM_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/*
 * Interface of two sources: a BPF program that asks the running kernel for the sampled addresses
 * only (kernel/kernel_ask: microseconds), and /proc/kallsyms, read whole (some 80 ms of CPU), as
 * the fallback.
 */
struct kernel_names {
	/*
	 * Names nr addresses at once: calls add(context, i, name, module) for each address i that
	 * has a name; module is "" for the kernel itself. Stops if add returns a negative errno.
	 * 0 or a negative errno, with *error filled.
	 */
	int (*name)(void *self, const uint64_t *addresses, size_t nr,
		    int (*add)(void *context, size_t i, const char *name, const char *module),
		    void *context, struct error *error);
	void *self;
};

/* --- /proc/kallsyms --------------------------------------------------------------------------- */

struct kallsyms;

/*
 * Returns NULL on failure: unreadable, or all addresses hidden (-EPERM, with a hint how to change
 * that). The caller owns the file, and frees the result with kallsyms_free().
 */
struct kallsyms *kallsyms_read(FILE *file, struct error *error);
void kallsyms_free(struct kallsyms *kallsyms);

/*
 * Returns the name of the function at address, valid until kallsyms_free(); NULL if there is none,
 * or if the last one before it is too far away. *ret_module (ret_module may be NULL) is "" for the
 * kernel itself.
 */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
			  const char **ret_module);

size_t kallsyms_nr(const struct kallsyms *kallsyms);
size_t kallsyms_bytes(const struct kallsyms *kallsyms); /* memory held */

/*
 * Returns a source that reads /proc/kallsyms at its first use and keeps it in *cache. *cache starts
 * as NULL, must outlive the source, and is freed by the caller.
 */
struct kernel_names kallsyms_names(struct kallsyms **cache);

#endif
