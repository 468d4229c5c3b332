/*
 * What an extended regular expression may ask of the C library, whose compiler copies what is
 * repeated (`((a{255}){255}){255}` takes all memory) and whose back references take exponential
 * time.
 */
#ifndef STOOK_PROBE_FIND_REGEX_LIMITS_H
#define STOOK_PROBE_FIND_REGEX_LIMITS_H

#include "probe/find/matcher.h"

#define REGEX_COPIES_MAX 5000 /* characters, when each repetition is written out */

/*
 * 0; or -EINVAL for back references, for what is too large or too deep, and for parentheses, sets
 * and counts that are not well-formed, with *error as in matcher.h. A NUL ends the text, at nr.
 */
int regex_check_limits(const char *text, size_t nr, struct matcher_error *error);

#endif
