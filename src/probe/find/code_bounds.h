/* Where functions without names begin and end, by the file's call frame information. */
#ifndef STOOK_PROBE_FIND_CODE_BOUNDS_H
#define STOOK_PROBE_FIND_CODE_BOUNDS_H

#include <stdint.h>

#include "elf/image/elf_image.h"

/* Of the function that covers an address, as linked. 0, -ENOENT or -ENOMEM. */
int code_bounds_find(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end);

#endif
