/*
 * Values that samples have besides their count: the event's own sum beside the number of samples,
 * several events, "before" and "after". They are numbered from 1; number 0 is the count itself.
 *
 * A profile is read and shown by its counts. Whoever wants to see another value chooses it, and from
 * then on that is the count, and what was the count is the value of that number.
 */
#ifndef STOOK_PROFILE_PROFILE_VALUES_H
#define STOOK_PROFILE_PROFILE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* With the count. More are refused. */
#define PROFILE_MAX_VALUES 64

/* The number of a value of this type, known or new; -ENOMEM; -E2BIG. */
int profile_add_value_type(struct profile *profile, const struct value_type *type);

size_t profile_nr_values(const struct profile *profile); /* the count included: at least 1 */

/* Of the count: what the origin says, with "samples" and "count" spelled out. */
struct value_type profile_value_type(const struct profile *profile, size_t number);

/*
 * What an origin says of counts of this type: nothing of samples, no unit of hits, which are counted
 * one by one; everything else is a sum.
 */
struct value_type profile_counted(const struct profile *profile, const struct value_type *type);

int profile_add_value(struct profile *profile, uint32_t sample, size_t number, uint64_t amount);
void profile_clear_value(struct profile *profile, size_t number); /* not 0: all of it is 0 then */
uint64_t profile_value(const struct profile *profile, uint32_t sample, size_t number);
uint64_t profile_value_total(const struct profile *profile, size_t number);

/* Whether its total stays a number that files can hold, with so much more. */
bool profile_value_has_room(const struct profile *profile, size_t number, uint64_t more);

/* Makes this value the count, and the count this value. 0 or -ENOMEM. */
int profile_choose_value(struct profile *profile, size_t number);

/* The value of this type's name; -ENOENT if there is none. */
int profile_find_value(const struct profile *profile, const char *type);

#endif
