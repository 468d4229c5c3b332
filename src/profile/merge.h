/*
 * One profile out of several. Strings, modules, frames and labels are found again by content: files by
 * name and build id, frames by file, address and what they say.
 */
#ifndef STOOK_PROFILE_MERGE_H
#define STOOK_PROFILE_MERGE_H

#include <stddef.h>

#include "profile/profile.h"

/*
 * Adds all samples of another profile. Its counts go to the value of that number (0:
 * the counts), so that two profiles can lie side by side in one; with 0 its further values go to values of
 * their types. What is known of how they were taken stays if both say the same; a time and duration of
 * both is the span of both. 0, -ENOMEM, -E2BIG (values, or slices of time), or -EOVERFLOW (totals).
 */
int profile_merge(struct profile *into, const struct profile *from, size_t value);

#endif
