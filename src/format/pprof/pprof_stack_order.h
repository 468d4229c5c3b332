/*
 * The order of a profile's stacks by the places of their frames, from the root: a rank for each
 * stack, the same for stacks of the same places.
 *
 * Used by pprof_rows.c alone.
 */
#ifndef STOOK_FORMAT_PPROF_PPROF_STACK_ORDER_H
#define STOOK_FORMAT_PPROF_PPROF_STACK_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "format/pprof/pprof_code.h"
#include "profile/profile.h"

/* By the numbers of stacks, as samples have them; 0 for those without a value. NULL: no memory. */
uint32_t *pprof_stack_order(const struct pprof_code *code);

#endif
