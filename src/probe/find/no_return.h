/* User functions whose return must not be probed: that replaces the address they return to. */
#ifndef STOOK_PROBE_FIND_NO_RETURN_H
#define STOOK_PROBE_FIND_NO_RETURN_H

#include "probe/find/user_file.h"

/* Why not, of a function with this name; NULL: its return can be probed. */
const char *no_return_why(const char *name);

/* The same by the place where it begins, of all names that this has in the file. */
const char *no_return_why_at(const struct user_file *file, uint64_t vaddr);

#endif
