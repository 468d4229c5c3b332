/* Which places of user code the kernel is likely to refuse, told by their first byte. */
#ifndef STOOK_PROBE_ATTACH_HARD_PLACES_H
#define STOOK_PROBE_ATTACH_HARD_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

/*
 * Puts the numbers into ret_sorted, the likely ones first, otherwise in their order. Returns how
 * many of these there are.
 */
size_t hard_places_first(const struct probe_list *list, const uint32_t *numbers, size_t nr,
			 uint32_t *ret_sorted);

#endif
