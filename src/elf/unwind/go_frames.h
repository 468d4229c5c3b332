/*
 * The frames of Go's functions, by what Go's own table says of their stacks: it is there in
 * stripped programs, too, and of all functions, where .debug_frame is not.
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
	/* By systemstack(): of its rule, see UNWIND_CFA_GO_STACK. add 0: not found. */
	struct unwind_rule to_goroutine;
};

/*
 * Reads the table, and lists the functions: spans with this source, or with that for signals where
 * handlers return to. 0 and no spans if the file has no sound table or is not for x86-64, else
 * -ENOMEM. The image must stay. Clear it in either case.
 */
int go_frames_read(struct go_frames *frames, const struct elf_image *image, uint32_t source,
		   uint32_t source_of_signals, struct code_spans *spans, struct error *error);
void go_frames_clear(struct go_frames *frames);

/* Calls add() for each row of a span, which may be a part of what was listed. 0 or what add() says. */
int go_frames_rows(const struct go_frames *frames, const struct code_span *span,
		   int (*add)(void *context, uint64_t address, const struct unwind_rule *rule),
		   void *context);

#endif
