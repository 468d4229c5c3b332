/*
 * The frames of Go's functions, from the stack sizes in Go's own table. It is present in stripped
 * programs, too, and covers all functions, unlike .debug_frame.
 */
#ifndef STOOK_ELF_UNWIND_GO_FRAMES_H
#define STOOK_ELF_UNWIND_GO_FRAMES_H

#include <stdint.h>

#include "base/error.h"
#include "bpf/unwind_format.h"
#include "elf/image/elf_image.h"
#include "elf/symbols/go_functions.h"
#include "elf/unwind/code_spans.h"

struct go_frames {
	struct go_table table;
	const struct elf_image *image;
	/* systemstack()'s rule, see UNWIND_CFA_GO_STACK. add 0: not found. */
	struct unwind_rule to_goroutine;
};

/*
 * Reads the table, and lists the functions as spans with `source`, or with source_of_signals if
 * signal handlers return to them. 0 and no spans if the file has no valid table or is not for
 * x86-64, else -ENOMEM. The image must outlive *frames. Clear it in either case.
 */
int go_frames_read(struct go_frames *frames, const struct elf_image *image, uint32_t source,
		   uint32_t source_of_signals, struct code_spans *spans, struct error *error);
void go_frames_clear(struct go_frames *frames);

/* Calls add() for each row of a span, which may be a part of a listed one. 0, or add()'s error. */
int go_frames_rows(const struct go_frames *frames, const struct code_span *span,
		   int (*add)(void *context, uint64_t address, const struct unwind_rule *rule),
		   void *context);

#endif
