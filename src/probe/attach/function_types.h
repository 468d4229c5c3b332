/* Kernel functions by their names in the kernel's BTF, as fentry wants them. */
#ifndef STOOK_PROBE_ATTACH_FUNCTION_TYPES_H
#define STOOK_PROBE_ATTACH_FUNCTION_TYPES_H

#include <stdint.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"

#define FUNCTION_TYPE_NONE	0
#define FUNCTION_TYPE_AMBIGUOUS UINT32_MAX /* the list has several functions of this name */

/* For each probe of the list the number of its function's type; the caller frees. 0 or -errno. */
int function_types_read(const struct probe_list *list, uint32_t **ret_types, struct error *error);

#endif
