/* Choosing among a file's functions by a pattern. */
#ifndef STOOK_PROBE_FIND_USER_FUNCTIONS_H
#define STOOK_PROBE_FIND_USER_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/find/pattern.h"
#include "probe/find/refusals.h"
#include "probe/find/user_file.h"

/*
 * Chooses what fits a pattern, of kind PATTERN_USER, in a file that was read: adds to its choices,
 * or to the refusals. *ret_nr: how many names fitted, refused or not. 0 or a negative errno.
 */
int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, size_t *ret_nr, struct error *error);

#endif
