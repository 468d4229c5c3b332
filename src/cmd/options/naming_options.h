/* The naming options, shared by every command that shows names, and --debug-dir. */
#ifndef STOOK_CMD_OPTIONS_NAMING_OPTIONS_H
#define STOOK_CMD_OPTIONS_NAMING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/options/option_table.h"
#include "run/config.h"

/*
 * Adds a value of --debug-dir, as an allocated absolute path, to folders, which has room for
 * DEBUG_FOLDERS_MAX. Returns 0 or -errno.
 */
int debug_folders_take(const char **folders, size_t *nr, const char *value, struct error *error);
void debug_folders_clear(const char **folders, size_t *nr);

/* Returns the rows, for option_table_parse(). */
struct option_group naming_options_group(struct naming_options *options);

void naming_options_clear(struct naming_options *options);

#endif
