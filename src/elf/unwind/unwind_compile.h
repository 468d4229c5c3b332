/*
 * From an ELF file to its unwind table: out of the cache, or read, converted, packed and put there.
 *
 * The tables made here go by file offset and not by address as linked: that is what is known of a
 * mapping without having read its file.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_COMPILE_H
#define STOOK_ELF_UNWIND_UNWIND_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "elf/unwind/unwind_cache.h"
#include "elf/unwind/unwind_table.h"

/*
 * The table of the file behind fd; without any pages if it has no call frame information. cache may
 * be NULL, and has to be for a file whose build id may be a lie: its table would serve for the file
 * that it lies about. *ret_cached (may be NULL): it came from there. 0 or a negative errno; clear
 * *table on success.
 */
int unwind_compile(struct unwind_table *table, int fd, struct unwind_cache *cache, bool *ret_cached,
		   struct error *error);

/* The same of an image in our own memory (the vdso). */
int unwind_compile_memory(struct unwind_table *table, const void *bytes, size_t nr,
			  struct error *error);

#endif
