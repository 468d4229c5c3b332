/*
 * The code of a profile as bytes: its strings, modules and frames with their names and lines, without samples. So one
 * process can have the frames named by another one; see cmd/symbolize.c. Both run the same executable.
 */
#ifndef STOOK_PROFILE_NAMED_CODE_H
#define STOOK_PROFILE_NAMED_CODE_H

#include <stddef.h>

#include "profile/profile.h"

/* Writes the code of a profile. The caller frees *ret. 0 or -ENOMEM. */
int named_code_write(const struct profile *profile, void **ret, size_t *ret_nr);

/*
 * Checks bytes from a process that may have been compromised, aligned as malloc() does, and makes a profile of them,
 * with the same numbers of strings, modules and frames. The caller frees *ret. 0, -ENOMEM or -EPROTO.
 */
int named_code_read(const void *start, size_t nr, struct profile **ret);

/*
 * Copies names and lines of all frames from `named`, which was made from the profile's own bytes; it may have more
 * strings, but not more frames. 0, -ENOMEM or -EPROTO.
 */
int named_code_take(struct profile *profile, const struct profile *named);

#endif
