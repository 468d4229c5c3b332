/* From the functions that were chosen in a file to probes. */
#ifndef STOOK_PROBE_FIND_USER_PROBES_H
#define STOOK_PROBE_FIND_USER_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/expression/probe_list.h"
#include "probe/find/user_file.h"

/* Whether the file's exclusions leave a choice out. */
bool user_probes_leave_out(struct user_file *file, const struct user_choice *choice);

/*
 * Sorts the choices, without those that the file's exclusions leave out, and tells how many places
 * there are.
 */
size_t user_probes_settle(struct user_file *file);

/* Adds a probe for each place. 0 or a negative errno. */
int user_probes_add(struct user_file *file, struct probe_list *list, struct error *error);

#endif
