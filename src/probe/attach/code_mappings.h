/*
 * Code of files, mapped while probes are put into it.
 *
 * The kernel looks at an instruction when it first puts a breakpoint there: if nobody has the file
 * mapped, a place that it can't probe is attached like any other, and would count nothing without a
 * word. So we map it ourselves, for as long as attaching takes. Nobody runs the mapping.
 */
#ifndef STOOK_PROBE_ATTACH_CODE_MAPPINGS_H
#define STOOK_PROBE_ATTACH_CODE_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

struct code_mapping {
	void *memory; /* NULL: none */
	size_t bytes;
};

struct code_mappings {
	struct code_mapping *files; /* by the file's number */
	size_t nr;
};

/*
 * Maps what these probes are in, of user code. What can't be mapped is left out: then the kernel
 * looks later. 0 or -ENOMEM.
 */
int code_mappings_init(struct code_mappings *mappings, const struct probe_list *list,
		       const uint32_t *numbers, size_t nr);
void code_mappings_clear(struct code_mappings *mappings);

#endif
