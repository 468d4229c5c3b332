/* Choosing among the kernel's functions, and making probes of those that were chosen. */
#ifndef STOOK_PROBE_FIND_KERNEL_PROBES_H
#define STOOK_PROBE_FIND_KERNEL_PROBES_H

#include <stddef.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/kernel_functions.h"
#include "probe/find/pattern.h"
#include "probe/find/refusals.h"

/*
 * Chooses what fits a pattern of kind PATTERN_KERNEL, and no exclusion: adds to the choices, or to
 * the refusals.
 * *ret_nr: how many names fitted, refused or not. 0 or a negative errno.
 */
int kernel_probes_choose(struct kernel_functions *kernel, const struct pattern *pattern,
			 struct refusals *refusals, size_t *ret_nr, struct error *error);

/* Sorts the choices, and tells how many places there are. */
size_t kernel_probes_settle(struct kernel_functions *kernel);

/* Adds a probe for each place. 0 or -ENOMEM. */
int kernel_probes_add(const struct kernel_functions *kernel, struct probe_list *list,
		      struct error *error);

#endif
