/*
 * The frames that the words of a line of folded stacks stand for, and what its marks say of how the
 * stack was taken.
 *
 * Used by folded_read.c alone.
 */
#ifndef STOOK_FORMAT_FOLDED_FOLDED_STACK_H
#define STOOK_FORMAT_FOLDED_FOLDED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/folded/folded_words.h"
#include "profile/profile.h"

struct folded_stack {
	uint32_t *frames; /* leaf first */
	size_t nr, nr_kernel, cap;
	bool is_delimited; /* a word of the line was no frame, but between user and kernel */
};

/*
 * Of a line of so many words, the first of which is the thread, or the empty word if there is none.
 * has_marks: some of the others are not just names. Labels get how user and kernel stack ended. 0 or
 * -ENOMEM.
 */
int folded_stack_read(struct folded_stack *stack, struct folded_words *words, const uint32_t *line,
		      size_t nr, bool has_marks, struct sample_labels *labels);
void folded_stack_clear(struct folded_stack *stack);

#endif
