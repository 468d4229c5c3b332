/* Which kernel functions can be traced at all, as the kernel lists them. */
#ifndef STOOK_PROBE_ATTACH_TRACEABLE_H
#define STOOK_PROBE_ATTACH_TRACEABLE_H

#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

/*
 * Puts those of the numbers that are in the list into ret_numbers, in their order: how many. If the
 * list can't be had, that is all of them. Or -ENOMEM.
 */
int64_t traceable_choose(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			 uint32_t *ret_numbers);

#endif
