/*
 * From an ELF file to its unwind table: loaded from the cache, or read, converted, packed and
 * stored there.
 *
 * These tables are indexed by file offset and not by address as linked, because that is what is
 * known about a mapping without reading its file.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_COMPILE_H
#define STOOK_ELF_UNWIND_UNWIND_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_table.h"

/*
 * Makes the table of the file behind fd; without pages if it has no call frame information. cache
 * may be NULL, and must be for a file whose build id is not trusted: its table would be used for
 * the file with the real id. *ret_cached (may be NULL): true if it came from the cache. 0 or a
 * negative errno; clear *table on success.
 */
int unwind_compile(struct unwind_table *table, int fd, struct unwind_cache *cache, bool *ret_cached,
		   struct error *error);

/* The same for an image in our own memory (the vdso). */
int unwind_compile_memory(struct unwind_table *table, const void *bytes, size_t nr,
			  struct error *error);

#endif
