/*
 * Globs: `*` any bytes, `?` one, `[a-z_]` one of these, `[!a]` or `[^a]` one but these; `\` takes
 * the meaning from the byte behind it. A `[` that nothing closes is itself.
 */
#ifndef STOOK_BASE_GLOB_H
#define STOOK_BASE_GLOB_H

#include <stdbool.h>

/* Whether all of the text fits. */
bool glob_fits(const char *glob, const char *text);

#endif
