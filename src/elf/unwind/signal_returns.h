/*
 * The code that a signal handler returns to, where no call frame information covers it: musl's and
 * Go's have none.
 */
#ifndef STOOK_ELF_UNWIND_SIGNAL_RETURNS_H
#define STOOK_ELF_UNWIND_SIGNAL_RETURNS_H

#include <stdint.h>

#include "elf/image/elf_image.h"
#include "elf/unwind/code_spans.h"

/*
 * Adds to *returns a span with that source for each one found in the executable segments outside of
 * `known`; sorted, as far as the segments are. 0 or -ENOMEM. Code that cannot be read has none.
 */
int signal_returns_find(struct code_spans *returns, const struct elf_image *image,
			const struct code_spans *known, uint32_t source);

#endif
