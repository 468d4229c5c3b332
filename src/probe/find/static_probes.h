/* Static probes (USDT): those of a file that fit a pattern. */
#ifndef STOOK_PROBE_FIND_STATIC_PROBES_H
#define STOOK_PROBE_FIND_STATIC_PROBES_H

#include <stddef.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/pattern.h"
#include "probe/find/user_file.h"

/*
 * Adds a probe for each place that has one, unless the file's exclusions leave it out. A static
 * probe can be in several places; they have one name, "provider:probe", and are told apart by
 * detail. *ret_nr: how many fitted. 0 or a negative errno.
 */
int static_probes_add(struct user_file *file, const struct pattern *pattern,
		      struct probe_list *list, size_t *ret_nr, struct error *error);

#endif
