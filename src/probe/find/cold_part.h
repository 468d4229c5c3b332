/* Parts that compilers cut off functions, by their names: `f.cold`, `f.isra.0.cold`. */
#ifndef STOOK_PROBE_FIND_COLD_PART_H
#define STOOK_PROBE_FIND_COLD_PART_H

#include <stdbool.h>
#include <string.h>

#include "sym/demangle.h"

/* Such a part is jumped to, not called, and returns for the function that it belongs to. */
static inline bool is_cold_part(const char *name)
{
	return strstr(name + clone_suffix_find(name), ".cold") != NULL;
}

#endif
