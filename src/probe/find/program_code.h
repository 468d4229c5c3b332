/* Whether a file holds code that can be probed here. */
#ifndef STOOK_PROBE_FIND_PROGRAM_CODE_H
#define STOOK_PROBE_FIND_PROGRAM_CODE_H

#include "base/error.h"

/* 0; or -ENOEXEC, or another negative errno, with *error saying why not of the file at path. */
int program_code_check(int fd, const char *path, struct error *error);

#endif
