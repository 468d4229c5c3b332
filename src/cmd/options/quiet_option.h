/* -q, of the commands that read profiles: it silences all but results and errors. */
#ifndef STOOK_CMD_OPTIONS_QUIET_OPTION_H
#define STOOK_CMD_OPTIONS_QUIET_OPTION_H

#include <stdbool.h>

#include "cmd/options/option_table.h"

/* The row, for option_table_parse(). */
struct option_group quiet_option_group(bool *is_quiet);

#endif
