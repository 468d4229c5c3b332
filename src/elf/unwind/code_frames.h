/*
 * Frames of code that says nothing of them (musl, assembly without CFI), by reading the code: how
 * far each instruction moves the stack pointer, and where the frame pointer is saved.
 */
#ifndef STOOK_ELF_UNWIND_CODE_FRAMES_H
#define STOOK_ELF_UNWIND_CODE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"
#include "elf/unwind/code_spans.h"

/* More code than this is not read of one file: what is behind it has no rules. */
#define CODE_FRAMES_MAX_BYTES (8U << 20)

/* From an address on the rule holds, up to the next one's: UNWIND_CFA_NONE where none is known. */
struct code_frame {
	uint64_t address; /* as linked */
	struct unwind_rule rule;
};

struct code_frames {
	struct code_frame *frames; /* by address */
	size_t nr, capacity;
};

/*
 * Adds the frames of the executable code outside of `known`, which is settled. Functions are known
 * by the symbols of the image and of `debug` (may be NULL), and by calls. 0 or -ENOMEM; machines
 * other than x86-64 have none, and code that cannot be read, either. Clear it in either case.
 */
int code_frames_read(struct code_frames *frames, const struct elf_image *image,
		     const struct elf_image *debug, const struct code_spans *known);

/*
 * Where the first call or jump from `start` on ends, if it does before `end` and code is understood
 * so far; else `end`. A program's beginning hands over there.
 */
uint64_t code_frames_first_call(const struct elf_image *image, uint64_t start, uint64_t end);

void code_frames_clear(struct code_frames *frames);

#endif
