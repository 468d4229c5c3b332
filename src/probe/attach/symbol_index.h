/*
 * The kernel functions of a list by name, for looking up the many names that the kernel tells of.
 */
#ifndef STOOK_PROBE_ATTACH_SYMBOL_INDEX_H
#define STOOK_PROBE_ATTACH_SYMBOL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "probe/expression/probe_list.h"

struct symbol_index {
	const struct probe_list *list;
	uint32_t *numbers; /* of probes, sorted by symbol */
	size_t nr;
};

/* Of these probes, all of the kernel's functions. 0 or -ENOMEM. */
int symbol_index_init(struct symbol_index *index, const struct probe_list *list,
		      const uint32_t *numbers, size_t nr);
void symbol_index_clear(struct symbol_index *index);

/* Those of a name, which need not end at name_bytes; *ret_nr is how many. */
const uint32_t *symbol_index_find(const struct symbol_index *index, const char *name,
				  size_t name_bytes, size_t *ret_nr);

#endif
