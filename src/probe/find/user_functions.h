/*
 * Choosing among the functions and static probes of a file, and making probes of what was chosen.
 */
#ifndef STOOK_PROBE_FIND_USER_FUNCTIONS_H
#define STOOK_PROBE_FIND_USER_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/pattern.h"
#include "probe/find/probe_names.h"
#include "probe/find/user_file.h"

/*
 * Chooses the functions of a file, which was read, that fit a pattern of kind PATTERN_USER: adds to
 * the file's choices, or to the refusals. *ret_nr: how many names fit, refused or not. 0 or a
 * negative errno.
 */
int user_functions_choose(struct user_file *file, const struct pattern *pattern, bool force_returns,
			  struct refusals *refusals, size_t *ret_nr, struct error *error);

/*
 * Sorts the choices and drops those that the file's exclusions leave out. Returns the number of
 * places.
 */
size_t user_probes_settle(struct user_file *file);

/* Adds a probe for each place. 0 or a negative errno. */
int user_probes_add(struct user_file *file, struct probe_list *list, struct error *error);

/*
 * Adds a probe for each place of the static probes (USDT) that fit, unless the file's exclusions
 * leave it out. A static probe can be in several places, which have one name, "provider:probe", and
 * are distinguished by detail. *ret_nr: how many fit. 0 or a negative errno.
 */
int static_probes_add(struct user_file *file, const struct pattern *pattern,
		      struct probe_list *list, size_t *ret_nr, struct error *error);

#endif
