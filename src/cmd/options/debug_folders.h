/* --debug-dir, of every command that looks for debug files. */
#ifndef STOOK_CMD_OPTIONS_DEBUG_FOLDERS_H
#define STOOK_CMD_OPTIONS_DEBUG_FOLDERS_H

#include <stddef.h>

#include "base/error.h"

#define DEBUG_FOLDERS_MAX 16

/* Adds a value of --debug-dir to folders, which has room for DEBUG_FOLDERS_MAX. 0 or -errno. */
int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error);

#endif
