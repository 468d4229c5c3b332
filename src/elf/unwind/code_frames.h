/*
 * Frames of code without CFI (musl, assembly), found by reading the code: how far each instruction
 * moves the stack pointer, and where the frame pointer is saved.
 */
#ifndef STOOK_ELF_UNWIND_CODE_FRAMES_H
#define STOOK_ELF_UNWIND_CODE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/code_spans.h"

/* Limit of code read per file: the code after it has no rules. */
#define CODE_FRAMES_MAX_BYTES (8U << 20)

/* The rule from this address up to the next one; UNWIND_CFA_NONE if unknown. */
struct code_frame {
	uint64_t address; /* as linked */
	struct unwind_rule rule;
};

struct code_frames {
	struct code_frame *frames; /* by address */
	size_t nr, capacity;
};

/*
 * Adds the frames of the executable code outside of `known`, which must be settled. Functions are
 * found by the symbols of the image and of `debug` (may be NULL), and by calls. 0 or -ENOMEM; there
 * are no frames for machines other than x86-64 and for unreadable code. Clear it in either case.
 */
int code_frames_read(struct code_frames *frames, const struct elf_image *image,
		     const struct elf_image *debug, const struct code_spans *known);

/*
 * The end of the first call or jump at or after `start`, if it is before `end` and the code up to
 * it is understood; else `end`. A program's startup code calls its main part there.
 */
uint64_t code_frames_first_call(const struct elf_image *image, uint64_t start, uint64_t end);

void code_frames_clear(struct code_frames *frames);

#endif
