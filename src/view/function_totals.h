/*
 * For each function of a profile: in how many samples it ran itself, and in how many it was
 * anywhere on the stack. A function that is on one stack several times counts once.
 *
 * A function is a name in a module; all code of a module that has no name is one function. One that
 * was inlined is a function like others: the innermost one ran itself, all others were on the
 * stack.
 */
#ifndef STOOK_VIEW_FUNCTION_TOTALS_H
#define STOOK_VIEW_FUNCTION_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct function_total {
	uint32_t name; /* the profile's string; 0: no name */
	uint32_t module;
	enum frame_kind kind;
	uint64_t self;
	uint64_t total;
};

struct function_totals {
	struct function_total *functions; /* by self, then by total, heaviest first */
	size_t nr, cap;
	uint64_t no_frames_count; /* samples that belong to no function */
};

/* 0 or -ENOMEM. */
int function_totals_init(struct function_totals *totals, const struct profile *profile);
void function_totals_clear(struct function_totals *totals);

#endif
