/*
 * Merges profiles. Strings, modules, frames and labels are matched by content: files by name and
 * build id, frames by file, address, function and lines.
 */
#ifndef STOOK_PROFILE_MERGE_H
#define STOOK_PROFILE_MERGE_H

#include <stddef.h>

#include "profile/profile.h"

/*
 * Adds all samples of another profile. Its counts are added to value number `value` of `into` (0:
 * the counts), so that one profile can hold two side by side. With 0, its further values are added
 * to values of the same type. Event, unit and period stay if both profiles agree, and are cleared
 * otherwise; time and duration become the span of both, or are cleared if one is not known. 0,
 * -ENOMEM, -E2BIG (too many values or time slices), or -EOVERFLOW (totals).
 */
int profile_merge(struct profile *into, const struct profile *from, size_t value);

/*
 * Adds all samples of another profile of the same run, in which at most kernel code has names yet: files are matched by
 * their numbers, and the names that `into` has stay. Returns as profile_merge().
 */
int profile_merge_part(struct profile *into, const struct profile *from);

/*
 * Replaces the samples of a profile by those of the next part of the run. The names that it has are kept for frames
 * that come back; but a run of months meets ever new ones, so now and then *profile is replaced by a new profile, which
 * has only the names of the last part. 0, -ENOMEM or -EOVERFLOW.
 */
int profile_take_part(struct profile **profile, const struct profile *part);

/*
 * Gives the code of a part the names, build ids and segments that another profile of the run has for it. 0 or -ENOMEM:
 * some are missing.
 */
int profile_copy_names(struct profile *part, const struct profile *named);

#endif
