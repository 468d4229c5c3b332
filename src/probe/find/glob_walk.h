/*
 * Running a glob over names: which of them fit. A walk is made once, takes over the glob, and then
 * changes no more.
 */
#ifndef STOOK_PROBE_FIND_GLOB_WALK_H
#define STOOK_PROBE_FIND_GLOB_WALK_H

#include <stdbool.h>

#include "probe/find/glob.h"

struct glob_walk;

/* Takes over the glob, also when it fails: NULL, out of memory. */
struct glob_walk *glob_walk_new(struct glob *glob);
void glob_walk_free(struct glob_walk *walk);

bool glob_walk_fits(const struct glob_walk *walk, const char *name);

/* Whether every name fits. */
bool glob_walk_is_any(const struct glob_walk *walk);

#endif
