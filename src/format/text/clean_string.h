/* Strings of a profile out of files that others made. */
#ifndef STOOK_FORMAT_TEXT_CLEAN_STRING_H
#define STOOK_FORMAT_TEXT_CLEAN_STRING_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* The number of the string, or -ENOMEM. NUL bytes, which would end it, become `?`. */
int64_t clean_string_add(struct profile *profile, const char *text, size_t nr);

#endif
