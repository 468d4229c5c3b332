/*
 * From an ELF file to its unwind table: read, converted and packed.
 *
 * These tables are indexed by file offset and not by address as linked, because that is what is
 * known about a mapping without reading its file.
 */
#ifndef STOOK_ELF_UNWIND_UNWIND_COMPILE_H
#define STOOK_ELF_UNWIND_UNWIND_COMPILE_H

#include "base/error.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/unwind_table.h"

/*
 * Makes the table of a file; without pages if it has no call frame information. debug: its debug file, which
 * may have CFI that was stripped; NULL: none. 0 or a negative errno; clear *table on success.
 */
int unwind_compile(struct unwind_table *table, const struct elf_image *image,
		   const struct elf_image *debug, struct error *error);

/* Like unwind_compile(), for an image in our own memory (the vdso), without a cache. */
int unwind_compile_memory(struct unwind_table *table, const void *bytes, size_t nr,
			  struct error *error);

#endif
