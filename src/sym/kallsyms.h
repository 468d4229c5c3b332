/* Kernel names from the text of /proc/kallsyms; see sym/kernel_names.h. */
#ifndef STOOK_SYM_KALLSYMS_H
#define STOOK_SYM_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "sym/kernel_names.h"

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
