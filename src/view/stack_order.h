/* The order in which the stacks of a flame graph lie side by side. */
#ifndef STOOK_VIEW_STACK_ORDER_H
#define STOOK_VIEW_STACK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "view/named_stacks.h"

/*
 * The numbers of all stacks, by the texts of their words from the root on, callers before what they
 * call; or as they are. To be freed by the caller; NULL when out of memory.
 */
uint32_t *stack_order(const struct named_stacks *stacks, bool as_they_are);

#endif
